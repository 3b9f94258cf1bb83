"""How figures look, and what pages share of them. No torch here."""

from slipform_core.figures.html import marked_caption, negative_pairs, no_reference
from slipform_core.figures.theme import COLOURS, INK, PAPER, RULE, palette, theme

__all__ = [
    "COLOURS",
    "INK",
    "PAPER",
    "RULE",
    "marked_caption",
    "negative_pairs",
    "no_reference",
    "palette",
    "theme",
]
