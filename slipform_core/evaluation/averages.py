"""Averages of a benchmark's subsets, each by its name, with intervals; and two models on the same items."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from slipform_core.benchmarks.collect import AUTHORS
from slipform_core.benchmarks.items import Benchmark
from slipform_core.evaluation.scores import RETRIEVAL, Evaluation, clusters_of
from slipform_core.statistics import Estimate, UndefinedError, clustered_bootstrap

DRAWS = 1000
Columns = dict[str, tuple[np.ndarray, np.ndarray]]
Right = Mapping[str, np.ndarray]  # bool (N,) by metric


class Average(NamedTuple):
    """How much the mean of each subset weighs, by its key; of all their items together where `micro`."""

    weights: dict[str, float]
    micro: bool = False


def named_averages(benchmark: Benchmark) -> dict[str, Average]:
    """By name: "micro", every item counts alike; "macro-7", the plain mean of seven subsets; the groups.

    A group is the plain mean of subsets, or of other groups, and counts where all of its subsets are there.
    Where a benchmark's authors have a macro average of their own, that is the only one.
    """
    subsets = [key.partition("/")[2] for key in benchmark.subsets]
    if len(subsets) < 2:
        return {}
    found = {"micro": Average(_weights(benchmark, subsets), micro=True)}
    if AUTHORS not in benchmark.groups:
        found[f"macro-{len(subsets)}"] = Average(_weights(benchmark, subsets))
    for name, of in benchmark.groups.items():
        weights = _weights(benchmark, of)
        if weights and weights.keys() <= benchmark.subsets.keys():
            found[f"{name} (mean of {len(of)})"] = Average(weights)
    return found


def _weights(benchmark: Benchmark, of: Sequence[str]) -> dict[str, float]:
    """How much each subset's mean weighs in the mean of subsets and groups."""
    weights: dict[str, float] = {}
    for name in of:
        key = f"{benchmark.name}/{name}"
        inner = {key: 1.0}
        if key not in benchmark.subsets and name in benchmark.groups:
            inner = _weights(benchmark, benchmark.groups[name])
        weights |= {key: weights.get(key, 0) + weight / len(of) for key, weight in inner.items()}
    return weights


def averages(
    benchmark: Benchmark, evaluation: Evaluation, rng: Generator, draws: int = DRAWS
) -> dict[str, dict[str, Estimate]]:
    """name -> metric -> value with a 95 % interval; pictures are drawn, with all of their items.

    The ends are NaN where subsets are of too few pictures: one of one, or so many that most draws lack some.
    """
    found: dict[str, dict[str, Estimate]] = {}
    for name, average in named_averages(benchmark).items():
        for metric in evaluation.outcomes[next(iter(average.weights))]:
            columns = _columns(benchmark, evaluation, metric, average)
            found.setdefault(name, {})[metric] = _estimate(average, columns, rng, draws)
    return found


def differences(
    benchmark: Benchmark, left: Evaluation, right: Evaluation, rng: Generator, draws: int = DRAWS
) -> dict[str, dict[str, dict[str, float]]]:
    """left - right, a subset, an average or "retrieval" -> metric -> the difference, paired by item.

    `value`, `low`, `high`: the paired bootstrap over pictures, 95 %. `only_left`, `only_right`: items that
    one has right and the other wrong; `mcnemar`: the exact two-sided p value of these, which takes items for
    independent.
    """
    rows = {key.partition("/")[2]: Average({key: 1.0}) for key in benchmark.subsets}
    rows |= named_averages(benchmark)
    if benchmark.retrieval:
        rows[RETRIEVAL] = Average({f"{RETRIEVAL}/{benchmark.name}": 1.0})
    return {
        name: {
            metric: _difference(
                *(_columns(benchmark, each, metric, average) for each in (left, right)), average, rng, draws
            )
            for metric in left.outcomes[next(iter(average.weights))]
        }
        for name, average in rows.items()
    }


def differences_of_pictures(
    left: Right, right: Right, rng: Generator, draws: int = DRAWS
) -> dict[str, dict[str, float]]:
    """left - right as `differences` has it, by metric, of outcomes each of which is another picture's."""
    found = {}
    for metric, ours in left.items():
        both = ({metric: (each, np.arange(len(each)))} for each in (ours, right[metric]))
        found[metric] = _difference(*both, Average({metric: 1.0}), rng, draws)
    return found


def _difference(
    one: Columns, other: Columns, average: Average, rng: Generator, draws: int
) -> dict[str, float]:
    from scipy.stats import binomtest

    paired = {key: (right.astype(float) - other[key][0], clusters) for key, (right, clusters) in one.items()}
    changed = np.concatenate([values for values, _ in paired.values()])
    wins, losses = int((changed > 0).sum()), int((changed < 0).sum())
    p = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    counted = {"only_left": wins, "only_right": losses, "mcnemar": float(p)}
    return _estimate(average, paired, rng, draws)._asdict() | counted


def _columns(benchmark: Benchmark, evaluation: Evaluation, metric: str, average: Average) -> Columns:
    return {
        key: (evaluation.outcomes[key][metric], clusters_of(benchmark, key, metric))
        for key in average.weights
    }


def _estimate(average: Average, columns: Columns, rng: Generator, draws: int) -> Estimate:
    weights = average.weights
    if average.micro:
        values, clusters = (np.concatenate(parts) for parts in zip(*columns.values(), strict=True))
        columns, weights = {"all": (values, clusters)}, {"all": 1.0}

    def mean(means: Mapping[str, float]) -> float:
        return sum(weight * means[key] for key, weight in weights.items())

    with suppress(UndefinedError):
        if all(len(np.unique(clusters)) > 1 for _, clusters in columns.values()):
            return clustered_bootstrap(columns, mean, rng=rng, draws=draws)
    return Estimate(mean({key: values.mean() for key, (values, _) in columns.items()}), np.nan, np.nan)
