"""The embedded world: scenes of OpenMoji pictures, their captions, the picture of a scene."""

from slipform_core.emoji_world.drawing import MissingFont, draw, font_path
from slipform_core.emoji_world.grammar import (
    CAPTIONS,
    captions,
    edit,
    holds,
    mend_articles,
    mentioned,
    read_back,
    reword,
)
from slipform_core.emoji_world.paraphrases import paraphrase
from slipform_core.emoji_world.scenes import Scene, Thing, World

__all__ = [
    "CAPTIONS",
    "MissingFont",
    "Scene",
    "Thing",
    "World",
    "captions",
    "draw",
    "edit",
    "font_path",
    "holds",
    "mend_articles",
    "mentioned",
    "paraphrase",
    "read_back",
    "reword",
]
