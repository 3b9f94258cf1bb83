"""The reference run: what was planned, what came out, how it was made, and its numbers in prose."""

from collections.abc import Iterable, Mapping
from typing import Any

from docutils import nodes
from pydantic import BaseModel, ValidationError
from sphinx.util.docutils import SphinxRole

from slipform_book.parts import WRONG, Cell, FromResults, badge, box, listed, small, table
from slipform_core import comparisons, stages, statistics, tables
from slipform_core.figures import effects

PLAN = "plan.yml"
SPINE = "slipform_core.experiment"
SIGNS = {"+": "+", "-": "−", None: "either"}


class Made(BaseModel):
    """What a results file says of its making, as far as the book prints it."""

    command: str
    code: str
    seconds: float
    versions: dict[str, Any]
    machine: dict[str, Any]


class Plan(FromResults):
    """The planned contrasts of book/plan.yml, family by family; needs no results."""

    def shown(self) -> list[nodes.Node]:
        families = comparisons.load_plan(self.beside(PLAN))
        return [node for name, family in families.items() for node in self._family(name, family)]

    def _family(self, name: str, family: comparisons.Family) -> list[nodes.Node]:
        rows = [
            [
                self.inline(planned.why),
                [nodes.literal("", planned.left)],
                [nodes.literal("", planned.right)],
                SIGNS[planned.expected],
            ]
            for planned in family.contrasts.values()
        ]
        columns = {"Contrast": 40, "Left": 23, "Right": 23, "Expected": 14}
        return [*headed(self, name, family), table("ledger plan", columns, rows)]


class Contrasts(FromResults):
    """{contrasts} FAMILY is a family of book/plan.yml with what the reference run gave."""

    required_arguments = 1

    def shown(self) -> list[nodes.Node]:
        families, name = comparisons.load_plan(self.beside(PLAN)), self.arguments[0]
        if name not in families:
            raise ValueError(f"no family {name!r} in the plan; there are: {', '.join(families)}")
        family, profile = families[name], self.open_run().profile
        reference = comparisons.open_reference(self.config.slipform_reference, profile)
        if reference is None:
            return [*headed(self, name, family), none_of(profile)]
        found = comparisons.family(reference, family.triples)
        rows = [self._row(family.contrasts[key], *outcome) for key, outcome in found.items()]
        columns = {"Contrast": 36, "Expected": 10, "Difference, points": 26, "p (Holm)": 12, "Verdict": 16}
        return [*headed(self, name, family), table("ledger contrasts", columns, rows)]

    def _row(self, planned: comparisons.Contrast, difference: comparisons.Difference, p: float) -> list[Cell]:
        mean, low, high = (points(number) for number in difference.estimate)
        by_seed = (f"{seed}:\N{NO-BREAK SPACE}{points(value)}" for seed, value in difference.by_seed.items())
        return [
            [*self.inline(planned.why), nodes.Text(" "), small(f"{planned.left} − {planned.right}")],
            SIGNS[planned.expected],
            [nodes.Text(f"{mean} ({low} to {high}) "), small(f"by seed {', '.join(by_seed)}")],
            "< 0.001" if p < 0.001 else f"{p:.3f}",
            [badge(comparisons.verdict(difference, p, planned.expected))],
        ]


class ReferenceRun(FromResults):
    """How the reference run was made, and a box where the code has changed since."""

    def shown(self) -> list[nodes.Node]:
        profile = self.open_run().profile
        reference = comparisons.open_reference(self.config.slipform_reference, profile)
        if reference is None:
            return [none_of(profile)]
        made = how_made(reference)
        codes = {seed: of.code for seed, of in made.items()}
        runs = reference.runs.values()
        seconds = sum(log["seconds"] for run in runs for log in run.result("training").values.values())
        rows = [
            ["profile", profile],
            ["seeds", joined(made)],
            ["hours of training", f"{seconds / 3600:.1f} on one core, {len(reference.arms)} models a seed"],
            ["command of a seed", [nodes.literal("", made[reference.seeds[0]].command)]],
            ["versions", by_value({seed: listed(of.versions) for seed, of in made.items()})],
            ["machine", by_value({seed: listed(of.machine) for seed, of in made.items()})],
            ["code", by_value(codes)],
        ]
        return [*stale(profile, codes), table("ledger reference", {"What": 24, "How": 76}, rows)]


