"""The claims ledger: each statement with who made it, what was reported, and a verdict computed here and now.

A check is a function of a run's results and of the arguments that book/claims.yml gives it. Some are
arithmetic on reported numbers, some look at the run's results, some say that only the paper's scale can tell.
"""

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Protocol

import yaml
from pydantic import BaseModel, ConfigDict, Field

from slipform_core import metrics

Verdict = Literal["holds", "does not hold", "not testable at this scale", "needs paper scale"]


class Results(Protocol):
    """Whatever gives the value of an `experiment:path` reference, as tables.Run does."""

    def __getitem__(self, reference: str) -> Any: ...


class Outcome(BaseModel):
    """A verdict, our own value in words, and what it rests on: arithmetic, the norms, or this run."""

    verdict: Verdict
    ours: str
    basis: str


class Check(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class Claim(BaseModel):
    """One row of the ledger, as written in book/claims.yml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    statement: str
    stated_by: Literal["authors", "secondary summary"]
    reported: str
    check: Check


def load(path: Path) -> list[Claim]:
    """The claims of a YAML file; an unknown field, author or check raises ValueError naming the choices."""
    claims = [Claim(**fields) for fields in yaml.safe_load(path.read_text())]
    for claim in claims:
        if claim.check.name not in CHECKS:
            raise ValueError(f"claim {claim.id}: no check {claim.check.name!r}; checks: {', '.join(CHECKS)}")
    return claims


def judge(claim: Claim, results: Results) -> Outcome:
    """The claim's verdict on a run; MissingResult where its check needs a value that the run lacks."""
    return CHECKS[claim.check.name](results, **claim.check.arguments)


def _decided(holds: bool, ours: str, basis: str) -> Outcome:
    return Outcome(verdict="holds" if holds else "does not hold", ours=ours, basis=basis)


def mean_of_columns(results: Results, *, rows: Mapping[str, Mapping[str, Any]], within: float) -> Outcome:
    """Whether each row's reported average is the plain mean of its columns."""
    means = {name: sum(row["columns"]) / len(row["columns"]) for name, row in rows.items()}
    holds = all(abs(means[name] - row["average"]) <= within for name, row in rows.items())
    return _decided(holds, "; ".join(f"{name} {mean:.2f}" for name, mean in means.items()), "arithmetic")


def macro_average(results: Results, *, rows: Mapping[str, Mapping[str, Any]], within: float) -> Outcome:
    """Whether each row's reported average is the mean of its three benchmarks' means.

    Columns are SugarCrepe; SugarCrepe++ I2T, TOT; Winoground text, image, group.
    """
    means = {name: metrics.macro_average(*row["columns"]) for name, row in rows.items()}
    holds = all(abs(means[name] - row["average"]) <= within for name, row in rows.items())
    return _decided(holds, "; ".join(f"{name} {mean:.2f}" for name, mean in means.items()), "arithmetic")


def greater(results: Results, *, left: float, right: float) -> Outcome:
    """Whether the left of two reported numbers is the greater."""
    sign = ">" if left > right else "<" if left < right else "="
    return _decided(left > right, f"{left:.2f} {sign} {right:.2f}", "arithmetic")


def close(results: Results, *, left: float, right: float, within: float) -> Outcome:
    """Whether two numbers lie within a distance of each other."""
    apart = abs(left - right)
    return _decided(apart <= within, f"{left:,g} and {right:,g} are {round(apart, 6):,g} apart", "arithmetic")


def margin_curve(
    results: Results,
    *,
    low: float,
    high: float,
    midpoint: float,
    width: float,
    reported: Mapping[float, float],
) -> Outcome:
    """Whether the Fermi-Dirac margin takes the reported values, logits to two decimals."""
    ours = {c: (high - low) / (1 + math.exp((midpoint - c) / width)) + low for c in reported}
    holds = all(abs(ours[c] - value) <= 0.005 for c, value in reported.items())
    return _decided(holds, ", ".join(f"m({c:g}) = {m:+.5f}" for c, m in ours.items()), "arithmetic")


def missing_word(results: Results, *, word: str) -> Outcome:
    """Whether a word is missing from Brysbaert's norms."""
    from slipform_core.concreteness import Norms

    norms = Norms.load("brysbaert")
    try:
        return _decided(False, f"{word} is in the table: {norms[word]:.2f}", "the norms")
    except KeyError:
        return _decided(True, f"{word} is not in the table", "the norms")


def share_falls(results: Results, *, falls: str, stays: str) -> Outcome:
    """Whether a series by batch size falls throughout while another stays above it at every size."""
    lower, upper = (
        {int(size): share["mean"] for size, share in results[path].items()} for path in (falls, stays)
    )
    sizes = sorted(lower)
    falling = all(lower[larger] < lower[smaller] for smaller, larger in pairwise(sizes))
    holds = falling and all(upper[size] > lower[size] for size in sizes)
    ends = [f"{size}: {lower[size]:.2f} against {upper[size]:.2f}" for size in (sizes[0], sizes[-1])]
    return _decided(holds, "; ".join(ends), "this run")


def near(results: Results, *, score: str, chance: float, within: float) -> Outcome:
    """Whether a score lies within a distance of chance."""
    value = results[score]["value"]
    return _decided(abs(value - chance) <= within, f"{value:.3f}, chance {chance:.3f}", "this run")


def better(results: Results, *, left: str, right: str) -> Outcome:
    """Whether the left of two scores is better by more than two standard errors of the difference.

    The standard errors are over items: with one seed, what differs from seed to seed is not in them.
    """
    a, b = results[left], results[right]
    difference, error = a["value"] - b["value"], math.hypot(a["stderr"], b["stderr"])
    ours = f"{a['value']:.3f} against {b['value']:.3f}: {difference:+.3f}, standard error {error:.3f}"
    if abs(difference) <= 2 * error:
        return Outcome(verdict="not testable at this scale", ours=ours, basis="this run, one seed")
    return _decided(difference > 0, ours, "this run, one seed")


def paper_scale(results: Results) -> Outcome:
    """What only training at the paper's scale can show."""
    return Outcome(verdict="needs paper scale", ours="not run by us", basis="this scale cannot tell")


CHECKS: dict[str, Callable[..., Outcome]] = {
    check.__name__: check
    for check in (
        mean_of_columns,
        macro_average,
        greater,
        close,
        margin_curve,
        missing_word,
        share_falls,
        near,
        better,
        paper_scale,
    )
}
