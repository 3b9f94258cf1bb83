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
LONGEST = 10_000  # characters of a caption: our choice, far beyond CLIP's 77 tokens
TOO_LONG = "caption too long"


class Row(NamedTuple):
    """A caption of a file: the picture's name, the path that is shown, where its bytes lie, the text.

    `place` is what `photographs.read` takes; a row without a text only counts, as `fault` says. `note`: what
    there is to know of it.
    """

    name: str
    path: str
    place: str
    text: str = ""
    fault: str | None = None
    note: str = ""


class Catalogue:
    """The rows of a source, those of a picture together in the order in which the pictures came.

    White space in captions becomes single spaces. `faults` counts the rows that are no captions, by reason,
    `notes` the captions by what there is to know of them. The database is a temporary file that goes with the
    process.
    """

    def __init__(self, rows: Iterable[Row]):
        self.faults: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()
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
            text = _plain(row.text)
            if fault := row.fault or _fault(row, text):
                self.faults[fault] += 1
            else:
                if row.note:
                    self.notes[row.note] += 1
                yield row._replace(text=text)

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

    def places(self) -> Iterator[str]:
        """Where the bytes of each picture lie."""
        return (place for (place,) in self._database.execute("select place from pictures order by id"))

    def _one(self, query: str) -> int:
        return self._database.execute(query).fetchone()[0]


def _fault(row: Row, text: str) -> str | None:
    try:
        # The name of a file that is no UTF-8 has lone surrogates in Python.
        (row.name + row.path + row.place).encode()
    except UnicodeEncodeError:
        return UNREADABLE
    return TOO_LONG if len(text) > LONGEST else None


def _plain(text: str) -> str:
    # A lone surrogate, half of an emoji that was cut, cannot be stored.
    return " ".join(text.encode(errors="replace").decode().split())
