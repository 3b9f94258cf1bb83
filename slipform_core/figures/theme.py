"""One theme and one colour an arm, legible on light and dark pages."""

from collections.abc import Sequence

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
