"""The survey of words, as the base sees them before fine-tuning: Figures 4 and 5.

A frame has a row a record, seeds pooled; scenes of different seeds are different scenes. Gaps are in logits.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.random import Generator

from slipform_core import statistics
from slipform_core.figures.effects import Effect, cells, signed
from slipform_core.figures.theme import PAPER, palette
from slipform_core.figures.words import invisible_words
from slipform_core.results import Result
from slipform_core.statistics import Curve, Estimate

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Frames = Mapping[str, pandas.DataFrame]  # whose numbers they are -> frame

FRAC = 2 / 3  # the plan's
POINTS, DRAWS = 40, 200  # of a curve and its band
ALL, VISIBLE = "all words", "words with a referent"


class Results(Protocol):
    """A run's results, as tables.Run has them."""

    @property
    def profile(self) -> str: ...

    def result(self, experiment: str) -> Result: ...


class Seeds(Protocol):
    """The same with several seeds, as comparisons.Reference has them."""

    @property
    def runs(self) -> Mapping[int, Results]: ...


def sources(reference: Seeds | None, run: Results) -> dict[str, Mapping[int, Results]]:
    """Whose numbers a page shows, by the name in its figures: the reference run, if any, and yours."""
    found: dict[str, Mapping[int, Results]] = {}
    if reference is not None:
        found[f"reference run of {run.profile}, {len(reference.runs)} seeds"] = reference.runs
    seed = run.result("survey").made["config"]["seed"]
    return found | {f"your run of {run.profile}, one seed": {seed: run}}


def survey(runs: Mapping[int, Results]) -> "pandas.DataFrame":
    """The surveys of several seeds as one frame, logits at the base's logit scale after its last steps.

    Added to the columns: seed, logit_i2t and logit_t2i, right_i2t and right_t2i (1 where the gap is above 0),
    text_distance (1 - cosine), log_frequency (log(1 + times)), visible (whether the word has a referent).
    """
    import pandas

    parts = [
        pandas.DataFrame(dict(run.result("survey").values)).assign(
            seed=seed, scale=run.result("training")["base/last/scale"]
        )
        for seed, run in runs.items()
    ]
    frame = pandas.concat(parts, ignore_index=True)
    frame["scene"] = frame.groupby(["seed", "scene"]).ngroup()
    for way in ("i2t", "t2i"):
        frame[f"logit_{way}"] = frame[f"gap_{way}"] * frame["scale"]
        frame[f"right_{way}"] = (frame[f"gap_{way}"] > 0).astype(float)
    frame["text_distance"] = 1 - frame["text_similarity"]
    frame["log_frequency"] = np.log1p(frame["frequency"])
    frame["visible"] = ~frame["word"].isin(invisible_words())
    return frame


def curve(frame: "pandas.DataFrame", column: str, *, rng: Generator, draws: int = DRAWS) -> Curve:
    """A column on c by LOESS over the plan's two thirds, with a band from a bootstrap of scenes."""
    c = frame["concreteness"].to_numpy()
    at = np.linspace(c.min(), c.max(), POINTS)
    given = {"clusters": frame["scene"].to_numpy(), "rng": rng, "draws": draws}
    return statistics.loess(c, frame[column].to_numpy(), frac=FRAC, at=at, **given)


def curves(frames: "Frames", columns: Mapping[str, str], *, rng: Generator, draws: int = DRAWS) -> "Figure":
    """A panel a column (column -> title): curves on c, a colour a frame, and the words of the first one.

    A word is a dot at its mean, larger for more records, empty where it has no referent.
    """
    import matplotlib.pyplot as plt

    lines = (len(columns) + 1) // 2
    figure, panels = plt.subplots(lines, 2, figsize=(7.4, 0.9 + 2.8 * lines), sharex=True, squeeze=False)
    colours = palette(["words", *frames])
    for axes in panels.flat[len(columns) :]:
        axes.set_visible(False)
    for axes, (column, title) in zip(panels.flat, columns.items(), strict=False):
        _words(axes, next(iter(frames.values())), column, colours["words"])
        for name, frame in frames.items():
            found = curve(frame, column, rng=rng, draws=draws)
            axes.plot(found.at, found.value, color=colours[name], label=name)
            axes.fill_between(found.at, found.low, found.high, color=colours[name], alpha=0.2, linewidth=0)
        axes.set_title(title, fontsize="medium")
    figure.supxlabel("concreteness $c$", fontsize="medium")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center")
    return figure


