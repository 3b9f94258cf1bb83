"""Features on disk, by the model and by the content of what was encoded."""

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from more_itertools import chunked

from slipform_core.mistakes import Mistake

TABLE = "create table if not exists features (key blob primary key, vector blob) without rowid"
ASKED = 500  # keys of a query


def key_of(kind: str, content: bytes) -> bytes:
    """The key of a text's or a picture's bytes; `kind` tells apart what is encoded in different ways."""
    return hashlib.sha256(kind.encode() + b"|" + content).digest()


class Store:
    """Vectors of one model, float32; in a file of a folder, or in memory where there is none.

    What is written is safe from a kill, and several processes may share the file.
    """

    def __init__(self, folder: Path | None, model: str):
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
        self._place = str(folder / f"{model}.sqlite") if folder else ":memory:"
        with self._errors():
            self._database = sqlite3.connect(self._place, timeout=60)
            self._database.execute(TABLE)

    def missing(self, keys: Iterable[bytes]) -> list[bytes]:
        """The keys that have no vector, each once, in their order."""
        wanted = list(dict.fromkeys(keys))
        known = {key for part in chunked(wanted, ASKED) for (key,) in self._select("key", part)}
        return [key for key in wanted if key not in known]

    def write(self, vectors: Mapping[bytes, np.ndarray]) -> None:
        rows = [(key, np.asarray(vector, dtype=np.float32).tobytes()) for key, vector in vectors.items()]
        with self._errors(), self._database:
            self._database.executemany("insert or replace into features values (?, ?)", rows)

    def read(self, keys: Sequence[bytes]) -> np.ndarray:
        """The vectors (K, D) of K keys; KeyError where one is missing."""
        found: dict[bytes, np.ndarray] = {}
        for part in chunked(dict.fromkeys(keys), ASKED):
            found |= {key: np.frombuffer(data, np.float32) for key, data in self._select("key, vector", part)}
        return np.stack([found[key] for key in keys])

    def _select(self, what: str, keys: Sequence[bytes]) -> list[tuple]:
        marks = ", ".join("?" * len(keys))
        with self._errors():
            return self._database.execute(
                f"select {what} from features where key in ({marks})", keys
            ).fetchall()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise Mistake(
                f"features in {self._place}: {error}; if the disk is not full, delete that file, which only "
                "saves encoding again"
            ) from None
