"""Evaluation: every unique picture and text encoded once, scores by strict metrics."""

from collections.abc import Iterator

import numpy as np
import torch

from slipform_core.benchmarks import Benchmark, Items
from slipform_core.metrics import caption_choice, count_ties, proportion_stderr, strict_rank, winoground
from slipform_core.models import Clip
from slipform_core.records import Score

RECALLS = (1, 5, 10)


def embed(clip: Clip, benchmark: Benchmark, *, batch: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors of the benchmark's pictures (P, D) and texts (T, D), float32."""
    with torch.inference_mode():
        images = [
            clip.encode_image(benchmark.pictures[start : start + batch]).float()
            for start in range(0, len(benchmark.pictures), batch)
        ]
        texts = [
            clip.encode_text(clip.tokenize(benchmark.texts[start : start + batch])).float()
            for start in range(0, len(benchmark.texts), batch)
        ]
    return torch.cat(images).numpy(), torch.cat(texts).numpy()


def evaluate(clip: Clip, benchmark: Benchmark, *, batch: int) -> list[Score]:
    """All scores of a benchmark.

    For items: `i2t` (the picture prefers its own caption), `t2i` (the caption its own picture), `group`
    (Winoground's) and `ties`; for retrieval R@1, R@5 and R@10 both ways. Strict throughout: a tie is wrong,
    NaN raises ValueError.
    """
    # Products in float64, rounded to float32: a matrix product's blocks round equal features differently, and
    # that alone would break the ties of a collapsed model.
    images, texts = (features.astype(np.float64) for features in embed(clip, benchmark, batch=batch))
    scores = [
        score
        for subset, items in benchmark.subsets.items()
        for score in _item_scores(benchmark.name, subset, items, images, texts)
    ]
    return [*scores, *_retrieval_scores(benchmark, images, texts)]


def _score(benchmark: str, subset: str, metric: str, right: np.ndarray) -> Score:
    return Score(benchmark, subset, metric, float(right.mean()), len(right), proportion_stderr(right))


def _item_scores(
    name: str, subset: str, items: Items, images: np.ndarray, texts: np.ndarray
) -> Iterator[Score]:
    products = np.einsum("nid,ncd->nic", images[items.pictures], texts[items.captions])
    similarity = products.astype(np.float32)
    choice = {
        "i2t": caption_choice(similarity[:, 0, :]),
        "t2i": caption_choice(similarity[:, :, 0]),
        "group": winoground(similarity).group,
    }
    for metric, right in choice.items():
        yield _score(name, subset, metric, right)
    ties = count_ties(similarity[:, 0, :])
    yield Score(name, subset, "ties", ties / len(similarity), len(similarity), 0.0)


def _retrieval_scores(benchmark: Benchmark, images: np.ndarray, texts: np.ndarray) -> Iterator[Score]:
    queries, owners = benchmark.retrieval
    candidates = np.unique(owners)
    relevant = owners[:, None] == candidates[None, :]
    similarity = (texts[queries] @ images[candidates].T).astype(np.float32)
    for way, table, truth in (("t2i", similarity, relevant), ("i2t", similarity.T, relevant.T)):
        ranks = strict_rank(table, truth)
        for k in RECALLS:
            yield _score(benchmark.name, "retrieval", f"{way}_r{k}", ranks < k)
