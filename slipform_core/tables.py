"""A run's results as one thing to read from, for tables, claims, and numbers in prose."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slipform_core import results

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Run:
    """The results of the run in `folder`: `run["composition:base/swap_obj/i2t/value"]`."""

    folder: Path
    profile: str

    def result(self, experiment: str) -> results.Result:
        """One results file; MissingResult names those that there are."""
        return results.load(self.folder / "results", self.profile, experiment)

    def __getitem__(self, reference: str) -> Any:
        """The value at `experiment:path`; MissingResult names what there is instead."""
        experiment, colon, path = reference.partition(":")
        if not colon:
            raise results.MissingResult(f"{reference!r} is not of the form experiment:path")
        return self.result(experiment)[path]


def open_run(folder: Path | str) -> Run:
    """The run of a folder such as build/runs/mini, which holds the results of one profile."""
    profiles = sorted({path.parent.name for path in Path(folder).glob("results/*/*.json")})
    if len(profiles) != 1:
        found = ", ".join(profiles) or "none"
        raise results.MissingResult(
            f"{folder}/results must hold the results of one profile, it holds: {found}"
        )
    return Run(Path(folder), profiles[0])


def percent(scores: Mapping[str, Mapping[str, Mapping[str, float]]]) -> "pandas.DataFrame":
    """A table in percent, value ± standard error, of scores by column and row."""
    import pandas

    cells = {
        column: {row: f"{100 * s['value']:.1f} ± {100 * s['stderr']:.1f}" for row, s in rows.items()}
        for column, rows in scores.items()
    }
    return pandas.DataFrame(cells)


def shown(frame: "pandas.DataFrame", digits: int = 3) -> "pandas.DataFrame":
    """A table's numbers as text: whole columns without decimals, others with `digits`, a dash for none."""
    import pandas

    def text(column: "pandas.Series") -> "pandas.Series":
        decimals = 0 if (column.dropna() % 1 == 0).all() else digits
        return column.map(lambda value: "–" if pandas.isna(value) else f"{value:,.{decimals}f}")

    return frame.astype(float).apply(text)
