"""The gradient imbalance: from a word to a share, shares in every objective, the budget of a training."""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from slipform_core.figures.theme import COLOURS, INK, PAPER
from slipform_core.figures.words import margin as margin_of

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENOUGH = 8  # pairs of a bin whose quartiles are shown
PLAIN, LIFTED, EASY = COLOURS[2], COLOURS[3], COLOURS[0]


def over_concreteness(
    histograms: Mapping[str, Sequence[int]],
    edges: Sequence[float],
    margin: Mapping[str, float],
    measured: Mapping[str, Any],
    *,
    logit_scale: float,
    margined: str,
) -> "Figure":
    """Over a common axis of concreteness: its distributions, the margin in logits and cosine, the shares.

    histograms: name -> negatives between `edges`. margin: low, high, midpoint, width. measured: quartiles
    of shares as `against_concreteness` gives them, of info_nce and of `margined`.
    """
    import matplotlib.pyplot as plt

    figure, (words, curve, shares) = plt.subplots(3, 1, figsize=(6.6, 8.4), sharex=True)
    for (name, counts), colour in zip(histograms.items(), COLOURS[1:], strict=False):
        words.stairs(100 * np.array(counts) / sum(counts), edges, label=name, color=colour, linewidth=2)
    words.set(ylabel="negatives, %", title="The changed word")
    words.legend(ncols=3)
    at = np.linspace(1, 5, 401)
    curve.plot(at, margin_of(at, **margin), color=LIFTED)
    curve.axhline(0, color=INK, linewidth=0.8)
    curve.set(ylabel="margin, logits", title="Its margin")
    cosine = curve.secondary_yaxis(
        "right", functions=(lambda m: m / logit_scale, lambda cosine: cosine * logit_scale)
    )
    cosine.set_ylabel(f"in cosine, at scale {logit_scale:.1f}", labelpad=12)
    middles = (np.array(measured["bins"][1:]) + measured["bins"][:-1]) / 2
    for name, colour, mark in (("info_nce", PLAIN, "o"), (margined, LIFTED, "D")):
        bins = zip(middles, measured["count"], measured["quartiles"][name], strict=True)
        found = [(c, quartiles) for c, count, quartiles in bins if count >= ENOUGH]
        if not found:
            continue
        centres, (low, middle, high) = [c for c, _ in found], np.array([q for _, q in found]).T
        shares.fill_between(centres, low, high, color=colour, alpha=0.25, linewidth=0)
        shares.plot(centres, middle, color=colour, marker=mark, label=name)
    shares.set(
        xlabel="concreteness $c$ of the changed word",
        ylabel="share",
        ylim=(0, None),
        title=f"Its share at $2N={measured['pictures']}$, median and quartiles",
    )
    shares.legend(*shares.get_legend_handles_labels())
    return figure


def by_objective(measured: Mapping[str, Mapping[str, Mapping[str, float]]]) -> "pandas.DataFrame":
    """The mean share by objective and 2N; objectives with the same shares are one row, the least first."""
    import pandas

    means = {
        name: {int(size): point["mean"] for size, point in by_size.items()}
        for name, by_size in measured.items()
    }
    frame = pandas.DataFrame(means).T.sort_index(axis=1)
    alike = frame.round(3).apply(tuple, axis=1)
    rows = {
        ", ".join(frame.index[alike == values]): frame[alike == values].iloc[0] for values in alike.unique()
    }
    return pandas.DataFrame(rows).T.sort_values(frame.columns[-1])


def objectives(panels: Mapping[str, "pandas.DataFrame"]) -> "Figure":
    """A panel for each model's features: shares as colours with their numbers, an objective a row."""
    import matplotlib.pyplot as plt

    heights = [len(frame) for frame in panels.values()]
    size = (6.6, 0.8 * len(panels) + 0.42 * sum(heights))
    figure, several = plt.subplots(len(panels), 1, figsize=size, height_ratios=heights, squeeze=False)
    for axes, (title, frame) in zip(several.flat, panels.items(), strict=True):
        _shares(axes, frame)
        axes.set_title(title, fontsize="medium")
    several.flat[-1].set_xlabel("pictures in the batch, $2N$")
    return figure


def _shares(axes: "Axes", frame: "pandas.DataFrame") -> None:
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("shares", [PAPER, COLOURS[1]])
    axes.imshow(frame, cmap=shades, vmin=0, vmax=1, aspect="auto")
    for (row, column), share in np.ndenumerate(frame.to_numpy()):
        style = {"ha": "center", "va": "center", "fontsize": "small"}
        axes.text(column, row, f"{share:.2f}", color=PAPER if share > 0.6 else INK, **style)
    axes.set_xticks(range(len(frame.columns)), frame.columns)
    axes.set_yticks(range(len(frame)), [fill(name, 26) for name in frame.index], fontsize="small")
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def budgets(training: Mapping[str, Mapping[str, Any]]) -> "Figure":
    """What pulls and what pushes along each arm's training, adding to all of the logits' gradient."""
    import matplotlib.pyplot as plt

    size = (6.6, 1.2 + 2.1 * len(training))
    figure, panels = plt.subplots(len(training), 1, figsize=size, sharex=True, squeeze=False)
    for axes, (arm, log) in zip(panels.flat, training.items(), strict=True):
        own = np.array(log["curves"]["budget"])
        ends = np.minimum(log["every"] * np.arange(len(own) + 1), log["steps"])
        own = own[[0, *range(len(own))]]  # each point is a mean over the steps that end there
        parts = {"positive": np.full_like(own, 0.5), "own hard negative": own, "easy negatives": 0.5 - own}
        colours = (COLOURS[1], LIFTED, EASY)
        axes.stackplot(ends, *parts.values(), labels=parts, colors=colours, step="pre", linewidth=0)
        axes.set(ylim=(0, 1), ylabel="of the gradient", title=arm, xlim=(0, ends[-1]))
    panels.flat[-1].set_xlabel("step")
    figure.legend(*panels.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure
