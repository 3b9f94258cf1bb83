"""Where captions and pictures come from."""

from .world import WorldSource, chunks, picture

__all__ = ["WorldSource", "chunks", "picture"]
