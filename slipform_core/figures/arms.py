"""Arms side by side, also many: the columns of Table 2, gains of one arm over another, and their figures.

A reference such as "macro" or "sugarcrepe/swap_obj/i2t" names a score in a results file `composition`; a
column is the plain mean of the scores that it refers to. Scores are fractions, a table's cells percent.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from slipform_core import statistics
from slipform_core.figures.theme import COLOURS, INK, PAPER, palette
from slipform_core.metrics import COLUMNS, SUBSETS
from slipform_core.outcomes import Outcomes
from slipform_core.results import Result
from slipform_core.statistics import Estimate

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from numpy.random import Generator

Columns = Mapping[str, Sequence[str]]
Gains = Mapping[str, Mapping[str, Estimate]]  # arm -> column -> points

# Arms that have a colour of their own on every page; those that a plain run trains come first.
MAIN = (
    "base",
    "plain",
    "hc_info_nce",
    "hc_cement",
    "swap_info_nce",
    "lc_info_nce",
    "wo_info_nce",
)
LINES, MARKERS = ("-", "--", ":", "-.", (0, (6, 1, 1, 1, 1, 1))), "osD^v"
_LABELS = {"sugarcrepe": "SugarCrepe", "scpp": "SugarCrepe++", "winoground": "Winoground"}


def _label(benchmark: str, metric: str) -> str:
    if len(COLUMNS[benchmark]) == 1:
        return _LABELS[benchmark]
    return f"{_LABELS[benchmark]} {metric.upper() if benchmark == 'scpp' else metric}"


TABLE_2: Columns = {
    _label(benchmark, metric): [f"{benchmark}/{subset}/{metric}" for subset in SUBSETS[benchmark]]
    for benchmark, metrics in COLUMNS.items()
    for metric in metrics
} | {"macro": ["macro"]}

OBJECTIVES = ("macro", _LABELS["sugarcrepe"], _label("scpp", "itt"))  # what objectives are compared by

# What guessing gets: two captions; two paraphrases that both beat a foil; two captions and two pictures.
CHANCE = {
    "i2t": 1 / 2,
    "t2i": 1 / 2,
    "itt": 1 / 3,
    "tot": 1 / 3,
    "text": 1 / 4,
    "image": 1 / 4,
    "group": 1 / 6,
}

# How a training is drawn among many: its colour says which words were changed, its marker with which loss.
_WORDS = {
    "hc": ("concrete words", "hc_info_nce"),
    "lc": ("abstract words", "lc_info_nce"),
    "wo": ("any words", "wo_info_nce"),
    "swap": ("exchanged words", "swap_info_nce"),
}
_LOSSES = {"info_nce": ("InfoNCE", "o"), "cement": ("a margin", "D")}


class Look(NamedTuple):
    """How an arm is drawn."""

    color: str
    linestyle: str | tuple[int, tuple[int, ...]]
    marker: str


def looks(arms: Sequence[str]) -> dict[str, Look]:
    """How each arm is drawn: MAIN's keep their colour, others take free ones, then other lines and markers.

    ValueError where there are more arms than that.
    """
    main = palette(MAIN)
    taken = {main[arm] for arm in arms if arm in main}
    rest = [arm for arm in arms if arm not in main]
    free = [Look(colour, LINES[0], MARKERS[0]) for colour in COLOURS if colour not in taken]
    free += [Look(colour, *more) for more in zip(LINES[1:], MARKERS[1:], strict=True) for colour in COLOURS]
    if len(rest) > len(free):
        raise ValueError(f"{len(rest)} arms for {len(free)} looks: {', '.join(rest)}")
    others = dict(zip(rest, free, strict=False))
    return {arm: others.get(arm) or Look(main[arm], LINES[0], MARKERS[0]) for arm in arms}


def subsets(result: Result, benchmark: str, *metrics: str) -> Columns:
    """A column for each metric and subset of a benchmark that there is, named by both, or by the subset."""
    return {
        subset if len(metrics) == 1 else f"{subset} {metric}": [f"{benchmark}/{subset}/{metric}"]
        for metric in metrics
        for subset in result.values["base"][benchmark]
    }


def column(result: Result, arm: str, references: Sequence[str]) -> float:
    """An arm's mean over the references; MissingResult names one that is not there."""
    values = [result[f"{arm}/{reference}/value"] for reference in references]
    return sum(values) / len(values)


