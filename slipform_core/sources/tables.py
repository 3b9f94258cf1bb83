"""Tables of captions: CSV, TSV, JSON lines or Parquet with a column of pictures and one of captions."""

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from slipform_core.datasets.layout import separated
from slipform_core.sources import parquet
from slipform_core.sources.annotations import captioned
from slipform_core.sources.catalogue import Row
from slipform_core.sources.errors import SourceError

SEPARATORS = {".csv": ",", ".tsv": "\t"}
SUFFIXES = (*SEPARATORS, ".jsonl", ".parquet")
PICTURES = ("image", "image_path", "filepath", "file_name", "filename", "picture", "path", "file")
CAPTIONS = ("caption", "captions", "text", "title", "sentence", "sentences", "raw")
UNREADABLE = "unreadable line"
NO_PICTURE = "no picture named"


def table(path: Path, images: Path, picture: str = "", caption: str = "") -> Iterator[Row]:
    """The rows of a table; a cell that is a list of captions gives a row each.

    The columns are found by their usual names unless named. A picture is a path from `images`, or in Parquet
    the bytes of a file. Raises SourceError that names the columns found, and of a text file its separator.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise SourceError(f"{path} is no table: its name ends in none of {', '.join(SUFFIXES)}")
    if suffix == ".parquet":
        read = partial(_parquet, path)
        columns = _schema(path).names
    else:
        read = partial(_json_lines if suffix == ".jsonl" else _separated, path)
        columns = next((list(row) for row in read() if row is not None), [])
    picture = _column(path, columns, picture, PICTURES, "pictures")
    caption = _column(path, columns, caption, CAPTIONS, "captions")
    for number, row in enumerate(read(picture, caption) if suffix == ".parquet" else read()):
        if row is None:
            yield Row("", "", "", fault=UNREADABLE)
        else:
            yield from _rows(path, images, f"{picture}@{number}", row.get(picture), row.get(caption))


def _rows(path: Path, images: Path, cell: str, picture: Any, said: Any) -> Iterator[Row]:
    texts = said if isinstance(said, (list, tuple)) else [said]
    # In Parquet the bytes are in the row, and several rows may give them one name, such as "image.png".
    inside = isinstance(picture, Mapping) and path.suffix.lower() == ".parquet"
    name = f"{path.name}:{cell}" if inside else picture
    if isinstance(name, Mapping):
        name = name.get("path")
    if not isinstance(name, str) or not name.strip():
        yield Row("", "", "", fault=NO_PICTURE)
        return
    for text in texts or [None]:
        row = captioned(name, images / name, text)
        yield row._replace(place=f"{path}#{cell}") if inside and not row.fault else row


def _separated(path: Path) -> Iterator[dict[str, str] | None]:
    separator = SEPARATORS[path.suffix.lower()]
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        rows = separated(path, stream, separator)
        header = next(rows, [])
        if len(header) < 2:
            names = {",": "a comma", "\t": "a tab"}
            raise SourceError(
                f"{path} has the columns {header} when separated at {names[separator]}, as "
                f"{path.suffix} says; pictures and captions need one each"
            )
        for row in filter(None, rows):
            yield dict(zip(header, row, strict=True)) if len(row) == len(header) else None


def _json_lines(path: Path) -> Iterator[dict[str, Any] | None]:
    with path.open("rb") as stream:
        for line in stream:
            if line.strip():
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    row = None
                yield row if isinstance(row, dict) else None


def _schema(path: Path) -> Any:
    import pyarrow.parquet

    try:
        return pyarrow.parquet.read_schema(path)
    except pyarrow.ArrowInvalid as error:
        raise SourceError(f"{path} is no Parquet file: {str(error).splitlines()[0]}") from None


def _parquet(path: Path, picture: str, caption: str) -> Iterator[dict[str, Any]]:
    """The two columns; a picture is a path, or a mapping where its bytes lie in the file."""
    import pyarrow

    kind = _schema(path).field(picture).type
    struct = pyarrow.types.is_struct(kind)
    with parquet.opened(path) as file:
        for group in range(file.num_row_groups):
            # Bytes are not read to learn that they are there where the file says that none misses.
            inside = parquet.is_full(file, group, f"{picture}.bytes") if struct else _is_binary(kind)
            for part in parquet.batches(file, group, [caption] if inside else [picture, caption]):
                for row in part.to_pylist():
                    found = {} if inside else _outside(row[picture]) if struct else row[picture]
                    yield {picture: found, caption: row[caption]}


def _outside(cell: Mapping[str, Any] | None) -> Any:
    """The path of a cell without bytes, or a mapping: of a cell without either the bytes are missed later."""
    cell = cell or {}
    return (cell.get("path") if cell.get("bytes") is None else None) or {}


def _is_binary(kind: Any) -> bool:
    from pyarrow.types import is_binary, is_binary_view, is_fixed_size_binary, is_large_binary

    return any(test(kind) for test in (is_binary, is_large_binary, is_fixed_size_binary, is_binary_view))


def _column(path: Path, found: Sequence[str], wanted: str, usual: Sequence[str], what: str) -> str:
    if wanted:
        if wanted not in found:
            near = difflib.get_close_matches(wanted, found, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise SourceError(f"{path} has no column {wanted!r}; it has: {', '.join(found)}{hint}")
        return wanted
    for name in usual:
        if name in found:
            return name
    raise SourceError(
        f"which column of {path} holds the {what}? It has: {', '.join(found) or 'no rows'}; "
        f"say --{what.removesuffix('s')}-column"
    )
