"""Where captions and pictures come from: the embedded world, or photographs in any of the usual forms."""

from slipform_core.mistakes import BadPicture

from .errors import SourceError
from .grouping import whole_pictures
from .photos import KINDS, PhotoSource, photos
from .world import WorldSource, picture, write_photos

__all__ = [
    "KINDS",
    "BadPicture",
    "PhotoSource",
    "SourceError",
    "WorldSource",
    "photos",
    "picture",
    "whole_pictures",
    "write_photos",
]
