"""Figure 2: the words of the embedded world by concreteness, under the margin that Cement makes of it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slipform_core.emoji_world.lexicon import INVISIBLE, SURFACES, nouns
from slipform_core.figures.theme import COLOURS, INK, PAPER

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slipform_core.concreteness import Norms

# Of a relation, the word that is not one of these carries the concreteness.
_BETWEEN = frozenset(("to", "the", "of"))
RED, BLUE = "red", "blue"
_PICKED = {RED: "#c62828", BLUE: "#2850c8"}


def margin(
    concreteness: ArrayLike, *, low: float, high: float, midpoint: float, width: float
) -> NDArray[np.float64]:
    """Cement's margin in logits, of any shape: (high - low) sigmoid((c - midpoint) / width) + low.

    For figures; the loss has its own, `slipform_core.loss.margins.fermi_dirac_margin`.
    """
    steps = (np.asarray(concreteness, dtype=np.float64) - midpoint) / width
    return low + (high - low) * (1 + np.tanh(steps / 2)) / 2


def invisible_words() -> frozenset[str]:
    """The words of the embedded world that have no visible referent: moods, media, verbs."""
    return frozenset(word for kind in INVISIBLE for word in SURFACES[kind])


def world_words(count: int, norms: "Norms") -> "pandas.DataFrame":
    """The words of a world of `count` nouns: word, kind, c, visible (whether it has a referent).

    A relation of several words is the one that the norms rate. KeyError names a word that they lack.
    """
    import pandas

    by_kind = {"noun": nouns(count)} | {kind: words for kind, words in SURFACES.items() if kind != "side"}
    rows = {}
    for kind, words in by_kind.items():
        for word in map(_rated, words):
            rows[word] = (word, kind, _of(word, norms), kind not in INVISIBLE)
    return pandas.DataFrame(list(rows.values()), columns=["word", "kind", "c", "visible"])


def _rated(surface: str) -> str:
    return next(word for word in surface.split() if word not in _BETWEEN)


def _of(word: str, norms: "Norms") -> float:
    found = norms.first(word, word.removesuffix("s"))  # a verb's lemma
    return norms[word] if found is None else found


def draw(words: "pandas.DataFrame", settings: Mapping[str, float], *, scale: float) -> "Figure":
    """The margin on c, and below it the words, a row a kind, filled where they have a referent.

    words: as `world_words` gives them; settings: the margin's; scale: the logit scale, for the axis in
    cosines.
    """
    import matplotlib.pyplot as plt

    figure, (above, below) = plt.subplots(2, 1, figsize=(7.2, 7.0), sharex=True, height_ratios=(1, 1.25))
    _curve(above, words, settings, scale)
    _strips(below, words)
    for axes in (above, below):
        axes.axvline(settings["midpoint"], color=INK, linestyle=":")
        axes.axvspan(settings["midpoint"], 5.1, color=COLOURS[1], alpha=0.07, linewidth=0)
    below.set(xlabel="concreteness $c$ (Brysbaert)", xlim=(words["c"].min() - 0.15, 5.1))
    return figure


def _curve(axes: "Axes", words: "pandas.DataFrame", settings: Mapping[str, float], scale: float) -> None:
    grid = np.linspace(1, 5.1, 821)
    axes.plot(grid, margin(grid, **settings), color=COLOURS[2], linewidth=2)
    rated = words.set_index("word")["c"]
    for word, (aside, align) in {RED: ((-10, 6), "right"), BLUE: ((10, -16), "left")}.items():
        point = (rated[word], float(margin(rated[word], **settings)))
        axes.plot(*point, "o", color=_PICKED[word], markersize=9)
        text = f"{word} ({point[0]:.2f}, {point[1]:+.2f})".replace("-", "−")
        style = {"textcoords": "offset points", "ha": align, "color": _PICKED[word], "weight": "bold"}
        axes.annotate(text, point, aside, **style)
    axes.set(ylabel="margin $m(c)$, logits", ylim=(1.35 * settings["low"], 1.35 * settings["high"]))
    style = {"transform": axes.get_xaxis_transform(), "va": "top"}
    axes.text(settings["midpoint"] - 0.06, 0.98, "lc: $c < 4$", ha="right", **style)
    axes.text(settings["midpoint"] + 0.06, 0.98, "hc: $c \\geq 4$", ha="left", **style)
    cosines = axes.secondary_yaxis("right", functions=(lambda m: m / scale, lambda cosine: cosine * scale))
    cosines.set_ylabel(f"the same in cosine (scale {scale:.1f})")


def _strips(axes: "Axes", words: "pandas.DataFrame") -> None:
    kinds = list(words.groupby("kind")["c"].mean().sort_values(ascending=False).index)
    for place, kind in enumerate(kinds):
        of_kind = words[words["kind"] == kind].sort_values("c")
        heights = place + _jitter(len(of_kind))
        for word, c, visible, height in zip(
            of_kind["word"], of_kind["c"], of_kind["visible"], heights, strict=True
        ):
            colour = _PICKED.get(word, COLOURS[0])
            face = colour if visible else PAPER
            size, order = (9, 4) if word in _PICKED else (5, 3)
            axes.plot(c, height, "o", color=colour, markerfacecolor=face, markersize=size, zorder=order)
        first, last = of_kind.iloc[0], of_kind.iloc[-1]
        _label(axes, first, place, "right" if last["c"] - first["c"] < 0.5 else "center")
        _label(axes, last, place, "center")
    axes.set_yticks(range(len(kinds)), kinds)
    axes.set_ylim(len(kinds) - 0.4, -0.7)
    axes.tick_params(axis="y", length=0)


def _jitter(count: int) -> NDArray[np.float64]:
    """Heights within a row, so that words of nearly one c are all seen."""
    return 0.09 * (np.arange(count) % 3 - 1.0) if count > 12 else np.zeros(count)


def _label(axes: "Axes", word: "pandas.Series", place: int, align: str) -> None:
    style = {"textcoords": "offset points", "ha": align, "fontsize": "x-small"}
    axes.annotate(word["word"], (word["c"], place), (0, 7), **style)