def _words(axes: "Axes", frame: "pandas.DataFrame", column: str, colour: str) -> None:
    grouped = frame.groupby("word").agg(
        c=("concreteness", "first"),
        mean=(column, "mean"),
        count=(column, "size"),
        visible=("visible", "first"),
    )
    sizes = 45 * grouped["count"] / grouped["count"].max()
    faces = np.where(grouped["visible"], colour, PAPER)
    axes.scatter(
        grouped["c"], grouped["mean"], sizes, facecolors=faces, edgecolors=colour, alpha=0.45, linewidths=0.8
    )


def correlations(
    frame: "pandas.DataFrame", columns: Sequence[str], *, rng: Generator, draws: int = 200
) -> dict[tuple[str, str], Estimate]:
    """Spearman's correlation of each two columns, once each, with a bootstrap of scenes."""
    clusters = frame["scene"].to_numpy()
    return {
        (one, other): statistics.spearman(
            frame[one].to_numpy(), frame[other].to_numpy(), clusters=clusters, rng=rng, draws=draws
        )
        for place, one in enumerate(columns)
        for other in columns[:place]
    }


def correlation_map(
    found: Mapping[tuple[str, str], Estimate], columns: Mapping[str, str], source: str
) -> "Figure":
    """Correlations as colours, framed where the interval excludes zero; columns: column -> label."""
    import matplotlib.pyplot as plt

    itself = Estimate(1.0, -1.0, 1.0)  # without a frame
    pairs = found | {(other, one): value for (one, other), value in found.items()}
    table = [[Effect(pairs.get((one, other), itself), {}) for other in columns] for one in columns]
    texts = [
        ["" if one == other else signed(pairs[one, other].value, 2) for other in columns] for one in columns
    ]
    figure, axes = plt.subplots(figsize=(6.6, 5.8))
    cells(axes, table, texts, full=100, framed=True)
    axes.set_xticks(range(len(columns)), columns.values(), rotation=40, ha="left", rotation_mode="anchor")
    axes.set_yticks(range(len(columns)), columns.values())
    axes.xaxis.tick_top()
    figure.supxlabel(f"Spearman's $\\rho$; framed: the interval excludes zero\n{source}", fontsize="medium")
    return figure


def correlation_table(
    found: Mapping[str, Mapping[tuple[str, str], Estimate]], columns: Mapping[str, str]
) -> "pandas.DataFrame":
    """The same as text with the intervals, a column a source and a row a pair of columns."""
    import pandas

    return pandas.DataFrame(
        {
            source: {f"{columns[other]}, {columns[one]}": spread(of) for (one, other), of in pairs.items()}
            for source, pairs in found.items()
        }
    )


def spread(estimate: Sequence[float], decimals: int = 2) -> str:
    """An estimate and its interval: "+0.42 (+0.40 to +0.44)"."""
    value, low, high = (signed(number, decimals) for number in estimate)
    return f"{value} ({low} to {high})"


def spearman_table(
    frames: "Frames", columns: Mapping[str, str], *, rng: Generator, draws: int = 200
) -> "pandas.DataFrame":
    """Each column's correlation with c, all words and those with a referent, a column a source, as text."""
    import pandas

    def cell(part: "pandas.DataFrame", column: str) -> str:
        c, clusters = part["concreteness"].to_numpy(), part["scene"].to_numpy()
        return spread(
            statistics.spearman(c, part[column].to_numpy(), clusters=clusters, rng=rng, draws=draws)
        )

    return pandas.DataFrame(
        {
            source: {
                (title, words): cell(part, column)
                for column, title in columns.items()
                for words, part in parts(frame).items()
            }
            for source, frame in frames.items()
        }
    )


def parts(frame: "pandas.DataFrame") -> dict[str, "pandas.DataFrame"]:
    """All words of a frame, and those that have a referent."""
    return {ALL: frame, VISIBLE: frame[frame["visible"]]}