def gains(seeds: Sequence[Result], arms: Iterable[str], against: str, columns: Columns) -> Gains:
    """Arm -> column -> what it has more than another, paired by seed, in points with intervals over seeds."""

    def gain(arm: str, references: Sequence[str]) -> Estimate:
        apart = [column(one, arm, references) - column(one, against, references) for one in seeds]
        return statistics.over_seeds([100 * value for value in apart])

    return {arm: {name: gain(arm, references) for name, references in columns.items()} for arm in arms}


def around(score: Mapping[str, float]) -> Estimate:
    """A score of one run in percent, 1.96 standard errors to each side."""
    value, half = 100 * score["value"], 196 * score["stderr"]
    return Estimate(value, value - half, value + half)


def spread(estimate: Estimate, form: str = ".1f") -> str:
    """A fraction and its interval in percent, such as "83.1 (82.0 to 84.2)"."""
    value, low, high = (format(100 * number, form).replace("-", "−") for number in estimate)
    return f"{value} ({low} to {high})"


def sides(gained: Gains) -> "pandas.DataFrame":
    """How many arms have each of their two gains above zero, below it, or open, its interval holding zero."""
    import pandas

    def side(gain: Estimate) -> str:
        return "above" if gain.low > 0 else "below" if gain.high < 0 else "open"

    order = ["above", "open", "below"]
    of_arms = pandas.DataFrame(gained).T.map(side)
    across, up = (of_arms[name] for name in of_arms)
    return pandas.crosstab(up, across).reindex(index=order, columns=order, fill_value=0)


def seeds_table(seeds: Sequence[Result], arms: Iterable[str], columns: Columns) -> "pandas.DataFrame":
    """A row an arm: mean and interval over seeds, in percent."""
    import pandas

    rows = {
        arm: {
            name: spread(statistics.over_seeds([column(result, arm, references) for result in seeds]))
            for name, references in columns.items()
        }
        for arm in arms
    }
    return pandas.DataFrame.from_dict(rows, orient="index", columns=list(columns))


def run_table(
    result: Result, outcomes: Outcomes, columns: Columns, *, rng: "Generator", draws: int = 1000
) -> "pandas.DataFrame":
    """A row an arm of one run: its columns ± a standard error, in percent.

    The standard error of a single score is the file's; that of a mean of several comes from a bootstrap over
    the test's scenes, which the scores share.
    """
    import pandas

    def cell(arm: str, references: Sequence[str]) -> str:
        if len(references) == 1:
            stderr = result[f"{arm}/{references[0]}/stderr"]
        else:
            drawn = {reference: outcomes.column(arm, reference) for reference in references}
            estimate = statistics.clustered_bootstrap(drawn, _mean, rng=rng, draws=draws)
            stderr = (estimate.high - estimate.low) / (2 * 1.96)
        return f"{100 * column(result, arm, references):.1f} ± {100 * stderr:.1f}"

    rows = {
        arm: {name: cell(arm, references) for name, references in columns.items()} for arm in result.values
    }
    return pandas.DataFrame.from_dict(rows, orient="index", columns=list(columns))


def intervals(axes: "Axes", series: Gains, drawn: Mapping[str, Look]) -> None:
    """Estimates with their intervals: a row a label, from the top, and in it a point a series.

    series: name -> label -> estimate, in the axis's unit. A label that a series lacks stays empty there.
    """
    labels = list(dict.fromkeys(label for estimates in series.values() for label in estimates))
    step = min(0.3, 0.8 / len(series))
    for place, (name, estimates) in enumerate(series.items()):
        heights = [labels.index(label) + step * (place - (len(series) - 1) / 2) for label in estimates]
        _points(axes, list(estimates.values()), heights, drawn[name], name)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", visible=True)


