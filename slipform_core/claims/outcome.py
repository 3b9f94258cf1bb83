"""What a check returns, and what it may look at."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pydantic import BaseModel

from slipform_core import comparisons

Verdict = comparisons.Verdict | Literal["needs paper scale"]


class Results(Protocol):
    """Whatever gives the value of an `experiment:path` reference, as tables.Run does."""

    def __getitem__(self, reference: str) -> Any: ...


@dataclass(frozen=True)
class Evidence:
    """What was measured: one run, and the reference run of its profile where there is one."""

    run: Results
    reference: comparisons.Reference | None


class Outcome(BaseModel):
    """A verdict, our own value in words, and what it rests on.

    basis: arithmetic, algebra, the norms, this run, the reference run with its
    number of seeds, or that nothing here can tell.
    """

    verdict: Verdict
    ours: str
    basis: str


def decided(holds: bool, ours: str, basis: str) -> Outcome:
    return Outcome(verdict="holds" if holds else "does not hold", ours=ours, basis=basis)
