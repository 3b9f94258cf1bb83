"""Scores of a benchmark from the features of its pictures and texts, by strict metrics."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from more_itertools import chunked
from numpy.typing import NDArray

from slipform_core.benchmarks.items import Benchmark, Items
from slipform_core.metrics import (
    average_precision,
    caption_choice,
    clustered_stderr,
    first_tied,
    scpp,
    strict_rank,
    tied,
    winoground,
)
from slipform_core.records import Score

RECALLS = (1, 5, 10)
RETRIEVAL = "retrieval"
CELLS = 1 << 24  # of a block of similarities, or of the features of a block of items: 128 MB

Floats = NDArray[np.float64]
Outcomes = dict[str, np.ndarray]


@dataclass(frozen=True)
class Evaluation:
    """The scores of a model, and which items are right.

    outcomes: "benchmark/subset" -> metric -> bool (N,), in the order of the items. Under "retrieval/world":
    t2i by text, i2t by picture in the order of its first text.
    """

    scores: list[Score]
    outcomes: Mapping[str, Mapping[str, np.ndarray]]


def score(benchmark: Benchmark, images: np.ndarray, texts: np.ndarray) -> Evaluation:
    """All scores of a benchmark and what each item contributes. Strict: a tie is wrong, NaN a ValueError.

    images (P, D), texts (T, D): unit vectors. By an item's rule, `choice`: "i2t" (the picture prefers its own
    caption to all others). `pairs`: "i2t", "t2i" (the caption prefers its own picture), "group" (that of
    Winoground). `scpp`: "itt" (both paraphrases beat the foil at the picture), "tot" (and at each other).
    `winoground`: "text", "image", "group". Each subset has "ties", the share of exactly equal comparisons: of
    i2t's, with the best other caption, for `choice` and `pairs`, of all four of an item for the others.
    `retrieval`, its subset the benchmark's own name, both ways: R@1, and R@5 and R@10 where there are as many
    wrong candidates; mAP; the share of queries whose best right and best wrong candidate tie. ValueError for
    an unknown rule.
    """
    # Products in float64, rounded to float32: a matrix product's blocks round equal features differently, and
    # that alone would break the ties of a collapsed model.
    images, texts = images.astype(np.float64), texts.astype(np.float64)
    scores, outcomes = [], {}
    for key, items in benchmark.subsets.items():
        name, _, subset = key.partition("/")
        outcomes[key], ties = _of_items(items, images, texts)
        scores += _scores(name, subset, outcomes[key], dict.fromkeys(outcomes[key], items.clusters))
        scores.append(_mean(name, subset, "ties", ties.mean(axis=1), items.clusters, count=ties.size))
    if benchmark.retrieval:
        key = f"{RETRIEVAL}/{benchmark.name}"
        outcomes[key], others = _retrieval(benchmark, images, texts)
        every = outcomes[key] | others
        pictures = {metric: clusters_of(benchmark, key, metric) for metric in every}
        scores += _scores(RETRIEVAL, benchmark.name, every, pictures)
    return Evaluation(scores, outcomes)


def clusters_of(benchmark: Benchmark, key: str, metric: str) -> np.ndarray:
    """What a bootstrap draws together of the outcomes of a metric: the picture, or what an item says."""
    if key in benchmark.subsets:
        return benchmark.subsets[key].clusters
    owners = benchmark.retrieval[1]
    return owners if metric.startswith("t2i") else np.unique(owners)


def _scores(benchmark: str, subset: str, outcomes: Outcomes, clusters: Outcomes) -> list[Score]:
    """Scores whose standard errors take the items of a picture for one observation."""
    return [
        _mean(benchmark, subset, metric, right, clusters[metric], count=len(right))
        for metric, right in outcomes.items()
    ]


def _mean(
    benchmark: str, subset: str, metric: str, values: np.ndarray, clusters: np.ndarray, *, count: int
) -> Score:
    stderr = clustered_stderr(values, clusters)
    return Score(benchmark, subset, metric, float(values.mean()), count, stderr)


def _of_items(items: Items, images: Floats, texts: Floats) -> tuple[Outcomes, np.ndarray]:
    """Outcomes, and which of the comparisons of each item tie, bool (N, comparisons)."""
    if items.rule not in _RULES:
        raise ValueError(f"unknown rule {items.rule!r}; the rules are: {', '.join(_RULES)}")
    parts, ties = [], []
    for part in _blocks(items, texts.shape[1]):
        found, compared = _RULES[items.rule](part, images, texts)
        parts.append(found)
        ties.append(tied(compared.reshape(-1, 2)).reshape(len(part), -1))
    outcomes = {metric: np.concatenate([part[metric] for part in parts]) for metric in parts[0]}
    return outcomes, np.concatenate(ties)


def _blocks(items: Items, width: int) -> Iterator[Items]:
    """Some items at a time, so that their features stay small."""
    size = max(1, CELLS // (width * (items.pictures.shape[1] + items.captions.shape[1])))
    for start in range(0, len(items), size):
        part = slice(start, start + size)
        yield replace(items, pictures=items.pictures[part], captions=items.captions[part])


def _products(images: Floats, texts: Floats) -> NDArray[np.float32]:
    """Products of each item's vectors, (N, I, D) and (N, C, D), as (N, I, C)."""
    return np.einsum("nid,ncd->nic", images, texts).astype(np.float32)


