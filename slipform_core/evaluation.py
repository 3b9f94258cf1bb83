"""Evaluation: every unique picture and text encoded once, scores by strict metrics."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from slipform_core.benchmarks import Benchmark, Items
from slipform_core.metrics import (
    caption_choice,
    count_ties,
    proportion_stderr,
    scpp,
    strict_rank,
    winoground,
)
from slipform_core.models import Clip
from slipform_core.records import Score

RECALLS = (1, 5, 10)
RETRIEVAL = "retrieval"

Outcomes = dict[str, np.ndarray]


@dataclass(frozen=True)
class Evaluation:
    """The scores of a model, and which items are right.

    outcomes: "benchmark/subset" -> metric -> bool (N,), in the order of the items. Under "retrieval/world":
    t2i by text, i2t by picture in the order of its first text.
    """

    scores: list[Score]
    outcomes: Mapping[str, Mapping[str, np.ndarray]]


def embed(clip: Clip, benchmark: Benchmark, *, batch: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors of the benchmark's pictures (P, D) and texts (T, D), float32."""
    return _embed(clip, benchmark.pictures, benchmark.texts, batch)


def _embed(
    clip: Clip, pictures: np.ndarray, texts: Sequence[str], batch: int
) -> tuple[np.ndarray, np.ndarray]:
    def features(encode: Callable, things: np.ndarray | Sequence[str]) -> np.ndarray:
        chunks = (things[start : start + batch] for start in range(0, len(things), batch))
        return torch.cat([encode(chunk).float() for chunk in chunks]).cpu().numpy()

    with torch.inference_mode():
        return features(clip.encode_image, pictures), features(
            lambda chunk: clip.encode_text(clip.tokenize(chunk)), texts
        )


def evaluate(clip: Clip, benchmark: Benchmark, *, batch: int) -> Evaluation:
    """All scores of a benchmark and what each item contributes. Strict: a tie is wrong, NaN a ValueError.

    `sugarcrepe`: "i2t" (the picture prefers its own caption), "t2i" (the caption its own picture), "group"
    (Winoground's). `scpp`: "itt" (both paraphrases beat the foil at the picture), "tot" (and at each other).
    `winoground`: "text", "image", "group". Each subset has "ties", the share of exactly equal comparisons: of
    i2t's for `sugarcrepe`, of all four of an item for the others. `retrieval`, its subset the benchmark's own
    name: R@1, R@5, R@10 both ways. ValueError for a subset of another benchmark.
    """
    # Products in float64, rounded to float32: a matrix product's blocks round equal features differently, and
    # that alone would break the ties of a collapsed model.
    images, texts = (features.astype(np.float64) for features in embed(clip, benchmark, batch=batch))
    scores, outcomes = [], {}
    for key, items in benchmark.subsets.items():
        name, _, subset = key.partition("/")
        if name not in _BENCHMARKS:
            raise ValueError(f"subset {key!r} is of none of the benchmarks {', '.join(_BENCHMARKS)}")
        outcomes[key], compared = _BENCHMARKS[name](items, images, texts)
        scores += _scores(name, subset, outcomes[key])
        count = len(compared)
        scores.append(Score(name, subset, "ties", count_ties(compared) / count, count, 0.0))
    found = outcomes[f"{RETRIEVAL}/{benchmark.name}"] = _retrieval(benchmark, images, texts)
    return Evaluation([*scores, *_scores(RETRIEVAL, benchmark.name, found)], outcomes)


def zero_shot_accuracy(
    clip: Clip, pictures: np.ndarray, prompts: Sequence[str], right: np.ndarray, *, batch: int
) -> float:
    """The fraction of pictures whose nearest prompt is a right one; a tie with a wrong one is wrong.

    pictures: (P, H, W, 3) uint8; right: bool (P, prompts), at least one a picture.
    """
    images, texts = _embed(clip, pictures, prompts, batch)
    return float((strict_rank(images @ texts.T, right) == 0).mean())


def _scores(benchmark: str, subset: str, outcomes: Outcomes) -> list[Score]:
    return [
        Score(benchmark, subset, metric, float(right.mean()), len(right), proportion_stderr(right))
        for metric, right in outcomes.items()
    ]


def _products(images: np.ndarray, texts: np.ndarray) -> np.ndarray:
    """Products of each item's vectors, (N, I, D) and (N, C, D), as (N, I, C) float32."""
    return np.einsum("nid,ncd->nic", images, texts).astype(np.float32)


def _four(table: np.ndarray) -> np.ndarray:
    """The comparisons of Winoground's items (N, 2, 2): two captions a picture, two pictures a caption."""
    return np.concatenate([table.reshape(-1, 2), table.transpose(0, 2, 1).reshape(-1, 2)])


def _sugarcrepe(items: Items, images: np.ndarray, texts: np.ndarray) -> tuple[Outcomes, np.ndarray]:
    table = _products(images[items.pictures], texts[items.captions])
    captions, pictures = table[:, 0, :], table[:, :, 0]
    right = {
        "i2t": caption_choice(captions),
        "t2i": caption_choice(pictures),
        "group": winoground(table).group,
    }
    return right, captions


def _winoground(items: Items, images: np.ndarray, texts: np.ndarray) -> tuple[Outcomes, np.ndarray]:
    table = _products(images[items.pictures], texts[items.captions])
    return winoground(table)._asdict(), _four(table)


def _scpp(items: Items, images: np.ndarray, texts: np.ndarray) -> tuple[Outcomes, np.ndarray]:
    captions = texts[items.captions]
    shown = _products(images[items.pictures], captions)[:, 0]
    among = _products(captions, captions)[:, [0, 0, 1], [1, 2, 2]]
    right = scpp(shown, among)
    compared = [shown[:, [0, 2]], shown[:, [1, 2]], among[:, [0, 1]], among[:, [0, 2]]]
    return {"itt": right.i2t, "tot": right.tot}, np.concatenate(compared)


_BENCHMARKS: dict[str, Callable[[Items, np.ndarray, np.ndarray], tuple[Outcomes, np.ndarray]]] = {
    "sugarcrepe": _sugarcrepe,
    "scpp": _scpp,
    "winoground": _winoground,
}


def _retrieval(benchmark: Benchmark, images: np.ndarray, texts: np.ndarray) -> Outcomes:
    queries, owners = benchmark.retrieval
    candidates = np.array(list(dict.fromkeys(owners.tolist())))
    relevant = owners[:, None] == candidates[None, :]
    similarity = (texts[queries] @ images[candidates].T).astype(np.float32)
    right = {}
    for way, table, truth in (("t2i", similarity, relevant), ("i2t", similarity.T, relevant.T)):
        ranks = strict_rank(table, truth)
        right |= {f"{way}_r{k}": ranks < k for k in RECALLS}
    return right
