"""One record that fails does not stop a run of millions, and a run in which everything fails stops."""

from collections.abc import Callable, Sequence
from typing import Any

LIMIT = 20  # failures in a row, after which it is not the records
FAILED = "failed: "


class Failure(str):
    """Why a record has no outcome, such as "failed: ValueError"; it is counted as a rejection."""


class Guard:
    """Calls a function of records on a batch; where that fails, on each record alone.

    A record that fails alone has a `Failure` for its outcome. The error is raised once `LIMIT` records in a
    row have failed.
    """

    def __init__(self) -> None:
        self.in_a_row = 0

    def each(self, call: Callable[[Sequence[Any]], Sequence[Any]], records: Sequence[Any]) -> list[Any]:
        """The outcomes of the records, in their order."""
        if len(records) > 1:
            try:
                return list(call(records))
            except Exception:  # whatever a model or a decoder raises; the records alone say whose fault it is
                return [outcome for record in records for outcome in self.each(call, [record])]
        try:
            outcomes = list(call(records))
        except Exception as error:
            self.in_a_row += 1
            if self.in_a_row >= LIMIT:
                raise
            return [Failure(FAILED + type(error).__name__)]
        self.in_a_row = 0
        return outcomes
