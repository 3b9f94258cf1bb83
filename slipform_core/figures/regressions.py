"""The planned regression of the logit gap on concreteness and what goes with it, of Figure 4's page.

Frames are those of `figures.survey`.
"""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from slipform_core import statistics
from slipform_core.figures.arms import Look, intervals
from slipform_core.figures.survey import ALL, VISIBLE, parts, spread
from slipform_core.figures.theme import COLOURS, INK
from slipform_core.statistics import Estimate, Fit

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from slipform_core.figures.survey import Frames

REGRESSION = "{gap} ~ concreteness + text_distance + C(pos) + log_frequency + length"
GAPS = {"logit_i2t": "picture's gap (I2T)", "logit_t2i": "caption's gap (T2I)"}


class Regression(NamedTuple):
    """The planned regression of a gap, on some words, in one seed or all; `fault`: why there is no fit."""

    of: str
    gap: str
    words: str
    fit: Fit | None
    fault: str = ""


def fits(frames: "Frames") -> list[Regression]:
    """The planned regression of both gaps, with all words and with those that have a referent.

    Where a source has several seeds, of each, and of "all seeds" with a fixed effect for each; else of the
    source. Random intercepts are of scenes.
    """
    found = []
    for source, frame in frames.items():
        by_seed = {f"seed {seed}": of for seed, of in frame.groupby("seed", sort=False)}
        several = len(by_seed) > 1
        rows = by_seed | {"all seeds": frame} if several else {source.partition(" of ")[0]: frame}
        for name, whole in rows.items():
            pooled = " + C(seed)" if name == "all seeds" else ""
            for gap, (words, part) in product(GAPS, parts(whole).items()):
                found.append(_regression(name, gap, words, part, REGRESSION.format(gap=gap) + pooled))
    return found


def _regression(of: str, gap: str, words: str, frame: "pandas.DataFrame", formula: str) -> Regression:
    try:
        return Regression(of, gap, words, statistics.mixed_model(frame, formula, "scene"))
    except ValueError as error:
        return Regression(of, gap, words, None, str(error))


def coefficients(found: Sequence[Regression], term: str, source: str) -> "Figure":
    """A panel a gap: a term's coefficient with its interval, a row a seed, by the words that are in.

    source: whose the seeds are, for the axis.
    """
    import matplotlib.pyplot as plt

    looks = {ALL: Look(COLOURS[0], "-", "o"), VISIBLE: Look(COLOURS[1], "-", "D")}
    rows = list(dict.fromkeys(one.of for one in found))
    figure, panels = plt.subplots(1, len(GAPS), figsize=(7.2, 1.9 + 0.5 * len(rows)), sharey=True)
    for axes, (gap, title) in zip(panels, GAPS.items(), strict=True):
        series = {words: {row: _estimate(found, gap, words, row, term) for row in rows} for words in looks}
        intervals(axes, series, looks)
        axes.axvline(0, color=INK, linestyle=":")
        axes.set_title(title, fontsize="medium")
        axes.locator_params(axis="x", nbins=4)
    figure.supxlabel(f"coefficient of {term}, logits\n{source}", fontsize="medium")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def _estimate(found: Sequence[Regression], gap: str, words: str, of: str, term: str) -> Estimate:
    fit = next(one.fit for one in found if (one.gap, one.words, one.of) == (gap, words, of))
    if fit is None:
        return Estimate(np.nan, np.nan, np.nan)
    return Estimate(*(fit.coefficients[term][end] for end in ("estimate", "low", "high")))


def table(found: Sequence[Regression], of: str) -> "pandas.DataFrame":
    """All coefficients of the regressions of one row of the figure, a column each, as text."""
    import pandas

    columns = {(GAPS[one.gap], one.words): _column(one) for one in found if one.of == of}
    return pandas.DataFrame(columns).fillna("–")


def _column(one: Regression) -> dict[str, str]:
    if one.fit is None:
        return {"not fitted": one.fault.rpartition(": ")[2]}
    ends = ("estimate", "low", "high")
    lines = {_term(term): spread([of[end] for end in ends], 3) for term, of in one.fit.coefficients.items()}
    return lines | {
        "standard deviation of scenes": f"{one.fit.group_variance**0.5:.2f}",
        "standard deviation of records": f"{one.fit.residual_variance**0.5:.2f}",
        "records": f"{one.fit.observations:,}",
        "scenes": f"{one.fit.groups:,}",
    }


def _term(name: str) -> str:
    """ "C(pos)[T.NOUN]" is "pos NOUN"."""
    return name.replace("C(", "").replace(")[T.", " ").removesuffix("]").replace("_", " ")
