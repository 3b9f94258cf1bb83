"""Checks of what was measured: planned contrasts, and what else the reference run or this run says.

Values are addressed `experiment:path`. Intervals are of 95 % over the reference run's seeds; those of planned
contrasts go with p values that are corrected within their family, the others with none.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from slipform_core import comparisons, statistics
from slipform_core.statistics import Estimate

from .outcome import Evidence, Outcome, Results, decided

UNDECIDED = "not testable at this scale"
THIS_RUN = "this run, one seed"


def planned(
    evidence: Evidence,
    *,
    family: comparisons.Family,
    contrast: str,
    reported: tuple[float, float] | None = None,
) -> Outcome:
    """What the plan's rule says of one contrast of a family; ValueError for one that is not in it.

    reported: the two sides as reported, in percent. Whether our interval holds their difference, which may be
    smaller than what the rule calls one, is added.
    """
    if contrast not in family.contrasts:
        raise ValueError(f"no contrast {contrast!r} was planned; there are: {', '.join(family.contrasts)}")
    one, reference = family.contrasts[contrast], evidence.reference
    if reference is None:
        return _no_reference()
    difference, p = comparisons.family(reference, family.triples)[contrast]
    said = ""
    if reported:
        _, low, high = difference.estimate
        theirs = reported[0] - reported[1]
        where = "inside" if low <= theirs / 100 <= high else "outside"
        said = f"; the reported difference, {theirs:+.2f}, lies {where} this interval".replace("-", "−")
    return Outcome(
        verdict=comparisons.verdict(difference, p, one.expected),
        ours=f"{one.left} − {one.right}: {_shown(difference.estimate, 100, 2)} points, "
        f"p {'< 0.001' if p < 0.001 else f'= {p:.3f}'} after Holm{said}",
        basis=_seeds(reference),
    )


def near(evidence: Evidence, *, value: str, chance: float, within: float) -> Outcome:
    """Whether a score lies within a distance of chance: its whole interval, or in this run the score itself.

    It does not where the whole interval lies farther; without a reference run, this run decides.
    """
    if evidence.reference is None:
        score = float(evidence.run[value])
        return decided(abs(score - chance) < within, f"{score:.3f}, chance {chance:.3f}", THIS_RUN)
    found = statistics.over_seeds(evidence.reference.values(value))
    apart = Estimate(*(end - chance for end in found))
    ours = f"{_shown(found, 1, 3, sign='')}, chance {chance:.3f}"
    if apart.low < within and apart.high > -within and not statistics.equivalent(apart, within):
        return Outcome(verdict=UNDECIDED, ours=ours, basis=_seeds(evidence.reference))
    return decided(statistics.equivalent(apart, within), ours, _seeds(evidence.reference))


def above(evidence: Evidence, *, pairs: Mapping[str, tuple[str, str]]) -> Outcome:
    """Whether in every pair the first value is the greater: the interval of their difference is above 0.

    It does not where one interval lies below.
    """
    reference = evidence.reference
    if reference is None:
        return _no_reference()
    found = {
        name: statistics.over_seeds(reference.values(left) - reference.values(right))
        for name, (left, right) in pairs.items()
    }
    return _all_above(found, reference)


def correlates(evidence: Evidence, *, y: str, x: str) -> Outcome:
    """Whether y rises with x: the interval of Spearman's correlation, one a seed, is above 0."""

    def correlation(run: Results) -> float:
        from scipy.stats import spearmanr

        return float(spearmanr(run[x], run[y]).statistic)

    return _statistic_above(evidence, "Spearman's correlation", correlation)


def left_skewed(evidence: Evidence, *, values: str) -> Outcome:
    """Whether a distribution has its tail on the left: the interval of its skewness is below 0."""

    def leftness(run: Results) -> float:
        from scipy.stats import skew

        return -float(skew(run[values]))

    return _statistic_above(evidence, "minus the skewness", leftness)


def _statistic_above(evidence: Evidence, name: str, statistic: Callable[[Results], float]) -> Outcome:
    reference = evidence.reference
    if reference is None:
        return _no_reference()
    by_seed = [statistic(run) for run in reference.runs.values()]
    return _all_above({name: statistics.over_seeds(by_seed)}, reference)


def _all_above(found: Mapping[str, Estimate], reference: comparisons.Reference) -> Outcome:
    ours = "; ".join(f"{name}: {_shown(estimate, 1, 3)}" for name, estimate in found.items())
    if all(estimate.low > 0 for estimate in found.values()):
        return decided(True, ours, _seeds(reference))
    if any(estimate.high < 0 for estimate in found.values()):
        return decided(False, ours, _seeds(reference))
    return Outcome(verdict=UNDECIDED, ours=ours, basis=_seeds(reference))


def share_falls(evidence: Evidence, *, falls: str, stays: str) -> Outcome:
    """Whether a series by batch size falls throughout while another stays above it at every size.

    In every seed of the reference run, or in this run where there is none; seeds must agree to decide.
    """
    if evidence.reference is None:
        holds, ours = _falls(evidence.run, falls, stays)
        return decided(holds, ours, THIS_RUN)
    found = [_falls(run, falls, stays) for run in evidence.reference.runs.values()]
    count = sum(holds for holds, _ in found)
    ours = f"in {count} of {len(found)} seeds; the first: {found[0][1]}"
    if 0 < count < len(found):
        return Outcome(verdict=UNDECIDED, ours=ours, basis=_seeds(evidence.reference))
    return decided(count > 0, ours, _seeds(evidence.reference))


def _falls(run: Results, falls: str, stays: str) -> tuple[bool, str]:
    lower, upper = (_means(run[path]) for path in (falls, stays))
    sizes = sorted(lower)
    falling = all(lower[larger] < lower[smaller] for smaller, larger in pairwise(sizes))
    ends = [f"{size}: {lower[size]:.2f} against {upper[size]:.2f}" for size in (sizes[0], sizes[-1])]
    return falling and all(upper[size] > lower[size] for size in sizes), ", ".join(ends)


def _means(series: Mapping[str, Mapping[str, Any]]) -> dict[int, float]:
    return {int(size): share["mean"] for size, share in series.items()}


def _shown(estimate: Estimate, factor: float, digits: int, sign: str = "+") -> str:
    value, low, high = (f"{factor * number:{sign}.{digits}f}".replace("-", "−") for number in estimate)
    return f"{value} ({low} to {high})"


def _seeds(reference: comparisons.Reference) -> str:
    return f"the reference run, {len(reference.runs)} seeds"


def _no_reference() -> Outcome:
    return Outcome(verdict=UNDECIDED, ours="no reference run of this profile", basis="the reference run")


CHECKS = {check.__name__: check for check in (planned, near, above, correlates, left_skewed, share_falls)}
