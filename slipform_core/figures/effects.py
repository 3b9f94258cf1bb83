"""What arms gain over each other, with intervals: forest plots and heatmaps.

Differences are fractions, and percent points where they are shown. Intervals are of 95 %.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from slipform_core import statistics
from slipform_core.figures.theme import COLOURS, INK, PAPER
from slipform_core.statistics import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEGEND = ("one seed", "planned", "exploratory")


class Scores(Protocol):
    """Several seeds of the same arms, as comparisons.Reference has them."""

    @property
    def seeds(self) -> Sequence[int]: ...

    def scores(self, arm: str, measure: str) -> np.ndarray: ...


@dataclass(frozen=True)
class Effect:
    """A difference of two arms with its interval, the seeds that it is of, and whether it was planned."""

    estimate: Estimate
    by_seed: Mapping[int, float]
    planned: bool = False

    @property
    def excludes_zero(self) -> bool:
        return self.estimate.low > 0 or self.estimate.high < 0

    def shown(self) -> str:
        """Percent points: +1.2 (−0.3 to +2.7)."""
        return "{} ({} to {})".format(*map(points, self.estimate))


# What a figure shows: panel (a measure, or a kind) -> row (a contrast, or an arm) -> difference.
Effects = Mapping[str, Mapping[Any, Effect]]


def over(by_seed: Mapping[int, float]) -> Effect:
    """The mean over seeds with Student's t interval; ValueError for fewer than two."""
    return Effect(statistics.over_seeds(list(by_seed.values())), dict(by_seed))


def change(left: Effect, right: Effect) -> Effect:
    """The difference of two differences, paired by seed; KeyError where a seed is not in both."""
    return over({seed: value - right.by_seed[seed] for seed, value in left.by_seed.items()})


def effects(
    scores: Scores,
    contrasts: Mapping[Any, tuple[str, str]],
    panels: Mapping[str, Sequence[str]],
    planned: Collection[tuple[str, str, str]] = (),
) -> dict[str, dict[Any, Effect]]:
    """Left minus right in each panel, paired by seed; a panel of several measures is their mean.

    contrasts: row -> (left, right). panels: title -> measures. planned: the plan's (left, right, measure).
    """

    def one(left: str, right: str, measures: Sequence[str]) -> Effect:
        apart = [scores.scores(left, measure) - scores.scores(right, measure) for measure in measures]
        found = over(dict(zip(scores.seeds, np.mean(apart, axis=0).tolist(), strict=True)))
        in_plan = len(measures) == 1 and (left, right, measures[0]) in planned
        return replace(found, planned=in_plan)

    return {
        title: {row: one(*sides, measures) for row, sides in contrasts.items()}
        for title, measures in panels.items()
    }


def signed(value: float, decimals: int) -> str:
    """A number with its sign, a true minus; what rounds to zero is positive."""
    return f"{value:+z.{decimals}f}".replace("-", "−")


def points(fraction: float, decimals: int = 1) -> str:
    """A difference of fractions in percent points, with its sign."""
    return signed(100 * fraction, decimals)


def forest(found: Effects, *, what: str, source: str) -> "Figure":
    """A panel a measure, a row a contrast: mean and interval, seeds as small dots; filled where planned.

    what, source: what is subtracted from what, and whose numbers these are, for the axis. Panels share rows
    and scale.
    """
    import matplotlib.pyplot as plt

    columns = min(2, len(found))
    lines, rows = ceil(len(found) / columns), len(next(iter(found.values())))
    size = (6.6, 0.9 + lines * (0.6 + 0.42 * rows))
    figure, grid = plt.subplots(lines, columns, figsize=size, sharex=True, sharey=True, squeeze=False)
    for axes, (title, effects_of) in zip(grid.flat, found.items(), strict=False):
        for place, effect in enumerate(effects_of.values()):
            _row(axes, place, effect)
        axes.set_title(title, fontsize="medium")
        axes.axvline(0, color=INK, linestyle=":")
        axes.grid(axis="y", visible=False)
        axes.set_yticks(range(rows), list(effects_of))
        axes.set_ylim(rows - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
    for axes in grid.flat[len(found) - columns : len(found)]:
        axes.tick_params(labelbottom=True)
    for axes in grid.flat[len(found) :]:
        axes.set_visible(False)
    figure.supxlabel(f"{what}, percent points\n{source}", fontsize="medium")
    handles = {
        handle.get_label(): handle for axes in grid.flat for handle in axes.get_legend_handles_labels()[0]
    }
    labels = [label for label in LEGEND if label in handles]
    figure.legend([handles[label] for label in labels], labels, loc="outside upper center", ncols=3)
    return figure


def _row(axes: "Axes", place: int, effect: Effect) -> None:
    mean, low, high = (100 * number for number in effect.estimate)
    seed, planned, exploratory = LEGEND
    seeds = [100 * value for value in effect.by_seed.values()]
    if seeds:
        axes.plot(seeds, [place - 0.24] * len(seeds), "o", color=COLOURS[0], markersize=3, label=seed)
    axes.errorbar(
        mean,
        place,
        xerr=[[mean - low], [high - mean]],
        fmt="o",
        color=COLOURS[1],
        markerfacecolor=COLOURS[1] if effect.planned else PAPER,
        capsize=3,
        label=planned if effect.planned else exploratory,
    )


def heatmap(found: Effects, *, full: float, source: str) -> "Figure":
    """Rows x panels of differences in points; bold and framed where the interval excludes zero.

    full: the points at which a colour is at its fullest.
    """
    import matplotlib.pyplot as plt

    rows = list(next(iter(found.values())))
    table = [[found[panel][row] for panel in found] for row in rows]
    figure, axes = plt.subplots(figsize=(6.6, 1.6 + 0.36 * len(rows)))
    texts = [[_short(cell.estimate.value) for cell in line] for line in table]
    cells(axes, table, texts, full=full, framed=True)
    axes.set_xticks(range(len(found)), list(found), rotation=40, ha="left", rotation_mode="anchor")
    axes.set_yticks(range(len(rows)), rows)
    axes.xaxis.tick_top()
    figure.supxlabel(f"percent points; framed: the interval excludes zero\n{source}", fontsize="medium")
    return figure


def _short(fraction: float) -> str:
    return points(fraction, 1 if abs(fraction) < 0.0995 else 0)


def cells(
    axes: "Axes",
    table: Sequence[Sequence[Effect]],
    texts: Sequence[Sequence[str]],
    *,
    full: float,
    framed: bool,
) -> None:
    """Differences as colours with a text in each; if `framed`, a frame where the interval excludes zero."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    means = np.array([[100 * cell.estimate.value for cell in line] for line in table])
    ends = LinearSegmentedColormap.from_list("gains", [COLOURS[2], PAPER, COLOURS[1]])
    axes.imshow(means, cmap=ends, vmin=-full, vmax=full, aspect="auto")
    for (row, column), mean in np.ndenumerate(means):
        sure = framed and table[row][column].excludes_zero
        # Paper on a full colour, ink on a pale one.
        colour = PAPER if abs(mean) > 0.7 * full else INK
        style = {"ha": "center", "va": "center", "color": colour, "fontsize": "small"}
        axes.text(column, row, texts[row][column], fontweight="bold" if sure else "normal", **style)
        if sure:
            corner = (column - 0.46, row - 0.44)
            axes.add_patch(Rectangle(corner, 0.92, 0.88, fill=False, edgecolor=INK, linewidth=1.6))
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
