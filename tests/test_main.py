"""The `slipform` command: what it needs is looked at first, and a mistake is one line and exit code 2."""

import sys
from pathlib import Path

import pytest

from slipform_core import __main__, concreteness, emoji_world

ROOT = Path(__file__).parent.parent


def call(words: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["slipform", *words])
    with pytest.raises(SystemExit) as ended:
        __main__.main()
    return ended.value.code


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["notebook", "notebooks/05_gradients.py", "--out", "x.ipynb", "-p", "rum", "8"],
            "no parameter 'rum'",
        ),
        (
            ["notebook", "notebooks/05_gradients.py", "--out", "x.ipynb", "-p", "run=8"],
            "a parameter is -p NAME VALUE",
        ),
        (["notebook", "nowhere.py", "--out", "x.ipynb"], "no notebook nowhere.py"),
        (["run", "--profile", "nowhere"], "unknown profile 'nowhere'"),
        (["train", "hc_cemnt", "--profile", "smoke"], "unknown arm 'hc_cemnt'; the arms are: plain"),
        (
            ["train", "hc_info_nce", "--profile", "smoke", "--settings", "arms.hc_info_nce.loss=fsc_klip"],
            "arms.hc_info_nce.loss = 'fsc_klip' is none of info_nce, cement",
        ),
        (
            [
                "train",
                "hc_info_nce_double",
                "--profile",
                "smoke",
                "--settings",
                "arms.hc_info_nce_double.batch=9",
            ],
            "train.pictures needs 72 scenes",
        ),
    ],
)
def test_a_mistake_is_one_line(
    words: list[str], says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert call(words, monkeypatch) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1


def test_check_names_what_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(["check"], monkeypatch) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in said] == ["writable", "OpenMoji", "norms", "spaCy"]
    assert "39,954 entries" in said[2]


def refuse(error: Exception) -> None:
    raise error


@pytest.mark.parametrize("missing", ["folder", "font", "norms", "model"])
def test_a_run_stops_before_work_when_something_is_missing(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(__main__.config, "load", lambda *_: None)
    if missing == "folder":
        Path("build").touch()
    elif missing == "font":
        font = emoji_world.MissingFont("no font")
        monkeypatch.setattr(emoji_world, "font_path", lambda: refuse(font))
    elif missing == "norms":
        norms = concreteness.NormsError("no norms")
        monkeypatch.setattr(concreteness.Norms, "load", lambda name: refuse(norms))
    else:
        model = concreteness.MissingModel("no model")
        monkeypatch.setattr(concreteness, "load_pipeline", lambda: refuse(model))
    assert call(["run"], monkeypatch) == 2
    said = capsys.readouterr().err
    assert ("build" if missing == "folder" else f"no {missing}") in said
    assert said.count("\n") == 1
