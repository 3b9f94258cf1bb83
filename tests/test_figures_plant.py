"""What the page of your own data says of runs and of readers, from files that the tests write."""

import json

import matplotlib.pyplot as plt
import pytest

from slipform_core import results
from slipform_core.figures import plant

SHARE = {"share": 0.9, "low": 0.8, "high": 0.95}
PROBE = {"value": 0.7, "stderr": 0.01}
SET = dict.fromkeys(plant.QUESTIONS, SHARE) | {
    "text probe": {
        "single": PROBE,
        "pair": {"value": 0.8, "stderr": 0.02},
        "words": [["cat", -1.0], ["dog", 0.5]],
    }
}
READ = {"sets": {"one": SET, "two": SET}, "agreement": {"a and b": {"false": 0.955, "one_place": 1.0}}}


@pytest.fixture
def folder(tmp_path):
    made = {
        "config": {"choose": "lc", "rewriter": {"kind": "lexical"}, "editor": {"kind": "retrieve"}},
        "machine": {"cores": 2},
        "seconds": 90.0,
    }
    values = {"captions": 40, "pictures": 8, "kept": 30, "rejected": {"unchanged": 9, "tiny picture": 1}}
    results.write(tmp_path / "mine", results.Result("plant", "photo", values, made))
    (tmp_path / "quality.json").write_text(json.dumps({"made": {}, "values": READ}))
    return tmp_path


def test_runs_and_what_became_of_their_captions(folder):
    notes = plant.noted(str(folder))
    row = plant.runs(notes).loc["mine"]
    assert dict(row) == {
        "captions": "40",
        "pictures": "8",
        "word": "lc",
        "rewriter": "lexical",
        "editor": "retrieve",
        "kept": "30",
        "minutes": 1.5,
        "cores": 2,
    }
    assert dict(plant.rejections(notes)["mine"]) == {"kept": 75, "unchanged": 22.5, "tiny picture": 2.5}


def test_readers_are_shown_with_intervals_and_aims(folder):
    found = plant.verdicts(str(folder))
    figure = plant.quality(found)
    assert [panel.get_title() for panel in figure.axes] == ["grammatical", "false", "one place", "sensible"]
    for panel, aim in zip(figure.axes, (85, 85, 100, 60), strict=True):
        dots, line = panel.lines
        assert list(dots.get_xdata()) == [90, 90] and list(line.get_xdata()) == [aim, aim]
        [bars] = panel.collections
        assert [segment[:, 0].tolist() for segment in bars.get_segments()] == [pytest.approx([80, 95])] * 2
    plt.close(figure)
    assert plant.agreement(found).loc["a and b", "false"] == 95.5
    assert dict(plant.text_probe(found).loc["two"]) == {
        "single": "70.0 ± 1.0",
        "pair": "80.0 ± 2.0",
        "telling words": "cat, dog",
    }


def test_what_was_not_measured_says_so(tmp_path):
    notes, found = plant.noted(str(tmp_path)), plant.verdicts(str(tmp_path))
    assert (notes, found, plant.quality(found)) == ({}, None, None)
    for frame in (
        plant.runs(notes),
        plant.rejections(notes),
        plant.agreement(found),
        plant.text_probe(found),
    ):
        assert set(frame.to_numpy().flat) == {"not measured yet"}
