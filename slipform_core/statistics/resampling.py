"""What resampling shares: numbers and clusters that are checked, resamples as counts."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Labels = ArrayLike | None

CELLS = 2**18  # of a chunk of resamples: 2 MB, which stay in cache
PATIENCE = 10  # resamples made for each that is wanted, before undefined ones are an error


class UndefinedError(ValueError):
    """Too many resamples leave a statistic undefined, such as a mean of nothing."""


class Estimate(NamedTuple):
    """A value and the ends of its interval."""

    value: float
    low: float
    high: float


def numbers(values: ArrayLike, name: str) -> Floats:
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or array.ndim != 1 or not len(array):
        raise ValueError(f"{name} is {array.dtype} {array.shape}, expected numbers (n,) with n >= 1")
    if not np.isfinite(array).all():
        first = int(np.argmin(np.isfinite(array)))
        raise ValueError(f"{name} is {array[first]} at {first}")
    return array.astype(np.float64)


def both_of(left: ArrayLike, right: ArrayLike, names: tuple[str, str]) -> tuple[Floats, Floats]:
    pair = numbers(left, names[0]), numbers(right, names[1])
    if len(pair[0]) != len(pair[1]):
        raise ValueError(f"{names[0]} has {len(pair[0])} values and {names[1]} {len(pair[1])}")
    return pair


def units_of(clusters: Labels, items: int) -> tuple[NDArray[np.intp], int]:
    """What is drawn together: each item's number (N,), and how many there are."""
    if clusters is None:
        return np.arange(items), items
    labels, codes = np.unique(labels_of(clusters, items), return_inverse=True)
    return codes, len(labels)


def labels_of(clusters: ArrayLike, items: int, of: str = "") -> NDArray[Any]:
    labels = np.asarray(clusters)
    if labels.dtype.kind in "fc" or labels.shape != (items,):
        raise ValueError(f"clusters{of} are {labels.dtype} {labels.shape}, expected labels ({items},)")
    return labels


def chunks(draws: int, width: int) -> Iterator[int]:
    """Numbers of rows that add to `draws`, each a chunk of about CELLS."""
    if draws < 1:
        raise ValueError(f"draws = {draws} is not 1 at least")
    rows = max(1, CELLS // width)
    for start in range(0, draws, rows):
        yield min(rows, draws - start)


def bootstrap(statistic: Callable[[Floats], Floats], units: int, rng: Generator, draws: int) -> Floats:
    """(draws, ...) of a statistic of counts (rows, units), how often each unit is in a resample."""
    if units < 2:
        raise ValueError(f"{units} to draw from: a bootstrap needs 2 items or clusters")
    values: list[Floats] = []
    for rows in chain.from_iterable(chunks(draws, units) for _ in range(PATIENCE)):
        drawn = rng.integers(0, units, (rows, units)) + units * np.arange(rows)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=rows * units).reshape(rows, units)
        some = statistic(counts.astype(np.float64))
        values.append(some[np.isfinite(some.reshape(rows, -1)).all(axis=1)])
        if sum(map(len, values)) >= draws:
            return np.concatenate(values)[:draws]
    raise UndefinedError(f"of {PATIENCE * draws} resamples {sum(map(len, values))} define the statistic")


def interval(value: float, values: Floats, level: float) -> Estimate:
    return Estimate(float(value), *np.quantile(values, tails(level)).tolist())


def tails(level: float) -> tuple[float, float]:
    if not 0 < level < 1:
        raise ValueError(f"level = {level} is not within 0..1")
    return (1 - level) / 2, (1 + level) / 2
