"""Strict scores of compositional benchmarks and retrieval, on similarities in NumPy.

A tie is never right and NaN raises ValueError: a collapsed or broken model scores 0 or nothing. Similarities
are float32 or float64; narrower ones are refused, since widening does not undo the ties that rounding made.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Bools = NDArray[np.bool_]

# What the macro average reads: the subsets and the metrics of each benchmark, in the order of its columns.
SEVEN = ("add_obj", "add_att", "replace_obj", "replace_att", "replace_rel", "swap_obj", "swap_att")
SUBSETS = {"sugarcrepe": SEVEN, "scpp": SEVEN[2:], "winoground": ("swap_obj", "swap_att")}
COLUMNS = {"sugarcrepe": ("i2t",), "scpp": ("itt", "tot"), "winoground": ("text", "image", "group")}
# The subsets of Winoground above are the embedded world's; Winoground itself has one.
_READ = SUBSETS | {"winoground": (*SUBSETS["winoground"], "all")}


class Winoground(NamedTuple):
    """Which items are right, each bool (items,); group is text and image."""

    text: Bools
    image: Bools
    group: Bools


class Scpp(NamedTuple):
    """Which items are right, each bool (items,): against the picture (ITT), among the captions (TOT)."""

    i2t: Bools
    tot: Bools


def caption_choice(similarity: ArrayLike) -> Bools:
    """Whether the picture is nearer to its own caption than to the other one, strictly; bool (items,).

    similarity: (items, 2), own caption first. Raises ValueError for NaN, half precision and another shape.
    Source: SugarCrepe's protocol, arXiv 2306.14610.
    """
    scores = _similarities(similarity, (2,))
    return scores[:, 0] > scores[:, 1]


def winoground(similarity: ArrayLike) -> Winoground:
    """Winoground's text, image and group, strictly.

    similarity: (items, 2, 2) as [image, caption], own ones on the diagonal. text: each picture prefers its
    own caption; image: each caption prefers its own picture.
    Raises ValueError for NaN, half precision and another shape.
    Source: arXiv 2204.03162.
    """
    scores = _similarities(similarity, (2, 2))
    own = scores[:, [0, 1], [0, 1]]
    text = (own > scores[:, [0, 1], [1, 0]]).all(axis=1)
    image = (own > scores[:, [1, 0], [0, 1]]).all(axis=1)
    return Winoground(text, image, text & image)


def scpp(image_text: ArrayLike, text_text: ArrayLike) -> Scpp:
    """SugarCrepe++: both paraphrases against the negative, with the picture and without it, strictly.

    image_text: (items, 3), the picture with P1, P2 and the negative N; both positives beat it.
    text_text: (items, 3), cosines P1 P2, P1 N and P2 N; the first beats both others.
    Raises ValueError for NaN, half precision, another shape and unequal numbers of items.
    Source: arXiv 2406.11171.
    """
    picture, words = _similarities(image_text, (3,)), _similarities(text_text, (3,))
    if len(picture) != len(words):
        raise ValueError(f"image_text has {len(picture)} items and text_text {len(words)}")
    return Scpp(picture[:, :2].min(axis=1) > picture[:, 2], words[:, 0] > words[:, 1:].max(axis=1))


def tied(similarity: ArrayLike) -> Bools:
    """Whether two scores that are compared are exactly equal, which is never credited; bool (comparisons,).

    similarity: (comparisons, 2); Winoground compares four times an item.
    Raises ValueError for NaN, half precision and another shape.
    """
    scores = _similarities(similarity, (2,))
    return scores[:, 0] == scores[:, 1]


def strict_rank(similarity: ArrayLike, relevant: ArrayLike) -> NDArray[np.intp]:
    """How many negatives each query's best positive does not beat, ties included: 0 is first; int (queries,).

    similarity: (queries, candidates); relevant: bool of that shape, a positive in each row. Linear in both.
    Raises ValueError for NaN, half precision, unequal shapes and a query without a positive.
    """
    scores, positives = _ranked(similarity, relevant)
    best = scores.max(axis=1, where=positives, initial=-np.inf)
    return np.count_nonzero((scores >= best[:, None]) & ~positives, axis=1)


def first_tied(similarity: ArrayLike, relevant: ArrayLike) -> Bools:
    """Whether each query's best positive and best negative are exactly equal; bool (queries,).

    Shapes and errors of `strict_rank`.
    """
    scores, positives = _ranked(similarity, relevant)
    own, other = (scores.max(axis=1, where=part, initial=-np.inf) for part in (positives, ~positives))
    return own == other


def _ranked(similarity: ArrayLike, relevant: ArrayLike) -> tuple[NDArray[np.floating], Bools]:
    scores = _similarities(similarity, (None,))
    positives = np.asarray(relevant)
    if positives.dtype != np.bool_ or positives.shape != scores.shape:
        raise ValueError(f"relevant is {positives.dtype} {positives.shape}, expected bool {scores.shape}")
    found = positives.any(axis=1)
    if not found.all():
        raise ValueError(f"query {int(np.argmin(found))} has no relevant candidate")
    return scores, positives


def recall_at_k(similarity: ArrayLike, relevant: ArrayLike, k: int) -> Bools:
    """Whether at least one positive is in the top k, a tie with a negative counting against it.

    Shapes and errors of `strict_rank`; k: 1 to the number of candidates (for several, rank once and compare).
    Returns bool (queries,).
    Source: R@k of COCO's and Flickr30k's Karpathy test splits.
    """
    ranks = strict_rank(similarity, relevant)
    candidates = np.shape(similarity)[1]
    if not 1 <= k <= candidates:
        raise ValueError(f"k = {k} is not within 1..{candidates}, the number of candidates")
    return ranks < k


def average_precision(similarity: ArrayLike, relevant: ArrayLike) -> NDArray[np.float64]:
    """The average precision of each query's ranking, a negative before a positive that it ties with.

    Shapes and errors of `strict_rank`. Returns (queries,); the mean over queries is retrieval's mAP.
    Source: the mean over a query's positives of the precision at each one's place.
    """
    scores, positives = _ranked(similarity, relevant)
    found = np.empty(len(scores))
    for row, (values, own) in enumerate(zip(scores, positives, strict=True)):
        best_first = np.sort(values[own])[::-1]
        others = np.sort(values[~own])
        above = len(others) - np.searchsorted(others, best_first, side="left")
        places = np.arange(1, len(best_first) + 1)
        found[row] = (places / (places + above)).mean()
    return found


def macro_average(
    sugarcrepe: float,
    scpp_i2t: float,
    scpp_tot: float,
    winoground_text: float,
    winoground_image: float,
    winoground_group: float,
) -> float:
    """The paper's M.Avg: the mean of the three benchmarks' means, not of the six columns.

    All six in one unit, fractions or percent, which is the unit of the result.
    Raises ValueError for NaN and infinities.
    Source: found by recomputation of the table of arXiv 2604.13313 (percent: 47.89, 53.15, 54.19).
    """
    columns = (sugarcrepe, scpp_i2t, scpp_tot, winoground_text, winoground_image, winoground_group)
    if not np.isfinite(columns).all():
        raise ValueError(f"a macro average of {columns}: every column must be a number")
    scpp_mean = (scpp_i2t + scpp_tot) / 2
    winoground_mean = (winoground_text + winoground_image + winoground_group) / 3
    return float((sugarcrepe + scpp_mean + winoground_mean) / 3)


def counts_for_macro(reference: str) -> bool:
    """Whether the macro average reads a "benchmark/subset/metric"; False for what is no such name."""
    return any(
        reference == f"{name}/{subset}/{metric}"
        for name, subsets in _READ.items()
        for subset in subsets
        for metric in COLUMNS[name]
    )


def macro_of(means: Mapping[str, float]) -> float | None:
    """The macro average of the scores of subsets, each column the plain mean of its subsets.

    means: "benchmark/subset/metric" -> score; those that do not count (`counts_for_macro`) are not read. A
    column is the mean over the subsets that are there; None where a column has none at all. Raises ValueError
    for NaN and infinities.
    """
    columns = [
        [means[key] for subset in _READ[name] if (key := f"{name}/{subset}/{metric}") in means]
        for name, metrics in COLUMNS.items()
        for metric in metrics
    ]
    return macro_average(*(sum(column) / len(column) for column in columns)) if all(columns) else None


def proportion_stderr(successes: ArrayLike) -> float:
    """The standard error of a fraction of right items, sqrt(p (1 - p) / n), as a fraction.

    successes: bool (items,). It is 0 where all or none are right, which is no certainty.
    Raises ValueError for another type or shape and for no items.
    """
    right = np.asarray(successes)
    if right.dtype != np.bool_ or right.ndim != 1 or len(right) == 0:
        raise ValueError(f"successes is {right.dtype} {right.shape}, expected bool (items,) with items >= 1")
    rate = right.mean()
    return float(np.sqrt(rate * (1 - rate) / len(right)))


def clustered_stderr(values: ArrayLike, clusters: ArrayLike) -> float:
    """The standard error of the mean of (items,) values, those of a cluster taken for one observation.

    clusters: (items,) labels. With clusters of one item each it is `proportion_stderr` of bools; of a single
    cluster, which has no spread to measure by, NaN.
    Source: the linearised variance of a mean over clusters.
    """
    numbers = np.asarray(values, dtype=np.float64)
    deviations = np.bincount(np.unique(clusters, return_inverse=True)[1], numbers - numbers.mean())
    if len(deviations) < 2:
        return float("nan")
    return float(np.sqrt((deviations**2).sum()) / len(numbers))


def _similarities(values: ArrayLike, item: tuple[int | None, ...]) -> NDArray[np.floating]:
    """An array of float32 or wider without NaN, of shape (items, *item); None stands for any size."""
    array = np.asarray(values)
    if array.dtype.kind in "iu":
        array = array.astype(np.float64)
    if array.dtype.kind != "f" or array.dtype.itemsize < 4:
        raise ValueError(f"similarities are {array.dtype}, expected float32 or float64: compute them so")
    fits = array.ndim == len(item) + 1 and all(
        want in (None, have) for want, have in zip(item, array.shape[1:], strict=True)
    )
    if not fits:
        expected = ", ".join("n" if size is None else str(size) for size in item)
        raise ValueError(f"similarities are {array.shape}, expected (items, {expected})")
    missing = np.isnan(array)
    if missing.any():
        first = tuple(int(at) for at in np.argwhere(missing)[0])
        raise ValueError(f"similarity at {first} is NaN, and {int(missing.sum())} of {array.size} are")
    return array
