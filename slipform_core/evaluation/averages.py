"""Averages of a benchmark's subsets, each by its name, with intervals; and two models on the same items."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from slipform_core.benchmarks import Benchmark
from slipform_core.evaluation.scores import Evaluation
from slipform_core.statistics import Estimate, clustered_bootstrap

DRAWS = 1000
Columns = dict[str, tuple[np.ndarray, np.ndarray]]


class Average(NamedTuple):
    """The means of some subsets, by subset, or of all their items together where `micro`."""

    subsets: tuple[str, ...]
    micro: bool = False


def named_averages(benchmark: Benchmark) -> dict[str, Average]:
    """By name: "micro", every item counts alike; "macro-7", the plain mean of seven subsets; the groups.

    A group counts where all of its subsets are there.
    """
    subsets = tuple(key.partition("/")[2] for key in benchmark.subsets)
    averages = {"micro": Average(subsets, micro=True), f"macro-{len(subsets)}": Average(subsets)}
    groups = {
        f"{name} (mean of {len(of)})": Average(tuple(of))
        for name, of in benchmark.groups.items()
        if of and set(of) <= set(subsets)
    }
    return averages | groups if len(subsets) > 1 else {}


def averages(
    benchmark: Benchmark, evaluation: Evaluation, rng: Generator, draws: int = DRAWS
) -> dict[str, dict[str, Estimate]]:
    """name -> metric -> value with a 95 % interval; pictures are drawn, with all of their items."""
    named = named_averages(benchmark)
    return {
        name: {
            metric: _estimate(average, _columns(benchmark, evaluation, metric, average), rng, draws)
            for metric in _metrics(benchmark, evaluation)
        }
        for name, average in named.items()
    }


def differences(
    benchmark: Benchmark, left: Evaluation, right: Evaluation, rng: Generator, draws: int = DRAWS
) -> dict[str, dict[str, dict[str, float]]]:
    """left - right, name of a subset or an average -> metric -> the difference, paired by item.

    `value`, `low`, `high`: the paired bootstrap over pictures, 95 %. `only_left`, `only_right`: items that
    one has right and the other wrong; `mcnemar`: the exact two-sided p value of these, which takes items for
    independent.
    """
    from scipy.stats import binomtest

    subsets = {key.partition("/")[2]: Average((key.partition("/")[2],)) for key in benchmark.subsets}
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name, average in (subsets | named_averages(benchmark)).items():
        for metric in _metrics(benchmark, left):
            one, other = (_columns(benchmark, each, metric, average) for each in (left, right))
            paired = {
                subset: (one[subset][0].astype(float) - other[subset][0], one[subset][1]) for subset in one
            }
            estimate = _estimate(average, paired, rng, draws)
            changed = np.concatenate([values for values, _ in paired.values()])
            wins, losses = int((changed > 0).sum()), int((changed < 0).sum())
            p = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
            found.setdefault(name, {})[metric] = estimate._asdict() | {
                "only_left": wins,
                "only_right": losses,
                "mcnemar": float(p),
            }
    return found


def _metrics(benchmark: Benchmark, evaluation: Evaluation) -> list[str]:
    return list(evaluation.outcomes[next(iter(benchmark.subsets))])


def _columns(benchmark: Benchmark, evaluation: Evaluation, metric: str, average: Average) -> Columns:
    return {
        subset: (
            evaluation.outcomes[f"{benchmark.name}/{subset}"][metric],
            benchmark.subsets[f"{benchmark.name}/{subset}"].clusters,
        )
        for subset in average.subsets
    }


def _estimate(average: Average, columns: Columns, rng: Generator, draws: int) -> Estimate:
    if average.micro:
        values, clusters = (np.concatenate(parts) for parts in zip(*columns.values(), strict=True))
        columns = {"all": (values, clusters)}
    if len(np.unique(np.concatenate([clusters for _, clusters in columns.values()]))) < 2:
        value = float(np.mean([values.mean() for values, _ in columns.values()]))
        return Estimate(value, np.nan, np.nan)
    return clustered_bootstrap(
        columns, lambda means: float(np.mean(list(means.values()))), rng=rng, draws=draws
    )
