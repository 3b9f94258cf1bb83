"""`slipform plant` and `slipform data` as a user says them."""

from pathlib import Path

import pytest
import torch
from made_up_encoder import MadeUpEncoder
from photo_task import write_task
from real_data import DATA, needs_data
from test_main import ROOT, call

from slipform_core import results, sentences
from slipform_core.shards import read_manifest

SMALL = "shard_captions=20 side=32"


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch):
    monkeypatch.chdir(ROOT)
    encoder = MadeUpEncoder(common=0.3)
    monkeypatch.setattr(sentences, "encoder", lambda model="", device="cpu": encoder)


@pytest.fixture(scope="module")
def task(tmp_path_factory) -> Path:
    return write_task(tmp_path_factory.mktemp("task"), pictures=30)


def test_one_command_makes_shards_and_a_page(task, tmp_path, monkeypatch, capsys):
    words = ["plant", str(task), "--out", str(tmp_path), "--settings", SMALL, "--shown", "5"]
    assert call(words, monkeypatch) == 0
    said = capsys.readouterr().out
    kept = sum(shard.records for shard in read_manifest(tmp_path))
    assert said.startswith("60 captions of 30 pictures\n")
    assert f"{kept} hard negatives of 60 captions" in said
    assert f"samples: {tmp_path / 'samples.html'}" in said
    page = (tmp_path / "samples.html").read_text()
    assert page.count("<article") == min(kept, 5)
    assert "http" not in page.replace("http-equiv", "")
    noted = results.load(tmp_path, "plant")
    assert (noted["captions"], noted["pictures"], noted["kept"]) == (60, 30, kept)
    assert noted["kept"] + sum(noted["rejected"].values()) == 60
    assert noted.made["config"]["choose"] == "hc" and noted.made["config"]["source"] == str(task)


def test_a_dry_run_writes_nothing(task, tmp_path, monkeypatch, capsys):
    words = ["plant", str(task), "--out", str(tmp_path / "out"), "--dry-run"]
    assert call(words, monkeypatch) == 0
    assert "have a word to change" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nowhere.csv"], "nowhere.csv does not exist"),
        (["README.md"], "what kind of source is README.md"),
        (["tests", "--kind", "cocoo"], "unknown kind of source 'cocoo'"),
        (["tests", "--profile", "phto"], "unknown profile 'phto'; the profiles are: paper, photo"),
        (["tests", "--settings", "choose=hard"], "choose = 'hard'"),
        (["tests", "--stage", "words"], "unknown stage 'words'"),
        (["tests", "--part", "9/8"], "part '9/8' is not like 2/8"),
        (["tests"], "the source has no captions"),
        (
            ["tests", "--profile", "paper"]
            + ["--settings", "rewriter.engine=transformers rewriter.device=cpu editor.strength=0.1"],
            "steps 2 x strength 0.1",
        ),
        *(
            (["tests", "--profile", "paper", "--stage", "pictures", "--settings", settings], says)
            for settings, says in (
                ("editor.dtype=fp16", "unknown dtype 'fp16'; there are: float32"),
                ("editor.side=500", "side is 500: it is a multiple of 8"),
                ("editor.model=tests editor.revision=main", "is a folder, which has no revision"),
            )
        ),
    ],
)
def test_a_mistake_is_one_line_and_writes_nothing(words, says, tmp_path, monkeypatch, capsys):
    assert call(["plant", *words, "--out", str(tmp_path / "out")], monkeypatch) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_pictures_that_lie_elsewhere_are_said_before_any_work(task, tmp_path, monkeypatch, capsys):
    words = ["plant", str(task), "--images", str(tmp_path), "--out", str(tmp_path / "out")]
    assert call(words, monkeypatch) == 2
    said = capsys.readouterr().err
    assert f"none of the 30 pictures is there, the first would be {tmp_path}/" in said
    assert "--images" in said
    assert not (tmp_path / "out").exists()
    assert call([*words, "--stage", "text", "--settings", SMALL], monkeypatch) == 0


def test_a_device_that_is_not_here_is_said_before_any_work(tmp_path, monkeypatch, capsys):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    words = ["plant", "tests", "--profile", "paper", "--stage", "pictures", "--out", str(tmp_path / "out")]
    assert call(words, monkeypatch) == 2
    assert "device is 'cuda', and torch finds no GPU here" in capsys.readouterr().err


def test_gated_and_unknown_data_are_said_in_one_line(tmp_path, monkeypatch, capsys):
    assert call(["data", "fetch", "winoground", "--to", str(tmp_path)], monkeypatch) == 2
    assert "winoground is gated: accept its terms" in capsys.readouterr().err
    assert call(["data", "fetch", "flikr8k"], monkeypatch) == 2
    assert "did you mean 'flickr8k'" in capsys.readouterr().err


@needs_data
def test_data_check_counts_and_fails_where_something_is_missing(tmp_path, monkeypatch, capsys):
    assert call(["data", "check", "flickr8k", str(DATA / "flickr8k")], monkeypatch) == 0
    assert "captions: 40,455" in capsys.readouterr().out
    (tmp_path / "captions.txt").write_text("image,caption\na.jpg,x\n")
    assert call(["data", "check", "flickr8k", str(tmp_path)], monkeypatch) == 1
    assert "FAILED" in capsys.readouterr().out
