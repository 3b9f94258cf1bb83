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
    """A table in percent, value ± standard error, of scores by row and column."""
    import pandas

    cells = {
        row: {name: f"{100 * s['value']:.1f} ± {100 * s['stderr']:.1f}" for name, s in columns.items()}
        for row, columns in scores.items()
    }
    return pandas.DataFrame(cells).T.rename_axis("arm")
