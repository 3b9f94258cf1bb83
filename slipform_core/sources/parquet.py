"""Parquet with row groups of any size: a batch, or a page where that is more, in memory at a time."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

BATCH = 1 << 25  # bytes, about, read at a time: one row group of usual files, but some have a million rows
ROWS = 1000  # the most of a batch
BUFFER = 1 << 16  # bytes; without one, a column of a row group is read whole


def opened(path: Path | str) -> Any:
    """A pyarrow.parquet.ParquetFile, a context manager."""
    import pyarrow.parquet

    return pyarrow.parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False)


def batches(file: Any, group: int, columns: Sequence[str]) -> Iterator[Any]:
    """The record batches of some columns of a row group."""
    part = file.metadata.row_group(group)
    rows = part.num_rows * BATCH // max(part.total_byte_size, 1)
    return file.iter_batches(min(max(rows, 1), ROWS), row_groups=[group], columns=columns)


def is_full(file: Any, group: int, column: str) -> bool:
    """Whether a row group says of a column, such as "image.bytes", that it has no nulls."""
    part = file.metadata.row_group(group)
    chunks = (part.column(index) for index in range(part.num_columns))
    found = [chunk.statistics for chunk in chunks if chunk.path_in_schema == column]
    return any(each is not None and each.has_null_count and each.null_count == 0 for each in found)


class Column:
    """The cells of a column by the number of their row; read in order, each part of the file is read once."""

    def __init__(self, path: str, column: str):
        self._file, self._column = opened(path), column
        sizes = (self._file.metadata.row_group(group).num_rows for group in range(self._file.num_row_groups))
        self._first = [0, *accumulate(sizes)][:-1]
        self._group, self._start, self._cells, self._rest = -1, 0, (), iter(())

    def __getitem__(self, row: int) -> Any:
        """A cell as pyarrow has it in Python; ValueError for a row that is not there or cannot be read."""
        group = bisect_right(self._first, row) - 1
        if group != self._group or row < self._start:
            self._group, self._start, self._cells = group, self._first[group], ()
            self._rest = batches(self._file, group, [self._column])
        while row >= self._start + len(self._cells):
            # Without cells first: what cannot be read raises, and no other row's cell may be taken for it.
            self._start, self._cells = self._start + len(self._cells), ()
            part = next(self._rest, None)
            if part is None:
                raise ValueError(f"no row {row}")
            self._cells = part.column(self._column)
        return self._cells[row - self._start].as_py()


@lru_cache(maxsize=4)
def column(path: str, name: str) -> Column:
    """A column of a file, kept open."""
    return Column(path, name)
