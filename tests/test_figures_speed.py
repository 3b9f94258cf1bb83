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
