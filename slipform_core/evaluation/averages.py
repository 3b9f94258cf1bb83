"""Averages of a benchmark's subsets, each by its name, with intervals; and two models on the same items."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from slipform_core.benchmarks.items import Benchmark
from slipform_core.evaluation.scores import RETRIEVAL, Evaluation, clusters_of
from slipform_core.statistics import Estimate, clustered_bootstrap

DRAWS = 1000
Columns = dict[str, tuple[np.ndarray, np.ndarray]]
Outcomes = Mapping[str, np.ndarray]  # by metric


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
    found: dict[str, dict[str, Estimate]] = {}
    for name, average in named_averages(benchmark).items():
        keys = [f"{benchmark.name}/{subset}" for subset in average.subsets]
        for metric in evaluation.outcomes[keys[0]]:
            columns = _columns(benchmark, evaluation, metric, keys)
            found.setdefault(name, {})[metric] = _estimate(average.micro, columns, rng, draws)
    return found


def differences(
    benchmark: Benchmark, left: Evaluation, right: Evaluation, rng: Generator, draws: int = DRAWS
) -> dict[str, dict[str, dict[str, float]]]:
    """left - right, a subset, an average or "retrieval" -> metric -> the difference, paired by item.

    `value`, `low`, `high`: the paired bootstrap over pictures, 95 %. `only_left`, `only_right`: items that
    one has right and the other wrong; `mcnemar`: the exact two-sided p value of these, which takes items for
    independent.
    """
    rows = {key.partition("/")[2]: ([key], False) for key in benchmark.subsets}
    for name, average in named_averages(benchmark).items():
        rows[name] = [f"{benchmark.name}/{subset}" for subset in average.subsets], average.micro
    if benchmark.retrieval:
        rows[RETRIEVAL] = [f"{RETRIEVAL}/{benchmark.name}"], False
    return {
        name: {
            metric: _difference(
                *(_columns(benchmark, each, metric, keys) for each in (left, right)), micro, rng, draws
            )
            for metric in left.outcomes[keys[0]]
        }
        for name, (keys, micro) in rows.items()
    }


def differences_of_pictures(
    left: Outcomes, right: Outcomes, rng: Generator, draws: int = DRAWS
) -> dict[str, dict[str, float]]:
    """left - right as `differences` has it, by metric, of outcomes each of which is another picture's."""
    found = {}
    for metric, ours in left.items():
        both = ({metric: (each, np.arange(len(each)))} for each in (ours, right[metric]))
        found[metric] = _difference(*both, True, rng, draws)
    return found


def _difference(one: Columns, other: Columns, micro: bool, rng: Generator, draws: int) -> dict[str, float]:
    from scipy.stats import binomtest

    paired = {key: (right.astype(float) - other[key][0], clusters) for key, (right, clusters) in one.items()}
    changed = np.concatenate([values for values, _ in paired.values()])
    wins, losses = int((changed > 0).sum()), int((changed < 0).sum())
    p = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    counted = {"only_left": wins, "only_right": losses, "mcnemar": float(p)}
    return _estimate(micro, paired, rng, draws)._asdict() | counted


def _columns(benchmark: Benchmark, evaluation: Evaluation, metric: str, keys: Sequence[str]) -> Columns:
    return {key: (evaluation.outcomes[key][metric], clusters_of(benchmark, key, metric)) for key in keys}


def _estimate(micro: bool, columns: Columns, rng: Generator, draws: int) -> Estimate:
    if micro:
        values, clusters = (np.concatenate(parts) for parts in zip(*columns.values(), strict=True))
        columns = {"all": (values, clusters)}
    if len(np.unique(np.concatenate([clusters for _, clusters in columns.values()]))) < 2:
        value = float(np.mean([values.mean() for values, _ in columns.values()]))
        return Estimate(value, np.nan, np.nan)
    return clustered_bootstrap(
        columns, lambda means: float(np.mean(list(means.values()))), rng=rng, draws=draws
    )
