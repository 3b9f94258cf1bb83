"""Table 1 and the rest about ConcreteBatch by choice: how c is spread, and what text alone tells."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from slipform_core import statistics
from slipform_core.figures.arms import Look, intervals
from slipform_core.figures.effects import signed
from slipform_core.figures.theme import COLOURS, INK
from slipform_core.statistics import Estimate

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    Sources = Mapping[str, Sequence[Mapping[str, Any]]]  # whose numbers they are -> values of each seed

CHOICES = {
    "hc": "hc, concrete words",
    "wo": "wo, any words",
    "lc": "lc, abstract words",
    "swap": "swap, two exchanged",
}
MEASURES = {
    "i2t": "I2T accuracy",
    "t2i": "T2I accuracy",
    "image_similarity": "picture similarity",
    "text_similarity": "text similarity",
    "concreteness": "mean c",
}


class Reported(Protocol):
    """A reported table, as tables.Reported is."""

    rows: Mapping[str, Any]
    columns: Sequence[str]

    def stated(self, row: str, column: str) -> Any: ...


def table_1(judged: Sequence[Mapping[str, Any]], reported: Reported) -> dict[str, tuple[Any, str]]:
    """Rows for `tables.three_columns`: label -> what was reported, and where a results file has ours.

    judged: the values of `judged` of every seed of every source. A part without records in one of them has no
    rows. The row that was reported for words with c < 3 stands beside those of "wo".
    """
    rows = {}
    for choice, part in _parts(judged):
        row = {"all": choice, "abstract": "c < 3" if choice == "wo" else ""}[part]
        for measure, label in MEASURES.items():
            known = row in reported.rows and measure in reported.columns
            stated = reported.stated(row, measure) if known else None
            rows[_label(choice, part) + f": {label}"] = (stated, f"judged:{choice}/{part}/{measure}")
    return rows


def _parts(judged: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    return [
        (choice, part)
        for choice in CHOICES
        for part in ("all", "abstract")
        if (counts := [of[choice][part]["count"] for of in judged if choice in of]) and min(counts)
    ]


def _label(choice: str, part: str) -> str:
    return CHOICES[choice] + (", c < 3 alone" if part == "abstract" else "")


def counts(sources: "Sources") -> "pandas.DataFrame":
    """How many records each choice has, and how many of c < 3: a mean over a source's seeds, as text."""
    import pandas

    cells = {
        name: {
            _label(choice, part): f"{np.mean([of[choice][part]['count'] for of in seeds]):,.0f}"
            for choice in CHOICES
            for part in ("all", "abstract")
            if choice in seeds[0]
        }
        for name, seeds in sources.items()
    }
    return pandas.DataFrame(cells).fillna("–")


def histograms(sources: "Sources", bins: Sequence[float]) -> "Figure":
    """A panel a choice: the share of its records in each bin of c, a line a source, its seeds together.

    sources: the values of `negatives` of each seed.
    """
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 2, figsize=(7.2, 5.2), sharex=True, sharey=True)
    for axes, (choice, title) in zip(panels.flat, CHOICES.items(), strict=True):
        for nth, (name, seeds) in enumerate(sources.items()):
            heights = _shares([of[choice]["all"] for of in seeds if choice in of])
            if heights is not None:
                style = {"color": COLOURS[nth + 1], "label": name, "linewidth": 1.8}
                axes.stairs(heights, bins, fill=nth == 0, alpha=0.35 if nth == 0 else 1, **style)
        axes.set_title(title, fontsize="medium")
        axes.axvline(4, color=COLOURS[0], linestyle=":")
    figure.supxlabel("concreteness $c$", fontsize="medium")
    figure.supylabel("share of the records", fontsize="medium")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def _shares(spread: Sequence[Mapping[str, Any]]) -> "np.ndarray | None":
    heights = [of["histogram"] for of in spread if of["count"]]
    return np.sum(heights, axis=0) / np.sum(heights) if heights else None


def probes(blind: Sequence[Mapping[str, Any]]) -> dict[str, Estimate]:
    """What a text-only probe gets right of pairs, by set, in percent.

    blind: the values of `blind` of each seed. The mean and interval over seeds, or of one seed its own with
    1.96 standard errors to each side.
    """
    sets = [(CHOICES[name], "negatives", name) for name in CHOICES if name in blind[0]["negatives"]]
    sets += [(name.removeprefix("sugarcrepe/"), "benchmark", name) for name in blind[0]["benchmark"]]
    found = {}
    for label, kind, name in sets:
        pairs = [of[kind][name]["pair"] for of in blind]
        if len(pairs) > 1:
            found[label] = statistics.over_seeds([100 * pair["value"] for pair in pairs])
        else:
            value, half = 100 * pairs[0]["value"], 196 * pairs[0]["stderr"]
            found[label] = Estimate(value, value - half, value + half)
    return found


def probe_figure(found: Mapping[str, Mapping[str, Estimate]]) -> "Figure":
    """What text alone tells, source -> set -> percent, a row a set; the line is what guessing gives."""
    import matplotlib.pyplot as plt

    looks = [Look(COLOURS[1], "-", "o"), Look(COLOURS[2], "-", "D")]
    figure, axes = plt.subplots(figsize=(7.0, 6.4))
    intervals(axes, found, dict(zip(found, looks, strict=False)))
    axes.axvline(50, color=INK, linestyle=":")
    axes.set_xlabel("pairs told apart by text alone, %")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center")
    return figure


def telling(blind: Sequence[Mapping[str, Any]], count: int) -> "pandas.DataFrame":
    """The n-grams that tell most of each set, with their weights: above 0 they speak for a caption.

    blind: the values of `blind` of each seed. Those first that most seeds name, then those of the largest
    mean weight, `count` of them.
    """
    import pandas

    columns = {}
    for choice in [name for name in CHOICES if name in blind[0]["negatives"]]:
        weights: dict[str, list[float]] = {}
        for of in blind:
            for ngram, weight in of["negatives"][choice]["words"]:
                weights.setdefault(ngram, []).append(weight)
        means = {ngram: float(np.mean(of)) for ngram, of in weights.items()}
        order = sorted(means, key=lambda ngram: (-len(weights[ngram]), -abs(means[ngram])))
        columns[CHOICES[choice]] = pandas.Series(
            [f"{ngram} {signed(means[ngram], 2)}" for ngram in order[:count]]
        )
    return pandas.DataFrame(columns).fillna("–").rename(index=lambda place: place + 1)
