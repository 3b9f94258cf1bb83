"""What an arm gains word by word against the word's margin: the experiment with colours."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from slipform_core import statistics
from slipform_core.figures.effects import Effect, over
from slipform_core.figures.theme import INK
from slipform_core.figures.words import margin
from slipform_core.statistics import Fit

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

APART = 0.05  # logits between words of the same margin, so that both are seen
Colour = tuple[int, int, int]


def margins(concreteness: Mapping[str, float], **settings: float) -> dict[str, float]:
    """Cement's margin of each word, in logits, by its concreteness of 1..5; settings: those of `margin`."""
    return {word: float(margin(c, **settings)) for word, c in concreteness.items()}


def gains(
    found: Mapping[str, Sequence[float]], margin: Mapping[str, float], seeds: Sequence[int]
) -> "pandas.DataFrame":
    """What each word gained with each seed, a fraction, and its margin: columns word, seed, margin, gain.

    found: word -> a value a seed, as comparisons.by_word gives it; a seed without the word (NaN) is left out.
    """
    import pandas

    rows = [
        (word, seed, margin[word], value)
        for word, values in found.items()
        for seed, value in zip(seeds, values, strict=True)
        if not np.isnan(value)
    ]
    return pandas.DataFrame(rows, columns=["word", "seed", "margin", "gain"])


def slope(table: "pandas.DataFrame") -> Fit:
    """The planned regression, with a random intercept for the seed; ValueError where too little varies."""
    return statistics.mixed_model(table, "gain ~ margin", "seed")


def between(table: "pandas.DataFrame", one: str, other: str) -> Effect:
    """What one word gained more than another, over seeds that have both; ValueError for fewer than two."""
    wide = table.pivot(index="seed", columns="word", values="gain").reindex(columns=[one, other])
    return over((wide[one] - wide[other]).dropna().to_dict())


def slopes(tables: Mapping[str, "pandas.DataFrame"], one: str, other: str) -> "pandas.DataFrame":
    """As text, for each table, the slope that decides and what `one` gained more than `other`; or why not."""
    import pandas

    rows = {
        name: {
            "points a logit of margin": _or_reason(lambda table=table: _slope(table)),
            f"{one} − {other}, points": _or_reason(lambda table=table: between(table, one, other).shown()),
        }
        for name, table in tables.items()
    }
    return pandas.DataFrame.from_dict(rows, orient="index")


def _slope(table: "pandas.DataFrame") -> str:
    found = slope(table).coefficients["margin"]
    effect = Effect(statistics.Estimate(found["estimate"], found["low"], found["high"]), {})
    return f"{effect.shown()}, {'excludes' if effect.excludes_zero else 'includes'} zero"


def _or_reason(text: Callable[[], str]) -> str:
    try:
        return text()
    except ValueError as error:
        return f"none: {error}"


def scatter(
    tables: Mapping[str, "pandas.DataFrame"], swatches: Mapping[str, Colour], *, source: str
) -> "Figure":
    """A panel a table: each word's gain, mean and interval over seeds, against its margin, and the slope.

    swatches: word -> red, green, blue of 0..255.
    """
    import matplotlib.pyplot as plt

    size = (6.6, 0.8 + 3.1 * len(tables))
    figure, grid = plt.subplots(len(tables), 1, figsize=size, sharex=True, sharey=True, squeeze=False)
    for axes, (title, table) in zip(grid.flat, tables.items(), strict=True):
        axes.axhline(0, color=INK, linestyle=":")
        _line(axes, table)
        _words(axes, table, swatches)
        axes.set_title(title, fontsize="medium")
        axes.margins(x=0.08, y=0.14)
    grid.flat[-1].set_xlabel(f"margin $m(c)$ of the colour's word, logits\n{source}")
    figure.supylabel("gain on replaced colours, points", fontsize="medium")
    return figure


def _line(axes: "Axes", table: "pandas.DataFrame") -> None:
    try:
        fit = slope(table).coefficients
    except ValueError:  # the table below the figure says why
        return
    at = np.array([table["margin"].min(), table["margin"].max()])
    height = fit["Intercept"]["estimate"] + fit["margin"]["estimate"] * at
    axes.plot(at, 100 * height, color=INK, linewidth=1.2)


def _words(axes: "Axes", table: "pandas.DataFrame", swatches: Mapping[str, Colour]) -> None:
    seen: dict[float, int] = {}
    by_margin = sorted(table.groupby("word"), key=lambda group: group[1]["margin"].iloc[0])
    for place, (word, rows) in enumerate(by_margin):
        margin = rows["margin"].iloc[0]
        nth = seen[margin] = seen.get(margin, -1) + 1
        at = margin + nth * APART * (-1) ** nth
        values = 100 * rows["gain"].to_numpy()
        mean, low, high = statistics.over_seeds(values) if len(values) > 1 else (values[0],) * 3
        face = tuple(level / 255 for level in swatches[word])
        axes.plot([at] * len(values), values, "_", color=INK, alpha=0.5, markersize=7)
        axes.errorbar(
            at,
            mean,
            [[mean - low], [high - mean]],
            fmt="o",
            markersize=9,
            color=face,
            ecolor=INK,
            markeredgecolor=INK,
            elinewidth=1.2,
        )
        # Neighbours in margin are named above and below, so that their names do not meet.
        end, lift, side = (high, 4, "bottom") if place % 2 else (low, -4, "top")
        style = {"textcoords": "offset points", "ha": "center", "va": side, "fontsize": "small"}
        axes.annotate(word, (at, end), (0, lift), **style)
