"""Comparisons of arms in pairs: within one run over its scenes, and over the seeds of the reference run.

Reads results files only. A measure is "macro" or "benchmark/subset/metric", such as
"sugarcrepe/replace_obj/i2t"; within a run it must be one that `outcomes` holds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from slipform_core import results, statistics, tables
from slipform_core.metrics import counts_for_macro, macro_of
from slipform_core.outcomes import Outcomes
from slipform_core.statistics import Estimate
from slipform_core.tables import Run

MACRO = "macro"
LEVEL = 0.05  # of a corrected p value
NEGLIGIBLE = 0.01  # a difference of no interest, as a fraction

Verdict = Literal["holds", "does not hold", "not testable at this scale"]


class Contrast(BaseModel):
    """One planned difference, left minus right, with its expected sign, or None for either."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    left: str
    right: str
    expected: Literal["+", "-"] | None = None
    why: str


class Family(BaseModel):
    """Planned contrasts of one measure, whose p values are corrected together."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    about: str
    measure: str
    contrasts: dict[str, Contrast]

    @property
    def triples(self) -> dict[str, tuple[str, str, str]]:
        """Name -> (left, right, measure), as `family` takes them."""
        return {name: (one.left, one.right, self.measure) for name, one in self.contrasts.items()}


def load_plan(path: Path) -> dict[str, Family]:
    """The families of an analysis plan in YAML, by name; ValueError as of `tables.from_yaml`."""
    return tables.from_yaml(path, dict[str, Family])


def planned(path: Path) -> set[tuple[str, str, str]]:
    """Every (left, right, measure) of an analysis plan."""
    return {triple for family in load_plan(path).values() for triple in family.triples.values()}


@dataclass(frozen=True)
class Difference:
    """Left minus right: the mean and its interval over seeds, each seed's value, and p against none."""

    estimate: Estimate
    by_seed: Mapping[int, float]
    p: float


@dataclass(frozen=True)
class Reference:
    """The reference run of a profile: the results of each seed."""

    runs: Mapping[int, Run]

    @classmethod
    def open(cls, root: Path | str, profile: str) -> "Reference":
        """The seeds under `<root>/<profile>`.

        MissingResult where there are fewer than two, or not yet all that its experiment names: what a plan
        fixed beforehand is looked at when it is whole.
        """
        names = {path: path.name.removeprefix("seed-") for path in Path(root, profile).glob("seed-*")}
        folders = {int(name): path for path, name in names.items() if name.isdigit()}
        runs = {seed: Run(folders[seed]) for seed in sorted(folders)}
        if len(runs) < 2:
            raise results.MissingResult(
                f"{root}/{profile} holds {len(runs)} seeds of a reference run, two or more are needed: "
                "make reference"
            )
        config = next(iter(runs.values())).result("composition").made.get("config", {})
        planned = config.get("reference", {}).get("seeds", [])
        if lacking := [str(seed) for seed in planned if seed not in runs]:
            raise results.MissingResult(
                f"{root}/{profile} lacks the seeds {', '.join(lacking)}: make reference"
            )
        return cls(runs)

    @property
    def seeds(self) -> list[int]:
        return list(self.runs)

    @cached_property
    def arms(self) -> list[str]:
        """The arms that every seed has, in the first one's order."""
        first, *others = (run.result("composition").values for run in self.runs.values())
        return [arm for arm in first if all(arm in other for other in others)]

    def values(self, reference: str) -> np.ndarray:
        """The value at `experiment:path` of each seed."""
        return np.array([run[reference] for run in self.runs.values()], dtype=float)

    def scores(self, arm: str, measure: str) -> np.ndarray:
        """An arm's score of each seed, a fraction."""
        return self.values(f"composition:{arm}/{measure}/value")

    def difference(self, left: str, right: str, measure: str) -> Difference:
        """Left minus right, paired by seed."""
        apart = self.scores(left, measure) - self.scores(right, measure)
        by_seed = dict(zip(self.seeds, apart.tolist(), strict=True))
        return Difference(statistics.over_seeds(apart), by_seed, statistics.seeds_p_value(apart))

    def outcomes(self) -> dict[int, Outcomes]:
        return {seed: Outcomes(run.result("outcomes").values) for seed, run in self.runs.items()}

    @cached_property
    def made(self) -> dict[int, Mapping[str, Any]]:
        """How each seed's results were made."""
        return {seed: run.result("composition").made for seed, run in self.runs.items()}


def family(
    reference: Reference, contrasts: Mapping[str, tuple[str, str, str]]
) -> dict[str, tuple[Difference, float]]:
    """Planned contrasts, name -> (left, right, measure), with their p values corrected after Holm."""
    found = {name: reference.difference(*contrast) for name, contrast in contrasts.items()}
    adjusted = statistics.holm({name: difference.p for name, difference in found.items()})
    return {name: (difference, adjusted[name]) for name, difference in found.items()}


def verdict(difference: Difference, adjusted_p: float, expected: Literal["+", "-"] | None) -> Verdict:
    """What the plan's rule says of a difference whose p value is corrected within its family.

    Under LEVEL it holds with the expected sign, or with any where none is expected, however small the
    difference is; with the other sign it does not. Not under LEVEL, it does not hold where the whole interval
    lies within NEGLIGIBLE of zero; else this scale cannot tell. Source: book/plan.md.
    """
    if adjusted_p < LEVEL:
        sign = "+" if difference.estimate.value > 0 else "-"
        return "holds" if expected in (None, sign) else "does not hold"
    negligible = statistics.equivalent(difference.estimate, NEGLIGIBLE)
    return "does not hold" if negligible else "not testable at this scale"


def in_run(
    run: Run, left: str, right: str, measure: str, *, rng: np.random.Generator, draws: int = 2000
) -> Estimate:
    """Left minus right in one run, with a paired bootstrap interval over its test scenes.

    What another seed would give is not in it.
    """
    given = Outcomes(run.result("outcomes").values)
    if measure != MACRO:
        clusters = given.scenes(measure)
        sides = (given.right(arm, measure) for arm in (left, right))
        return statistics.paired_bootstrap(*sides, clusters=clusters, rng=rng, draws=draws)
    references = [reference for reference in given.references() if counts_for_macro(reference)]
    columns = {
        f"{side}:{reference}": given.column(arm, reference)
        for side, arm in (("left", left), ("right", right))
        for reference in references
    }

    def apart(means: Mapping[str, float]) -> float:
        one, other = (
            macro_of({reference: means[f"{side}:{reference}"] for reference in references})
            for side in ("left", "right")
        )
        return one - other

    return statistics.clustered_bootstrap(columns, apart, rng=rng, draws=draws)


def by_word(
    outcomes: Mapping[int, Outcomes], left: str, right: str, measure: str, words: Sequence[str]
) -> dict[str, np.ndarray]:
    """Left minus right among the items whose changed word is each of `words`: a value a seed, or NaN."""
    found: dict[str, np.ndarray] = {}
    for word in words:
        values = []
        for given in outcomes.values():
            rows = np.array([said == word for said in given.words(measure)])
            one, other = (given.right(arm, measure)[rows] for arm in (left, right))
            values.append(one.mean() - other.mean() if rows.any() else np.nan)
        found[word] = np.array(values)
    return found


def open_reference(root: Path | str, profile: str) -> Reference | None:
    """The reference run of a profile, None where there is none yet."""
    try:
        return Reference.open(root, profile)
    except results.MissingResult:
        return None
