"""How figures look: one theme, one colour an arm, legible on light and dark pages. No torch here."""

import html
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from slipform_core.records import Keyword
    from slipform_core.shards import Sample

# Okabe and Ito's colours, which readers with a colour vision deficiency tell apart.
COLOURS = ("#5b6770", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
PAPER, INK, RULE = "#fbfaf7", "#23282d", "#d9d6cf"


def theme() -> None:
    """Set seaborn's theme: dark ink on an opaque light card, so that a dark page shows the same figure."""
    import seaborn

    seaborn.set_theme(
        context="notebook",
        font_scale=1.1,
        style="ticks",
        palette=COLOURS,
        rc={
            "axes.edgecolor": INK,
            "axes.facecolor": PAPER,
            "axes.grid": True,
            "axes.grid.axis": "y",
            "axes.labelcolor": INK,
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlelocation": "left",
            "axes.titleweight": "bold",
            "figure.constrained_layout.use": True,
            "figure.dpi": 144,
            "figure.facecolor": PAPER,
            "figure.figsize": (6.6, 3.9),
            "grid.color": RULE,
            "legend.frameon": False,
            "savefig.facecolor": PAPER,
            "text.color": INK,
            "xtick.color": INK,
            "ytick.color": INK,
        },
    )


def palette(names: Sequence[str]) -> dict[str, str]:
    """A colour for each name, the same in every figure that gives the names in the same order."""
    if len(names) > len(COLOURS):
        raise ValueError(f"{len(names)} names for {len(COLOURS)} colours: {', '.join(names)}")
    return dict(zip(names, COLOURS, strict=False))


def save(figure: "Figure", path: Path) -> Path:
    """Write a figure whole or not at all; the kind is the path's suffix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.stem}.partial{path.suffix}")
    figure.savefig(partial, dpi=200)
    return partial.replace(path)


def marked_caption(caption: str, keywords: "Sequence[Keyword]") -> str:
    """A caption as HTML with its keywords marked by role, each with its concreteness below it."""
    parts, end = [], 0
    for word in keywords:
        rating = "not in the norms" if word.concreteness is None else f"{word.concreteness:.2f}"
        parts += [
            html.escape(caption[end : word.start]),
            f'<ruby class="keyword {word.role}">{html.escape(word.text)}<rt>{rating}</rt></ruby>',
        ]
        end = word.end
    roles = "".join(
        f'<span class="keyword {role}">{role}</span> ' for role in ("object", "attribute", "relation")
    )
    return f'<p class="marked-caption">{"".join(parts)}{html.escape(caption[end:])}</p><p>{roles}</p>'


def negative_pairs(samples: "Sequence[Sample]", columns: int = 2) -> "Figure":
    """Pictures beside their edits, the captions below them, the changed words in colour with their
    concreteness.
    """
    import matplotlib.pyplot as plt

    rows = -(-len(samples) // columns)
    figure = plt.figure(figsize=(7.6, 2.35 * rows))
    grid = figure.add_gridspec(rows, 2 * columns, wspace=0.06)
    for index, sample in enumerate(samples):
        record, row, column = sample.record, index // columns, 2 * (index % columns)
        words = f"{record.keyword.text}   c = {record.keyword.concreteness:.2f}"
        pictures = (sample.picture, sample.negative_picture)
        captions = (record.caption, record.negative_caption)
        for side, (pixels, caption) in enumerate(zip(pictures, captions, strict=True)):
            axes = figure.add_subplot(grid[row, column + side])
            axes.imshow(pixels, interpolation="nearest")
            axes.set_axis_off()
            axes.text(
                0, 1.04, textwrap.fill(caption, 24), transform=axes.transAxes, va="bottom", fontsize=7.5
            )
        axes = figure.axes[-2]
        axes.text(
            0,
            -0.04,
            textwrap.shorten(words, 44),
            transform=axes.transAxes,
            va="top",
            fontsize=7.5,
            color=COLOURS[2],
        )
    return figure