class Stale(FromResults):
    """A box where the reference run was made by other code than there is now; else nothing."""

    def shown(self) -> list[nodes.Node]:
        profile = self.open_run().profile
        reference = comparisons.open_reference(self.config.slipform_reference, profile)
        if reference is None:
            return []
        return stale(profile, {seed: of.code for seed, of in how_made(reference).items()})


class SeedsRole(SphinxRole):
    """{seeds}`composition:base/macro/value|.1%` is a mean over the reference run's seeds, with interval."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        path, _, form = self.text.partition("|")
        try:
            text, explanation = self._read(path, form)
        except WRONG as error:
            return [], [self.inliner.reporter.error(f"seeds {self.text!r}: {error}", line=self.lineno)]
        return [nodes.abbreviation("", text, explanation=explanation, classes=["result"])], []

    def _read(self, path: str, form: str) -> tuple[str, str]:
        profile = tables.open_run(self.config.slipform_run).profile
        reference = comparisons.open_reference(self.config.slipform_reference, profile)
        if reference is None:
            return tables.NONE, "no reference run of this profile"
        numbers = [run.measured(path)[0] for run in reference.runs.values()]
        written = [format(number, form) for number in statistics.over_seeds(numbers)]
        percent = "\N{NO-BREAK SPACE}%" if form.endswith("%") else ""
        mean, low, high = (number.removesuffix("%") for number in written)
        experiment, _, inside = path.partition(":")
        where = f"{experiment}.json of the reference run of {profile}: {inside.replace('/', ' / ')}"
        return f"{mean}{percent} ({low} to {high})", f"{where}; mean, 95 % interval, n = {len(numbers)} seeds"


def how_made(reference: comparisons.Reference) -> dict[int, Made]:
    """How each seed's results were made; ValueError names the file that does not say it."""
    found = {}
    for seed, made in reference.made.items():
        try:
            found[seed] = Made.model_validate(made)
        except ValidationError as error:
            path = reference.runs[seed].folder / "composition.json"
            raise ValueError(f"{path}: made.{tables.fault(error)}") from None
    return found


def headed(directive: FromResults, name: str, family: comparisons.Family) -> list[nodes.Node]:
    """A family's name as a heading that is in no table of contents, what it is about, and its measure."""
    about = [*directive.inline(family.about), nodes.Text(" Measure: "), nodes.literal("", family.measure)]
    return [nodes.rubric("", name.replace("_", " ").capitalize()), nodes.paragraph("", "", *about)]


def none_of(profile: str) -> nodes.paragraph:
    again = nodes.literal("", f"make reference PROFILE={profile}")
    return nodes.paragraph("", "", nodes.Text(f"No reference run of profile {profile}: "), again)


def stale(profile: str, codes: Mapping[int, str]) -> list[nodes.Node]:
    """A box where seeds were made by other code than there is now, or than each other; else nothing."""
    now = stages.code(SPINE)
    old = dict.fromkeys(code for code in codes.values() if code != now)
    if not old:
        return []
    said = f"These results were made by an older version of the code (hash {', '.join(old)}, now {now}): "
    again = "make reference" if profile == "mini" else f"make reference PROFILE={profile}"
    sentence = [nodes.Text(said), nodes.literal("", again), nodes.Text(" makes them again.")]
    content = [nodes.paragraph("", "", *sentence)]
    if len(set(codes.values())) > 1:
        content.append(nodes.paragraph("", f"Its seeds were made by different code: {by_value(codes)}."))
    return [box("Made by older code", "stale", *content)]


def by_value(values: Mapping[int, str]) -> str:
    """The value that seeds share, or the distinct ones, each with its seeds."""
    seeds: dict[str, list[int]] = {}
    for seed, value in values.items():
        seeds.setdefault(value, []).append(seed)
    if len(seeds) == 1:
        return next(iter(seeds))
    return "; ".join(f"{value} (seeds {joined(of)})" for value, of in seeds.items())


def joined(seeds: Iterable[int]) -> str:
    return ", ".join(map(str, seeds))


def points(fraction: float) -> str:
    """A difference of fractions in percent points, signed."""
    return effects.points(fraction, 2)
