"""The ledger's rows: reading them, and judging each by its check.

A check is a function of the arguments that its row gives it; those in MEASURED see the evidence first. Where
an argument is `reported:table/row/column` it is that number of reported.yml, and `plan:family` is that family
of plan.yml, both in the folder that holds the ledger.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from slipform_core import comparisons, results, tables

from . import algebra, arithmetic, measured, words
from .measured import THIS_RUN, UNDECIDED
from .outcome import Evidence, Outcome

GIVEN: dict[str, Callable[..., Outcome]] = {**arithmetic.CHECKS, **algebra.CHECKS, **words.CHECKS}
MEASURED: dict[str, Callable[..., Outcome]] = measured.CHECKS
CHECKS = {**GIVEN, **MEASURED}


class Check(BaseModel):
    """The name of a check and what it is given."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class Claim(BaseModel):
    """One row of the ledger; its topic is the name of its file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    topic: str
    id: str
    statement: str
    stated_by: Literal["authors", "secondary summary", "this companion"]
    reported: str
    check: Check


def load(path: Path) -> list[Claim]:
    """The claims of a YAML file, or of all in a folder.

    ValueError names an unknown field, author, check, argument or reported number, and an id that comes twice.
    """
    beside = _Beside(path.parent)
    claims: dict[str, Claim] = {}
    for file in sorted(path.glob("*.yml")) if path.is_dir() else [path]:
        for fields in yaml.safe_load(file.read_text()):
            claim = Claim(**fields, topic=file.stem)
            if claim.id in claims:
                raise ValueError(f"claim {claim.id} is in {claims[claim.id].topic} and in {claim.topic}")
            claims[claim.id] = claim.model_copy(update={"check": _checked(claim, beside)})
    return list(claims.values())


def judge(claim: Claim, evidence: Evidence) -> Outcome:
    """The claim's verdict.

    Raises MissingResult where the reference run lacks a value that the check needs. A run alone may have been
    made without such arms: then nothing is decided.
    """
    check = claim.check
    if check.name not in MEASURED:
        return GIVEN[check.name](**check.arguments)
    try:
        return MEASURED[check.name](evidence, **check.arguments)
    except results.MissingResult:
        if evidence.reference is not None:
            raise
        return Outcome(verdict=UNDECIDED, ours="not measured in this run", basis=THIS_RUN)


class _Beside:
    """What was reported, and what was planned, in the folder that holds the ledger; read when asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def reported(self) -> dict[str, tables.Reported]:
        return tables.reported(self.folder / "reported.yml")

    @cached_property
    def plan(self) -> dict[str, comparisons.Family]:
        return comparisons.load_plan(self.folder / "plan.yml")

    def resolve(self, argument: Any) -> Any:
        """The argument with each reference in it replaced by what it refers to."""
        if isinstance(argument, Mapping):
            return {key: self.resolve(value) for key, value in argument.items()}
        if isinstance(argument, list):
            return [self.resolve(value) for value in argument]
        kind, _, path = argument.partition(":") if isinstance(argument, str) else ("", "", "")
        if kind == "reported":
            return self._number(path)
        return _one_of(self.plan, path, "family of the plan") if kind == "plan" else argument

    def _number(self, path: str) -> float:
        table, row, column = path.split("/")
        rows = _one_of(self.reported, table, "table of reported.yml").rows
        value = _one_of(_one_of(rows, row, f"row of {table}"), column, f"column of {table}")
        if not isinstance(value, float):
            raise ValueError(f"reported:{path} is {value!r}, no number")
        return value


def _one_of(choices: Mapping[str, Any], name: str, kind: str) -> Any:
    if name not in choices:
        raise ValueError(f"no {kind} {name!r}; there are: {', '.join(map(str, choices))}")
    return choices[name]


def _checked(claim: Claim, beside: _Beside) -> Check:
    """The claim's check with its references resolved, if it exists and takes these arguments."""
    name = claim.check.name
    if name not in CHECKS:
        raise ValueError(f"claim {claim.id}: no check {name!r}; checks: {', '.join(CHECKS)}")
    evidence = [None] if name in MEASURED else []
    try:
        arguments = beside.resolve(claim.check.arguments)
        inspect.signature(CHECKS[name]).bind(*evidence, **arguments)
    except (TypeError, ValueError) as error:
        raise ValueError(f"claim {claim.id}: {name}: {error}") from None
    return Check(name=name, arguments=arguments)
