"""Intervals and tests of means: over seeds, and of paired outcomes over items or clusters of them."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from slipform_core.statistics.resampling import (
    Estimate,
    Floats,
    Labels,
    bootstrap,
    both_of,
    chunks,
    interval,
    labels_of,
    numbers,
    tails,
    units_of,
)


def over_seeds(values: ArrayLike, level: float = 0.95) -> Estimate:
    """The mean of (n,) seeds with Student's t interval, of no width where all are equal; n >= 2."""
    from scipy.stats import t

    mean, stderr, freedom = _seeds(values)
    half = float(t.ppf(tails(level)[1], freedom)) * stderr
    return Estimate(mean, mean - half, mean + half)


def seeds_p_value(values: ArrayLike) -> float:
    """The two-sided p value of Student's t test of (n,) seeds against 0; n >= 2.

    Equal values have no spread to measure by: 1 where they are 0, else 0, the test's limit.
    """
    from scipy.stats import t

    mean, stderr, freedom = _seeds(values)
    return float(2 * t.sf(abs(mean) / stderr, freedom)) if stderr else float(mean == 0)


def paired_bootstrap(
    left: ArrayLike,
    right: ArrayLike,
    *,
    clusters: Labels = None,
    rng: Generator,
    draws: int = 2000,
    level: float = 0.95,
) -> Estimate:
    """The mean of left - right over items that two arms share, (N,) each; clusters: (N,) labels."""
    sums, sizes = _differences(left, right, clusters)
    means = bootstrap(lambda counts: (counts @ sums) / (counts @ sizes), len(sums), rng, draws)
    return interval(sums.sum() / sizes.sum(), means, level)


def clustered_bootstrap(
    columns: Mapping[str, tuple[ArrayLike, ArrayLike]],
    statistic: Callable[[Mapping[str, float]], float],
    *,
    rng: Generator,
    draws: int = 2000,
    level: float = 0.95,
) -> Estimate:
    """A statistic of several columns' means, the clusters drawn once for all columns.

    columns: name -> outcomes and clusters, (N,) each, N its own; a cluster that a column lacks adds nothing
    there. statistic: means by name -> a number, such as a macro average or the difference of two arms'.
    """
    outcomes = {name: numbers(values, name) for name, (values, _) in columns.items()}
    labels = [labels_of(columns[name][1], len(values), f" of {name}") for name, values in outcomes.items()]
    clusters, rows = np.unique(np.concatenate(labels), return_inverse=True)
    shape = len(clusters), len(columns)
    cells = rows * len(columns) + np.repeat(np.arange(len(columns)), [len(label) for label in labels])
    sums = np.bincount(cells, np.concatenate(list(outcomes.values())), np.prod(shape)).reshape(shape)
    sizes = np.bincount(cells, minlength=np.prod(shape)).reshape(shape).astype(np.float64)

    def of_counts(counts: Floats) -> Floats:
        totals = counts @ sizes
        means = (counts @ sums) / np.maximum(totals, 1)
        filled = totals.all(axis=1)
        values = np.full(len(counts), np.nan)
        values[filled] = [statistic(dict(zip(columns, row, strict=True))) for row in means[filled].tolist()]
        return values

    value = of_counts(np.ones((1, len(clusters))))[0]
    if not np.isfinite(value):
        raise ValueError(f"the statistic of the plain means is {value}")
    return interval(value, bootstrap(of_counts, len(clusters), rng, draws), level)


def permutation_p_value(
    left: ArrayLike, right: ArrayLike, *, clusters: Labels = None, rng: Generator, draws: int = 2000
) -> float:
    """The two-sided p value of the mean of left - right when arms trade outcomes within items (or clusters).

    left, right, clusters: (N,). The observed labelling is one of the draws: p is 1 / (draws + 1) at least.
    """
    differences, _ = _differences(left, right, clusters)
    # Sums that differ by the order of their terms alone are ties, which are as extreme as the observed one.
    observed = abs(differences.sum()) - 1e-12 * np.abs(differences).sum()
    extreme = 1
    for rows in chunks(draws, len(differences)):
        signs = 1.0 - 2.0 * rng.integers(0, 2, (rows, len(differences)), dtype=np.int8)
        extreme += int(np.count_nonzero(np.abs(signs @ differences) >= observed))
    return extreme / (draws + 1)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """The family's p values adjusted by Holm's method, in its order. ValueError names one outside 0..1."""
    from statsmodels.stats.multitest import multipletests

    for name, p in p_values.items():
        if not 0 <= p <= 1:
            raise ValueError(f"the p value of {name!r} is {p}, not within 0..1")
    adjusted = multipletests(list(p_values.values()), method="holm")[1] if p_values else np.array([])
    return dict(zip(p_values, adjusted.tolist(), strict=True))


def equivalent(estimate: Estimate, bound: float) -> bool:
    """Whether the whole interval lies strictly within -bound..bound; ValueError for a bound not above 0.

    With an interval of level 1 - 2 alpha these are two one-sided tests at alpha.
    """
    if not bound > 0:
        raise ValueError(f"bound = {bound} is not above 0")
    return -bound < estimate.low and estimate.high < bound


def _differences(left: ArrayLike, right: ArrayLike, clusters: Labels) -> tuple[Floats, Floats]:
    """Sums of left - right over what is drawn together, and the numbers of items."""
    left, right = both_of(left, right, ("left", "right"))
    units, _ = units_of(clusters, len(left))
    return np.bincount(units, left - right), np.bincount(units).astype(np.float64)


def _seeds(values: ArrayLike) -> tuple[float, float, int]:
    """The mean, its standard error and the degrees of freedom."""
    seeds = numbers(values, "values")
    if len(seeds) < 2:
        raise ValueError(f"n = {len(seeds)} seeds have no spread: 2 are needed")
    if np.ptp(seeds) == 0:  # their mean may round, and have a spread about it
        return float(seeds[0]), 0.0, len(seeds) - 1
    return float(seeds.mean()), float(seeds.std(ddof=1) / np.sqrt(len(seeds))), len(seeds) - 1
