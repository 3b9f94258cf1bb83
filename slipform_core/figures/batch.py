"""Figure 6: the hard negative's share against the batch, the scores of batches, and the margin's surface.

A curve is a table with 2N, the pictures in a batch, as its index and the columns mean, low, high (95 %).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from slipform_core import statistics
from slipform_core.figures.arms import looks
from slipform_core.figures.effects import Effect, Effects, cells, points

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Curves = Mapping[str, pandas.DataFrame]  # loss -> curve

LIKE = {"info_nce": "hc_info_nce"}
MARKERS = "oDs^v"
ASIDE = 1.06  # so that the bars of two losses at one 2N are both seen

Interval = tuple[float, float, float]  # mean, low, high


class Results(Protocol):
    """A run's results, as tables.Run has them."""

    def __getitem__(self, reference: str) -> Any: ...


def shares_in_run(run: Results, negatives: str) -> "Curves":
    """Each loss's share of the hard negative, with an interval over the batches that one run drew.

    Nothing where the run made no such negatives.
    """
    return {
        loss: _curve(
            {
                int(size): (
                    share["mean"],
                    share["mean"] - 1.96 * share["stderr"],
                    share["mean"] + 1.96 * share["stderr"],
                )
                for size, share in by_size.items()
            }
        )
        for loss, by_size in run["gradients:shares"].get(negatives, {}).items()
    }


def shares_over_seeds(runs: Sequence[Results], negatives: str) -> "Curves":
    """The same with an interval over the seeds of several runs; ValueError for fewer than two."""
    found = [run[f"gradients:shares/{negatives}"] for run in runs]
    return {
        loss: _curve(
            {
                int(size): statistics.over_seeds([by_loss[loss][size]["mean"] for by_loss in found])
                for size in by_size
            }
        )
        for loss, by_size in found[0].items()
    }


def scores_by_batch(runs: Sequence[Results], arms: Mapping[str, Sequence[str]], measure: str) -> "Curves":
    """Each loss's score in percent by the batch of its arms, over seeds. arms: loss -> arms."""
    return {
        loss: _curve(
            {
                pictures(runs[0], arm): statistics.over_seeds(
                    [100 * run[f"composition:{arm}/{measure}/value"] for run in runs]
                )
                for arm in of
            }
        )
        for loss, of in arms.items()
    }


def pictures(run: Results, arm: str) -> int:
    """How many pictures a step of an arm sees, 2N."""
    return run[f"training:{arm}/pictures"] // run[f"training:{arm}/steps"]


def _curve(by_size: Mapping[int, Interval]) -> "pandas.DataFrame":
    import pandas

    return pandas.DataFrame.from_dict(by_size, orient="index", columns=["mean", "low", "high"]).sort_index()


def draw(axes: "Axes", curves: "Curves", *, source: str, band: bool) -> None:
    """Curves on a logarithmic axis of 2N, a colour a loss: a line in its band, or points with bars.

    source: whose numbers these are, for the legend.
    """
    colours = _colours(list(curves))
    for nth, (loss, curve) in enumerate(curves.items()):
        style = {"color": colours[loss], "label": f"{loss}, {source}"}
        if band:
            axes.plot(curve.index, curve["mean"], **style)
            axes.fill_between(
                curve.index, curve["low"], curve["high"], color=colours[loss], alpha=0.25, linewidth=0
            )
        else:
            aside = curve.index * ASIDE ** (nth - (len(curves) - 1) / 2)
            bars = [curve["mean"] - curve["low"], curve["high"] - curve["mean"]]
            axes.errorbar(aside, curve["mean"], bars, fmt=MARKERS[nth], capsize=3, markersize=5, **style)
    sizes = sorted({size for curve in curves.values() for size in curve.index})
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, sizes)
    axes.minorticks_off()


def _colours(losses: Sequence[str]) -> dict[str, str]:
    """InfoNCE in the colour of its arm, as on other pages."""
    arms = [LIKE.get(loss, loss) for loss in losses]
    return {loss: looks(arms)[arm].color for loss, arm in zip(losses, arms, strict=True)}


def score_panels(found: Mapping[str, "Curves"], *, source: str) -> "Figure":
    """A panel a measure, one above the other: scores in percent against 2N, a colour a loss."""
    import matplotlib.pyplot as plt

    size = (6.6, 1.2 + 2.1 * len(found))
    figure, panels = plt.subplots(len(found), 1, figsize=size, sharex=True, squeeze=False)
    for axes, (title, curves) in zip(panels.flat, found.items(), strict=True):
        draw(axes, curves, source=source, band=False)
        axes.set_title(title, fontsize="medium")
        axes.set_ylabel("right, %")
    panels.flat[-1].set_xlabel("pictures in a batch, $2N$")
    figure.legend(*panels.flat[0].get_legend_handles_labels(), loc="outside lower center")
    return figure


def surface(found: Effects, *, full: float, source: str) -> "Figure":
    """A panel a measure: differences in points by the margin's midpoint and width, intervals in the cells.

    found: title -> (midpoint, width) -> difference. full: the points at which a colour is at its fullest.
    """
    import matplotlib.pyplot as plt

    size = (6.6, 0.8 + 2.7 * len(found))
    figure, panels = plt.subplots(len(found), 1, figsize=size, sharex=True, squeeze=False)
    for axes, (title, by_margin) in zip(panels.flat, found.items(), strict=True):
        midpoints, widths = (sorted(set(side)) for side in zip(*by_margin, strict=True))
        table = [[by_margin[midpoint, width] for midpoint in midpoints] for width in widths]
        cells(axes, table, [[_cell(effect) for effect in line] for line in table], full=full, framed=False)
        axes.set_xticks(range(len(midpoints)), midpoints)
        axes.set_yticks(range(len(widths)), widths)
        axes.set_title(title, fontsize="medium")
        axes.set_ylabel(r"width $\tau_m$")
    panels.flat[-1].set_xlabel(r"midpoint $\tilde c$")
    figure.supxlabel(f"percent points, with 95 % intervals\n{source}", fontsize="medium")
    return figure


def _cell(effect: Effect) -> str:
    mean, low, high = map(points, effect.estimate)
    return f"{mean}\n{low} to {high}"


def margins_of(arms: Mapping[str, Mapping[str, Any]], negatives: str) -> dict[tuple[float, float], str]:
    """(midpoint, width) -> the arm on these negatives whose margin it is, each word with its own c.

    arms: as the `config` of a results file has them.
    """
    return {
        (arm["margin"]["midpoint"], arm["margin"]["width"]): name
        for name, arm in arms.items()
        if arm["negatives"] == negatives
        and (arm["margin"] or {}).get("kind") == "fermi_dirac"
        and arm["concreteness"] is None
    }
