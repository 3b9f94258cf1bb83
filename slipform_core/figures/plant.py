"""Hard negatives of photographs: what runs read and made, what readers say of them, from results/plant."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from slipform_core import results
from slipform_core.figures.theme import COLOURS

VERDICTS = "quality"
QUESTIONS = {"grammatical": 85, "false": 85, "one_place": 100, "sensible": 60}  # and their aims, in percent
NOT_YET = "not measured yet"

Noted = Mapping[str, results.Result]


def noted(folder: str) -> Noted:
    """The notes of runs, `<folder>/<name>/plant.json`, by name."""
    return {
        path.parent.name: results.load(path.parent, "plant")
        for path in sorted(Path(folder).glob("*/plant.json"))
    }


def runs(notes: Noted) -> pd.DataFrame:
    """A row a run: what it read, made, by what, and how long it took on what."""
    rows = {}
    for name, note in notes.items():
        config, machine = note.made["config"], note.made["machine"]
        rows[name] = {
            "captions": f"{note['captions']:,}",
            "pictures": f"{note['pictures']:,}",
            "word": config["choose"],
            "rewriter": config["rewriter"]["kind"],
            "editor": config["editor"]["kind"],
            "kept": f"{note['kept']:,}",
            "minutes": round(note.made["seconds"] / 60, 1),
            "cores": machine["cores"],
        }
    return pd.DataFrame(rows).T if rows else pd.DataFrame({"runs": [NOT_YET]})


def rejections(notes: Noted) -> pd.DataFrame:
    """Percent of a run's captions, a column a run, kept and rejected by reason."""
    columns = {}
    for name, note in notes.items():
        counts = {"kept": note["kept"]} | note["rejected"]
        total = sum(counts.values())
        columns[name] = {reason: 100 * count / total for reason, count in counts.items()}
    if not columns:
        return pd.DataFrame({"captions": [NOT_YET]})
    return pd.DataFrame(columns).fillna(0).round(2)


def verdicts(folder: str) -> dict[str, Any] | None:
    """What readers said, `<folder>/quality.json`, or None."""
    path = Path(folder) / f"{VERDICTS}.json"
    return json.loads(path.read_text())["values"] if path.is_file() else None


def quality(found: Mapping[str, Any] | None) -> Figure | None:
    """Shares of yes with their intervals, a panel a question, a row a set, and the aim."""
    if not found:
        return None
    names = list(found["sets"])
    figure, panels = plt.subplots(1, len(QUESTIONS), figsize=(9, 0.5 * len(names) + 1.4), sharey=True)
    rows = np.arange(len(names))[::-1]
    for panel, (question, aim) in zip(panels, QUESTIONS.items(), strict=True):
        shares = [found["sets"][name][question] for name in names]
        middle = 100 * np.array([share["share"] for share in shares])
        ends = 100 * np.array([[share["low"], share["high"]] for share in shares]).T
        panel.hlines(rows, *ends, color=COLOURS[0], linewidth=3, alpha=0.5)
        panel.plot(middle, rows, "o", color=COLOURS[0])
        panel.axvline(aim, color=COLOURS[1], linestyle="--")
        panel.set(title=question.replace("_", " "), xlim=(0, 103), yticks=rows, yticklabels=names)
        panel.set_xlabel("%")
    plt.close(figure)  # shown once, as the value of its cell
    return figure


def agreement(found: Mapping[str, Any] | None) -> pd.DataFrame:
    """Percent of the items on which two readers gave the same answer."""
    if not found or not found["agreement"]:
        return pd.DataFrame({"readers": [NOT_YET]})
    return (
        (100 * pd.DataFrame(found["agreement"]).T)
        .round(1)
        .rename(columns=lambda name: name.replace("_", " "))
    )


def text_probe(found: Mapping[str, Any] | None) -> pd.DataFrame:
    """Percent that text alone gives away, with its standard error, and the most telling words."""
    if not found:
        return pd.DataFrame({"probe": [NOT_YET]})
    rows = {}
    for name, values in found["sets"].items():
        probe = values["text probe"]
        rows[name] = {
            kind: f"{100 * probe[kind]['value']:.1f} ± {100 * probe[kind]['stderr']:.1f}"
            for kind in ("single", "pair")
        }
        rows[name]["telling words"] = ", ".join(word for word, _ in probe["words"][:6])
    return pd.DataFrame(rows).T
