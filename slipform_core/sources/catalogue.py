"""Captions by picture, on disk: a source of any size is read once, in order, in little memory."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from more_itertools import chunked

from slipform_core.records import Caption

TABLES = """
create table pictures (id integer primary key, name text unique, path text, place text);
create table captions (id integer primary key, picture integer, text text);
"""
ROWS = 10_000  # written at a time
UNREADABLE = "unreadable name"


class Row(NamedTuple):
    """A caption of a file: the picture's name, the path that is shown, where its bytes lie, the text.

    `place` is what `photographs.read` takes; a row without a text only counts, as `fault` says.
    """

    name: str
    path: str
    place: str
    text: str = ""
    fault: str | None = None


class Catalogue:
    """The rows of a source, those of a picture together in the order in which the pictures came.

    White space in captions becomes single spaces. `faults` counts the rows that are no captions, by reason.
    The database is a temporary file that goes with the process.
    """

    def __init__(self, rows: Iterable[Row]):
        self.faults: Counter[str] = Counter()
        self._database = sqlite3.connect("")
        self._database.executescript(TABLES)
        for part in chunked(self._usable(rows), ROWS):
            self._database.executemany(
                "insert or ignore into pictures (name, path, place) values (?, ?, ?)",
                [(row.name, row.path, row.place) for row in part],
            )
            self._database.executemany(
                "insert into captions (picture, text) select id, ? from pictures where name = ?",
                [(row.text, row.name) for row in part],
            )
        self._database.execute("create index of_picture on captions (picture)")
        self._database.commit()

    def _usable(self, rows: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            fault = row.fault or (None if _storable(row.name + row.path + row.place) else UNREADABLE)
            if fault:
                self.faults[fault] += 1
            else:
                yield row._replace(text=_plain(row.text))

    def __len__(self) -> int:
        return self._one("select count(*) from captions")

    @property
    def pictures(self) -> int:
        return self._one("select count(*) from pictures")

    def captions(self) -> Iterator[Caption]:
        """Every caption; a picture's stand together."""
        found = self._database.execute(
            "select name, path, text from captions join pictures on picture = pictures.id "
            "order by picture, captions.id"
        )
        return (Caption(name, path, text) for name, path, text in found)

    def of_picture(self, image_id: str) -> list[str]:
        """The captions of a picture; none of one that is not here."""
        found = self._database.execute(
            "select text from captions join pictures on picture = pictures.id where name = ? "
            "order by captions.id",
            (image_id,),
        )
        return [text for (text,) in found]

    def place(self, image_id: str) -> str:
        """Where a picture's bytes lie; KeyError for one that is not here."""
        found = self._database.execute("select place from pictures where name = ?", (image_id,)).fetchone()
        if found is None:
            raise KeyError(image_id)
        return found[0]

    def _one(self, query: str) -> int:
        return self._database.execute(query).fetchone()[0]


def _storable(name: str) -> bool:
    """Not so the name of a file that is no UTF-8, which Python reads with lone surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _plain(text: str) -> str:
    # A lone surrogate, half of an emoji that was cut, cannot be stored.
    return " ".join(text.encode(errors="replace").decode().split())
