"""How one column goes with another: rank correlation and a smooth curve, with bootstrap intervals."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from slipform_core.statistics.resampling import (
    Estimate,
    Floats,
    Labels,
    bootstrap,
    both_of,
    interval,
    numbers,
    tails,
    units_of,
)


@dataclass(frozen=True, eq=False)
class Curve:
    """A smoothed curve and its pointwise band, each (points,)."""

    at: Floats
    value: Floats
    low: Floats
    high: Floats


def spearman(
    x: ArrayLike,
    y: ArrayLike,
    *,
    clusters: Labels = None,
    rng: Generator,
    draws: int = 1000,
    level: float = 0.95,
) -> Estimate:
    """Spearman's rank correlation, ties at their mean rank. ValueError for a constant column.

    x, y: (N,); clusters: (N,) labels.
    """
    pair = both_of(x, y, ("x", "y"))
    for name, values in zip("xy", pair, strict=True):
        if np.ptp(values) == 0:
            raise ValueError(f"{name} is {values[0]} everywhere: there are no ranks to correlate")
    codes = [np.unique(values, return_inverse=True)[1] for values in pair]
    units, count = units_of(clusters, len(codes[0]))

    def of_counts(counts: Floats) -> Floats:
        return np.array([_rank_correlation(*codes, row[units]) for row in counts])

    return interval(of_counts(np.ones((1, count)))[0], bootstrap(of_counts, count, rng, draws), level)


def loess(
    x: ArrayLike,
    y: ArrayLike,
    *,
    frac: float,
    at: ArrayLike,
    clusters: Labels = None,
    rng: Generator,
    draws: int = 200,
    level: float = 0.95,
) -> Curve:
    """Local linear regression on the nearest `frac` of the items, with a bootstrap band.

    x, y: (N,); at: (points,) within the range of x; clusters: (N,) labels. There are no robust iterations:
    they take rare outcomes for outliers, and a curve of them is 0.
    ValueError for fewer than 3 distinct x, `at` out of range, and a frac outside 0..1 or so small that all
    items near a point share one x. Source: Cleveland (1979), by statsmodels.
    """
    from statsmodels.nonparametric.smoothers_lowess import lowess

    x, y = both_of(x, y, ("x", "y"))
    at, distinct = numbers(at, "at"), np.unique(x)
    if len(distinct) < 3:
        raise ValueError(f"x has {len(distinct)} distinct values, a curve needs 3")
    if not 0 < frac <= 1:
        raise ValueError(f"frac = {frac} is not within 0..1")
    if at.min() < distinct[0] or at.max() > distinct[-1]:
        raise ValueError(f"at is {at.min()}..{at.max()}, outside x, {distinct[0]}..{distinct[-1]}")
    units, count = units_of(clusters, len(x))

    def of_counts(counts: Floats) -> Floats:
        drawn = (np.repeat(np.arange(len(x)), row[units].astype(int)) for row in counts)
        with np.errstate(invalid="ignore"):  # NaN where all the nearest share one x
            return np.array([lowess(y[items], x[items], frac=frac, it=0, xvals=at) for items in drawn])

    value = of_counts(np.ones((1, count)))[0]
    if np.isnan(value).any():
        raise ValueError(f"all items near {at[np.isnan(value)][0]} share one x: frac = {frac} is too small")
    low, high = np.quantile(bootstrap(of_counts, count, rng, draws), tails(level), axis=0)
    return Curve(at, value, low, high)


def _rank_correlation(x: NDArray[np.intp], y: NDArray[np.intp], counts: Floats) -> float:
    """Of items that occur `counts` times; x, y: (N,) numbers of the distinct values, ascending."""
    centred = []
    for codes in (x, y):
        frequency = np.bincount(codes, counts)
        ranks = np.cumsum(frequency) - (frequency - 1) / 2
        centred.append(ranks[codes] - (counts.sum() + 1) / 2)
    a, b = centred
    spread = np.sqrt((counts @ a**2) * (counts @ b**2))
    return float(counts @ (a * b) / spread) if spread else np.nan