def panels(found: Mapping[str, Gains], drawn: Mapping[str, Look], title: str) -> None:
    """Differences in panels whose rows are the same: panel -> series -> row -> points."""
    import matplotlib.pyplot as plt

    most = max(len(series) for series in found.values())
    rows = max(len(estimates) for series in found.values() for estimates in series.values())
    size = (7.2, 1.8 + rows * max(0.27, 0.15 * most))
    figure, several = plt.subplots(1, len(found), figsize=size, sharey=True)
    for axes, (name, series) in zip(several, found.items(), strict=True):
        intervals(axes, series, drawn)
        axes.axvline(0, color=INK, linestyle=":")
        axes.set_title(name, fontsize="medium", weight="normal")
        axes.set_xlabel("points")
    figure.suptitle(title, x=0.01, ha="left", fontsize="medium", weight="bold")
    if most > 1:
        figure.legend(loc="outside lower center", ncols=2)
    plt.show()


def panels_of(gained: Gains, against: str, seeds: int) -> None:
    """A panel a column, a row an arm: its gain over seeds."""
    columns = next(iter(gained.values()))
    found = {name: {"gain": {arm: of[name] for arm, of in gained.items()}} for name in columns}
    panels(found, looks(["gain"]), f"Minus {against}'s (reference run, {seeds} seeds)")


def objectives(seeds: Sequence[Result]) -> None:
    """Cement, other objectives and none, each against InfoNCE on the same concrete negatives."""
    settings = seeds[0].made["config"]["arms"]
    others = [
        arm
        for arm, of in settings.items()
        if of["negatives"] == "hc" and of["loss"] not in _LOSSES and all(arm in one.values for one in seeds)
    ]
    columns = {name: TABLE_2[name] for name in OBJECTIVES}
    gained = gains(seeds, ["plain", "hc_cement", *others], "hc_info_nce", columns)
    panels_of(gained, "hc_info_nce", len(seeds))


def _points(axes: "Axes", estimates: list[Estimate], heights: list[float], look: Look, name: str) -> None:
    values = [estimate.value for estimate in estimates]
    lows = [estimate.value - estimate.low for estimate in estimates]
    highs = [estimate.high - estimate.value for estimate in estimates]
    axes.errorbar(
        values,
        heights,
        xerr=[lows, highs],
        fmt=look.marker,
        markersize=4.5,
        elinewidth=1.6,
        color=look.color,
        label=name,
    )


def trade_off(
    axes: "Axes",
    gained: Gains,
    settings: Mapping[str, Mapping[str, Any]],
    named: Sequence[str],
) -> None:
    """A point an arm with both its intervals: colour by the words that were changed, marker by the loss.

    gained: two for each arm, across and up; settings: arm -> its `negatives`, which all have, and its `loss`.
    The arms that are `named` are labelled.
    """
    colours, seen = palette(MAIN), set()
    for arm, both in gained.items():
        across, up = both.values()
        words, like = _WORDS[settings[arm]["negatives"].removesuffix("_matched")]
        loss, marker = _LOSSES.get(settings[arm]["loss"], ("another objective", "s"))
        label = f"{words}, {loss}"
        axes.errorbar(
            across.value,
            up.value,
            xerr=[[across.value - across.low], [across.high - across.value]],
            yerr=[[up.value - up.low], [up.high - up.value]],
            fmt=marker,
            markersize=6 if arm in named else 4,
            elinewidth=1.4 if arm in named else 0.6,
            color=colours[like],
            label="_" if label in seen else label,
        )
        seen.add(label)
    for line in (axes.axhline, axes.axvline):
        line(0, color=INK, linestyle=":", linewidth=1)
    _label_points(
        axes, {arm: [gain.value for gain in gained[arm].values()] for arm in named if arm in gained}
    )


def _label_points(axes: "Axes", points: Mapping[str, Sequence[float]]) -> None:
    """Names beside their points, towards the middle of the panel, above and below in turn."""
    middle = sum(axes.get_xlim()) / 2
    back = {"facecolor": PAPER, "edgecolor": "none", "alpha": 0.8, "pad": 0.5}
    for nth, (name, point) in enumerate(points.items()):
        side, align = (-8, "right") if point[0] > middle else (8, "left")
        aside = (side, -14 if nth % 2 else 7)
        axes.annotate(
            name, point, aside, textcoords="offset points", ha=align, fontsize="small", bbox=back, zorder=5
        )


def _mean(means: Mapping[str, float]) -> float:
    return sum(means.values()) / len(means)