def _four(table: np.ndarray) -> np.ndarray:
    """The comparisons (N, 4, 2) of Winoground's items: two captions a picture, two pictures a caption."""
    return np.concatenate([table, table.transpose(0, 2, 1)], axis=1)


def _choice(items: Items, images: Floats, texts: Floats) -> tuple[Outcomes, np.ndarray]:
    table = _products(images[items.pictures], texts[items.captions])[:, 0]
    against_best = np.stack([table[:, 0], table[:, 1:].max(axis=1)], axis=1)
    return {"i2t": caption_choice(against_best)}, against_best


def _pairs(items: Items, images: Floats, texts: Floats) -> tuple[Outcomes, np.ndarray]:
    table = _products(images[items.pictures], texts[items.captions])
    captions, pictures = table[:, 0, :], table[:, :, 0]
    right = {
        "i2t": caption_choice(captions),
        "t2i": caption_choice(pictures),
        "group": winoground(table).group,
    }
    return right, captions


def _winoground(items: Items, images: Floats, texts: Floats) -> tuple[Outcomes, np.ndarray]:
    table = _products(images[items.pictures], texts[items.captions])
    return winoground(table)._asdict(), _four(table)


def _scpp(items: Items, images: Floats, texts: Floats) -> tuple[Outcomes, np.ndarray]:
    captions = texts[items.captions]
    shown = _products(images[items.pictures], captions)[:, 0]
    among = _products(captions, captions)[:, [0, 0, 1], [1, 2, 2]]
    right = scpp(shown, among)
    compared = [shown[:, [0, 2]], shown[:, [1, 2]], among[:, [0, 1]], among[:, [0, 2]]]
    return {"itt": right.i2t, "tot": right.tot}, np.stack(compared, axis=1)


_RULES: dict[str, Callable[[Items, Floats, Floats], tuple[Outcomes, np.ndarray]]] = {
    "choice": _choice,
    "pairs": _pairs,
    "scpp": _scpp,
    "winoground": _winoground,
}


def _retrieval(benchmark: Benchmark, images: Floats, texts: Floats) -> tuple[Outcomes, Outcomes]:
    """Which queries are right within each K, and of all their average precisions and ties; both ways.

    Within more than there are wrong candidates any model is right: such a K is left out, but 1.
    """
    queries, owners = benchmark.retrieval
    candidates, owned = np.array(list(dict.fromkeys(owners.tolist()))), owners
    ways = {"t2i": (texts[queries], images[candidates], owned, candidates)}
    ways["i2t"] = (images[candidates], texts[queries], candidates, owned)
    right, others = {}, {}
    for way, (asked, given, of_asked, of_given) in ways.items():
        ranks, precisions, ties, fewest = [], [], [], len(given)
        for rows in chunked(range(len(asked)), max(1, CELLS // len(given))):
            table = (asked[rows] @ given.T).astype(np.float32)
            relevant = of_asked[rows][:, None] == of_given[None, :]
            ranks.append(strict_rank(table, relevant))
            precisions.append(average_precision(table, relevant))
            ties.append(first_tied(table, relevant))
            fewest = min(fewest, int((~relevant).sum(axis=1).min()))
        others |= {f"{way}_map": np.concatenate(precisions), f"{way}_ties": np.concatenate(ties)}
        right |= {f"{way}_r{k}": np.concatenate(ranks) < k for k in RECALLS if k <= max(1, fewest)}
    return right, others
