"""How figures look: one theme, one colour an arm, legible on light and dark pages. No torch here."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which readers with a colour vision deficiency tell apart.
COLOURS = ("#5b6770", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
PAPER, INK, RULE = "#fbfaf7", "#23282d", "#d9d6cf"


def theme() -> None:
    """Set seaborn's theme: dark ink on an opaque light card, so that a dark page shows the same figure."""
    import seaborn

    seaborn.set_theme(
        context="notebook",
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
            "figure.dpi": 110,
            "figure.facecolor": PAPER,
            "figure.figsize": (7.2, 4.0),
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
