"""A run's results as one thing to read from, for tables, claims, numbers in prose; and what was reported."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, model_validator

from slipform_core import results, statistics

if TYPE_CHECKING:
    import pandas

NONE = "–"
Unit = Literal["percent", "fraction"]
SHOWN: dict[Unit, tuple[int, int]] = {"percent": (100, 1), "fraction": (1, 3)}  # factor, decimals


@lru_cache(maxsize=256)
def _load(folder: Path, experiment: str, written: int) -> results.Result:
    # A page asks for hundreds of values of one file.
    return results.load(folder, experiment)


@dataclass(frozen=True)
class Run:
    """The results files of `folder`: `run["composition:base/sugarcrepe/swap_obj/i2t/value"]`."""

    folder: Path

    @property
    def profile(self) -> str:
        """Of a reference run's folder, <profile>/seed-<n>, the profile too."""
        return (self.folder.parent if self.folder.name.startswith("seed-") else self.folder).name

    def result(self, experiment: str) -> results.Result:
        """One results file; MissingResult names those that there are, ValueError one that cannot be read."""
        try:
            path = self.folder / f"{experiment}.json"
            return _load(self.folder, experiment, path.stat().st_mtime_ns if path.is_file() else 0)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{self.folder / experiment}.json is no results file: {error}") from None

    def __getitem__(self, reference: str) -> Any:
        """The value at `experiment:path`; MissingResult names what there is instead."""
        experiment, colon, path = reference.partition(":")
        if not colon:
            raise results.MissingResult(f"{reference!r} is not of the form experiment:path")
        result = self.result(experiment)
        try:
            return result[path]
        except results.MissingResult as error:
            raise results.MissingResult(f"{self.folder}: {error}") from None

    def measured(self, reference: str) -> tuple[float, float | None]:
        """The number at a reference with its standard error; None for a plain number, which has none.

        There is a score's `value`, or a `mean`, beside `stderr`. ValueError names the file that has neither.
        """
        found = self[reference]
        fields = found if isinstance(found, Mapping) else {"value": found}
        number, stderr = fields.get("value", fields.get("mean")), fields.get("stderr")
        if isinstance(number, int | float) and isinstance(stderr, int | float | None):
            return number, stderr
        experiment, _, path = reference.partition(":")
        raise ValueError(f"{self.folder / experiment}.json: {path} is {found!r}, no number")


def open_run(folder: Path | str) -> Run:
    """The run of a folder such as build/runs/mini, which holds the results of one profile."""
    profiles = sorted({path.parent.name for path in Path(folder).glob("results/*/*.json")})
    if len(profiles) != 1:
        found = ", ".join(profiles) or "none"
        raise results.MissingResult(
            f"{folder}/results must hold the results of one profile, it holds: {found}"
        )
    return Run(Path(folder) / "results" / profiles[0])


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
        return column.map(lambda value: NONE if pandas.isna(value) else f"{value:,.{decimals}f}")

    return frame.astype(float).apply(text)


@dataclass(frozen=True)
class Stated:
    """One reported number as it was written, and who stated it."""

    text: str
    stated_by: str
    unit: Unit


