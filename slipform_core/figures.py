"""How figures look: one theme, one colour an arm, legible on light and dark pages. No torch here."""

import base64
import difflib
import html
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

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


def marked_caption(caption: str, keywords: "Sequence[Keyword]") -> str:
    """A caption as HTML with its keywords marked by role, each with its concreteness below it."""
    parts, end = [], 0
    for word in keywords:
        rating = "not in the norms" if word.concreteness is None else f"{word.concreteness:.2f}"
        parts += [
            html.escape(caption[end : word.start]),
            f'<span class="keyword {word.role}">{html.escape(word.text)}<small>{rating}</small></span>',
        ]
        end = word.end
    roles = "".join(
        f'<span class="keyword {role}">{role}</span> ' for role in ("object", "attribute", "relation")
    )
    return f'<p class="marked-caption">{"".join(parts)}{html.escape(caption[end:])}</p><p>{roles}</p>'


def negative_pairs(samples: "Iterable[Sample]") -> str:
    """Hard negatives as HTML: each picture and caption beside the edited ones, with what changed marked."""
    pairs = []
    for sample in samples:
        record = sample.record
        own, negative = _marked_changes(record.caption, record.negative_caption)
        sides = [(sample.picture, own), (sample.negative_picture, negative)]
        figures = [
            f"<figure>{_image(pixels)}<figcaption>{text}</figcaption></figure>" for pixels, text in sides
        ]
        rating = f'<p class="rating">c = {record.keyword.concreteness:.2f}</p>'
        pairs.append(f'<div class="pair">{"".join(figures)}{rating}</div>')
    return f'<div class="negative-pairs">{"".join(pairs)}</div>'


def _marked_changes(one: str, other: str) -> tuple[str, str]:
    words = one.split(), other.split()
    sides: tuple[list[str], list[str]] = ([], [])
    for kind, *ends in difflib.SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        for side, text, (start, end) in zip(sides, words, (ends[:2], ends[2:]), strict=True):
            run = html.escape(" ".join(text[start:end]))
            if run:
                side.append(run if kind == "equal" else f"<mark>{run}</mark>")
    return " ".join(sides[0]), " ".join(sides[1])


def _image(pixels: "np.ndarray") -> str:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return f'<img alt="" src="data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}">'
