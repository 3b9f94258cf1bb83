"""Tables: numbers from results as a reader wants to see them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scipy import stats

from slipform_core import results, tables

REPORTED = Path(__file__).parent.parent / "book" / "reported.yml"
OBJECTS = "composition:hc/objects"
SEEDS = [0.90, 0.92, 0.96]


def test_scores_stand_in_percent_with_their_standard_error() -> None:
    scores = {
        "base": {"swap_obj": {"value": 0.5, "stderr": 0.0158}},
        "plain": {"swap_obj": {"value": 1, "stderr": 0}},
    }
    assert tables.percent(scores).to_dict() == {
        "base": {"swap_obj": "50.0 ± 1.6"},
        "plain": {"swap_obj": "100.0 ± 0.0"},
    }


def test_whole_columns_have_no_decimals_and_nothing_is_a_dash() -> None:
    table = pd.DataFrame({"steps": [1200, 3], "share": [0.51234, None]})
    assert tables.shown(table, 2).values.tolist() == [["1,200", "0.51"], ["3", "–"]]


@dataclass
class Seeds:
    """As comparisons.Reference is, for a room that knows nothing of it."""

    runs: dict[int, tables.Run]


def write(folder: Path, values: dict[str, Any]) -> tables.Run:
    results.write(folder, results.Result("composition", "mini", values, {}))
    return tables.Run(folder)


@pytest.fixture
def run(tmp_path: Path) -> tables.Run:
    values = {"hc": {"objects": {"value": 0.875, "count": 8, "stderr": 0.02}, "share": {"mean": 0.25}}}
    return write(tmp_path / "run" / "results" / "mini", values)


@pytest.fixture
def seeds(tmp_path: Path) -> Seeds:
    def values(score: float) -> dict[str, Any]:
        return {"hc": {"objects": {"value": score}, "share": {"mean": score}}, "lc": {"objects": score}}

    folder = tmp_path / "results" / "mini"
    return Seeds({n: write(folder / f"seed-{n}", values(score)) for n, score in enumerate(SEEDS)})


def over_seeds(factor: int, form: str) -> str:
    """By SciPy's t test."""
    low, high = stats.ttest_1samp(SEEDS, 0).confidence_interval(0.95)
    mean, low, high = (format(factor * number, form) for number in (sum(SEEDS) / 3, low, high))
    return f"{mean} ({low} to {high})"


