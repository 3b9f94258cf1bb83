"""Benchmarks whose pictures are arrays of the model's own size, as the embedded world's."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from slipform_core.benchmarks.items import Benchmark
from slipform_core.evaluation.scores import Evaluation, score
from slipform_core.metrics import strict_rank
from slipform_core.models.clip import Clip


def embed(
    clip: Clip, pictures: np.ndarray, texts: Sequence[str], *, batch: int
) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors of pictures (P, H, W, 3) uint8 and of T texts, (P, D) and (T, D) float32."""

    def features(encode: Callable, things: np.ndarray | Sequence[str]) -> np.ndarray:
        chunks = (things[start : start + batch] for start in range(0, len(things), batch))
        return torch.cat([encode(chunk).float() for chunk in chunks]).cpu().numpy()

    with torch.inference_mode():
        return features(clip.encode_image, pictures), features(
            lambda chunk: clip.encode_text(clip.tokenize(chunk)), texts
        )


def evaluate(clip: Clip, benchmark: Benchmark, *, batch: int) -> Evaluation:
    """`score` of a benchmark whose pictures are an array; each is encoded once, and each text."""
    return score(benchmark, *embed(clip, benchmark.pictures, benchmark.texts, batch=batch))


def zero_shot_accuracy(
    clip: Clip, pictures: np.ndarray, prompts: Sequence[str], right: np.ndarray, *, batch: int
) -> float:
    """The fraction of pictures whose nearest prompt is a right one; a tie with a wrong one is wrong.

    pictures: (P, H, W, 3) uint8; right: bool (P, prompts), at least one a picture.
    """
    images, texts = embed(clip, pictures, prompts, batch=batch)
    # In float64, rounded to float32, as `score` has it: else rounding breaks the ties of a collapsed model.
    table = (images.astype(np.float64) @ texts.T.astype(np.float64)).astype(np.float32)
    return float((strict_rank(table, right) == 0).mean())
