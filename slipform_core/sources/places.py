"""Where things lie that may go by several names."""

from collections.abc import Sequence
from pathlib import Path

from slipform_core.sources.errors import SourceError


def first(folder: Path, places: Sequence[str], otherwise: str = "") -> Path:
    """The first of some places below a folder that is there; SourceError names all, and how to get it."""
    for place in places:
        if (folder / place).exists():
            return folder / place
    raise SourceError("; ".join(filter(None, (f"{folder} has none of: {', '.join(places)}", otherwise))))