def test_what_was_reported_is_read_as_it_was_written() -> None:
    reported = tables.reported(REPORTED)
    assert reported["table2"].stated("NegCLIP", "Winoground text") == tables.Stated(
        "30.50", "authors", "percent"
    )
    assert reported["table2"].stated("DeGLA", "Winoground text") is None
    assert (
        reported["static_margin"].stated("hc static 1", "SugarCrepe++ I2T").stated_by == "secondary summary"
    )
    assert reported["table1"].stated("hc", "t2i") == tables.Stated("0.5087", "authors", "fraction")
    assert reported["figure6"].columns == ["256", "1024"]
    assert reported["figure6"].stated("InfoNCE", "1024").text == "below 0.20"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("t: {about: a, stated_by: authors, rows: {x: {y: 1}}, source: me}", "t.source: Extra inputs"),
        ("t: {about: a, stated_by: me, rows: {x: {y: 1}}}", "t.stated_by: Input should be 'authors', "),
        ("t: {about: a, stated_by: authors, unit: points, rows: {x: {y: 1}}}", "t.unit: Input should be"),
        ("t: {about: a, stated_by: authors, columns: [y, z], rows: {x: [1]}}", "row 'x' must be a list of 2"),
        ("t: {about: a, stated_by: authors, rows: {x: [1]}}", "row 'x' must name its columns"),
        ("t: {about: a, stated_by: authors, columns: 3, rows: {x: [1]}}", "t.columns: Input should be"),
        ("t: [", "expected the node content"),
        ("", "Input should be a valid dictionary"),
    ],
)
def test_a_malformed_table_names_its_file_and_the_fault(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "reported.yml"
    path.write_text(text)
    with pytest.raises(ValueError) as caught:
        tables.reported(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert says in str(caught.value)


def test_a_cell_that_no_table_has_names_those_it_has() -> None:
    table = tables.reported(REPORTED)["data_ablation"]
    with pytest.raises(ValueError, match="'Cement' is not among the rows hc InfoNCE, wo InfoNCE"):
        table.stated("Cement", "macro")
    with pytest.raises(ValueError, match="'group' is not among the columns macro"):
        table.stated("hc Cement", "group")


def test_three_sources_stand_side_by_side_and_a_cell_holds_one(seeds: Seeds, run: tables.Run) -> None:
    rows = {
        "all three": (tables.Stated("83.00", "authors", "percent"), OBJECTS),
        "ours": (None, "composition:hc/share"),
        "not trained here": (None, "composition:lc/objects"),
        "theirs": (tables.Stated("75.38", "authors", "percent"), None),
    }
    frame = tables.three_columns(rows, seeds, run)
    assert list(frame.index) == list(rows)
    assert frame.to_dict("list") == {
        "reported (stated by authors)": ["83.00", "–", "–", "75.38"],
        "reference run of mini (mean, 95 % over seeds)": [*[over_seeds(100, ".1f")] * 3, "–"],
        "your run of mini (± s.e.)": ["87.5 ± 2.0", "25.0", "–", "–"],
    }


def test_without_a_reference_run_its_column_says_so(run: tables.Run) -> None:
    frame = tables.three_columns({"hc": (None, OBJECTS)}, None, run)
    assert frame.to_dict("list") == {
        "reported": ["–"],
        "no reference run of mini": ["–"],
        "your run of mini (± s.e.)": ["87.5 ± 2.0"],
    }


def test_fractions_stay_fractions_and_every_author_is_named(seeds: Seeds, run: tables.Run) -> None:
    stated = [tables.Stated("0.83", who, "fraction") for who in ("authors", "secondary summary")]
    rows = {"hc": (stated[0], OBJECTS), "lc": (stated[1], None)}
    frame = tables.three_columns(rows, seeds, run, unit="fraction")
    assert frame.iloc[0].tolist() == ["0.83 (authors)", over_seeds(1, ".3f"), "0.875 ± 0.020"]
    assert frame.columns[0] == "reported (stated by authors or secondary summary)"
    assert frame.iloc[1, 0] == "0.83 (secondary summary)"


def spoil_unit(rows: dict, seeds: Seeds) -> None:
    rows["hc"] = (tables.Stated("0.83", "authors", "fraction"), OBJECTS)


def spoil_profile(rows: dict, seeds: Seeds) -> None:
    folder = seeds.runs[0].folder
    seeds.runs[2] = tables.Run(folder.parent.parent / "smoke" / "seed-2")


def spoil_path(rows: dict, seeds: Seeds) -> None:
    rows["hc"] = (None, "composition:hc/nowhere")


def spoil_score(rows: dict, seeds: Seeds) -> None:
    write(seeds.runs[1].folder, {"hc": {"objects": {"value": "high"}}})


def spoil_file(rows: dict, seeds: Seeds) -> None:
    (seeds.runs[1].folder / "composition.json").write_text("[1]")


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (spoil_unit, "0.83 was reported as a fraction, the table's unit is percent"),
        (spoil_profile, "the reference run is of mini, smoke, your run of mini"),
        (spoil_path, "seed-0: composition.json has no value 'hc/nowhere'"),
        (spoil_score, "seed-1/composition.json: hc/objects is {'value': 'high'}, no number"),
        (spoil_file, "seed-1/composition.json is no results file"),
    ],
)
def test_what_does_not_fit_is_refused(
    spoil: Callable[[dict, Seeds], None], says: str, seeds: Seeds, run: tables.Run
) -> None:
    rows = {"hc": (None, OBJECTS)}
    spoil(rows, seeds)
    with pytest.raises((ValueError, results.MissingResult), match=says.replace("{", "[{]")):
        tables.three_columns(rows, seeds, run)