class Reported(BaseModel):
    """A table of what others reported: row -> column -> a number, words, or nothing.

    A row may be written as a list in the order of `columns`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    about: str
    stated_by: Literal["authors", "secondary summary", "public evaluations"]
    unit: Unit = "percent"
    columns: list[str]
    rows: dict[str, dict[str, float | str | None]]

    @model_validator(mode="before")
    @classmethod
    def _rows_by_column(cls, given: Any) -> Any:
        rows, columns = (
            (given.get(key) for key in ("rows", "columns")) if isinstance(given, Mapping) else (0, 0)
        )
        if not isinstance(rows, Mapping) or not isinstance(columns, list | None):
            return given
        by_column = {}
        for name, row in rows.items():
            if columns is None and isinstance(row, Mapping):
                by_column[name] = {str(column): value for column, value in row.items()}
            elif columns is not None and isinstance(row, list) and len(row) == len(columns):
                by_column[name] = dict(zip(columns, row, strict=True))
            else:
                wanted = "name its columns" if columns is None else f"be a list of {len(columns)} values"
                raise ValueError(f"row {name!r} must {wanted}")
        if columns is None:
            columns = list(dict.fromkeys(column for row in by_column.values() for column in row))
        return {**given, "columns": columns, "rows": by_column}

    def stated(self, row: str, column: str) -> Stated | None:
        """One cell, None where nothing is reported; ValueError names the rows or columns that there are."""
        if row not in self.rows:
            raise ValueError(f"{self.about}: {row!r} is not among the rows {', '.join(self.rows)}")
        if column not in self.columns:
            raise ValueError(f"{self.about}: {column!r} is not among the columns {', '.join(self.columns)}")
        value = self.rows[row].get(column)
        if value is None:
            return None
        text = value if isinstance(value, str) else f"{value:.2f}" if self.unit == "percent" else f"{value:g}"
        return Stated(text, self.stated_by, self.unit)


def reported(path: Path) -> dict[str, Reported]:
    """The tables of a YAML file by name; ValueError as of `from_yaml`."""
    return from_yaml(path, dict[str, Reported])


def from_yaml(path: Path, kind: Any) -> Any:
    """What a YAML file holds, as a type that pydantic knows; ValueError names the file and what is wrong."""
    try:
        return TypeAdapter(kind).validate_python(yaml.safe_load(path.read_text()))
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from None
    except ValidationError as error:
        raise ValueError(f"{path}: {fault(error)}") from None


def fault(error: ValidationError) -> str:
    """The first fault that pydantic found, where and what, in one line."""
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


class Seeds(Protocol):
    """The same results with several seeds, as comparisons.Reference has them."""

    @property
    def runs(self) -> Mapping[int, Run]: ...


def three_columns(
    rows: Mapping[str, tuple[Stated | None, str | None]],
    reference: Seeds | None,
    run: Run,
    *,
    unit: Unit = "percent",
) -> "pandas.DataFrame":
    """What was reported, the reference run and your run, side by side and never mixed: text by label.

    rows: label -> what was reported, and the `experiment:path` of a score, a mean or a number. None is a
    dash, and so is in your run what it has no part for, such as an arm that it did not train. unit: of what
    was reported and of what is printed. ValueError where units or profiles differ.
    """
    import pandas

    said = [stated for stated, _ in rows.values() if stated is not None]
    for stated in said:
        if stated.unit != unit:
            raise ValueError(f"{stated.text} was reported as a {stated.unit}, the table's unit is {unit}")
    authors = list(dict.fromkeys(stated.stated_by for stated in said))
    columns = {
        _reported_header(authors): [_stated_cell(stated, len(authors) > 1) for stated, _ in rows.values()],
        _reference_header(reference, run.profile): [
            _over_seeds(reference, path, unit) for _, path in rows.values()
        ],
        f"your run of {run.profile} (± s.e.)": [_in_run(run, path, unit) for _, path in rows.values()],
    }
    return pandas.DataFrame(columns, index=list(rows))


def _reported_header(authors: Iterable[str]) -> str:
    people = " or ".join(authors)
    return f"reported (stated by {people})" if people else "reported"


def _reference_header(reference: Seeds | None, profile: str) -> str:
    if reference is None:
        return f"no reference run of {profile}"
    profiles = {run.profile for run in reference.runs.values()}
    if profiles != {profile}:
        raise ValueError(f"the reference run is of {', '.join(sorted(profiles))}, your run of {profile}")
    return f"reference run of {profile} (mean, 95 % over seeds)"


def _stated_cell(stated: Stated | None, named: bool) -> str:
    if stated is None:
        return NONE
    return f"{stated.text} ({stated.stated_by})" if named else stated.text


def _over_seeds(reference: Seeds | None, path: str | None, unit: Unit) -> str:
    if reference is None or path is None:
        return NONE
    factor, decimals = SHOWN[unit]
    estimate = statistics.over_seeds([run.measured(path)[0] for run in reference.runs.values()])
    mean, low, high = (f"{factor * number:.{decimals}f}" for number in estimate)
    return f"{mean} ({low} to {high})"


def _in_run(run: Run, path: str | None, unit: Unit) -> str:
    if path is None:
        return NONE
    experiment, _, inside = path.partition(":")
    if inside and inside.split("/")[0] not in run.result(experiment).values:
        return NONE
    factor, decimals = SHOWN[unit]
    value, stderr = run.measured(path)
    error = "" if stderr is None else f" ± {factor * stderr:.{decimals}f}"
    return f"{factor * value:.{decimals}f}{error}"
