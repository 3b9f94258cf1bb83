"""Files are written whole or not at all."""

from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Write a text beside its place and rename it there, folders made where they are missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text)
    partial.replace(path)
