"""Results files: whole or not at all, with numbers only, and errors that name what there is."""

import json
from pathlib import Path

import pytest

from slipform_core import results
from slipform_core.results import MissingResult, Result

MADE = results.provenance(
    command="slipform run", config={"seed": 3}, fingerprint="0123456789ab", code="ba9876543210", seconds=1.26
)


def result(values: dict) -> Result:
    return Result("composition", "mini", values, MADE)


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = result({"base": {"swap_obj": {"i2t": {"value": 0.1 + 0.2, "count": 7}}}})
    path = results.write(tmp_path, written)
    assert path == tmp_path / "composition.json"
    assert results.load(tmp_path, "composition") == written
    assert written["base/swap_obj/i2t/value"] == 0.30000000000000004
    assert written["base/swap_obj"] == {"i2t": {"value": 0.1 + 0.2, "count": 7}}


def test_seven_entries_survive_in_one_file(tmp_path: Path) -> None:
    values = {f"subset_{i}": {"i2t": i / 7} for i in range(7)}
    results.write(tmp_path, result(values))
    assert results.load(tmp_path, "composition").values == values


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("bass", "'bass' is not among base, plain"),
        ("base/swap", "'swap' is not among swap_obj, swap_att"),
        ("base/swap_obj/i2t", "'i2t' is not among none: it is a leaf"),
    ],
)
def test_a_missing_value_names_the_keys_of_its_level(path: str, says: str) -> None:
    values = result({"base": {"swap_obj": 0.5, "swap_att": 0.5}, "plain": {}})
    with pytest.raises(MissingResult) as missing:
        values[path]
    assert says in str(missing.value) and repr(path) in str(missing.value)


def test_a_missing_file_names_the_files_of_its_folder(tmp_path: Path) -> None:
    with pytest.raises(MissingResult, match="there are: none"):
        results.load(tmp_path, "training")
    results.write(tmp_path, result({}))
    with pytest.raises(MissingResult, match=r"training\.json; there are: composition"):
        results.load(tmp_path, "training")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}])
def test_what_is_no_number_is_refused_and_the_old_file_stands(value: object, tmp_path: Path) -> None:
    path = results.write(tmp_path, result({"base": 0.5}))
    before = path.read_text()
    with pytest.raises((ValueError, TypeError)):
        results.write(tmp_path, result({"base": value}))
    assert path.read_text() == before
    assert [found.name for found in path.parent.iterdir()] == ["composition.json"]


def test_a_write_that_dies_leaves_the_old_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "deep" / "words.json"
    results.write_text(path, "old")

    def half(self: Path, text: str, encoding: str) -> None:
        with self.open("w") as stream:
            stream.write(text[:1])
        raise OSError("the disk is full")

    monkeypatch.setattr(Path, "write_text", half)
    with pytest.raises(OSError, match="full"):
        results.write_text(path, "new")
    assert path.read_text() == "old"


def test_a_result_says_how_it_was_made() -> None:
    assert MADE["command"] == "slipform run" and MADE["config"] == {"seed": 3} and MADE["seconds"] == 1.3
    assert MADE["fingerprint"] == "0123456789ab" and MADE["code"] == "ba9876543210"
    assert set(results.VERSIONED) < set(MADE["versions"]) and MADE["machine"]["cores"] >= 1
    assert json.loads(json.dumps(MADE)) == MADE
