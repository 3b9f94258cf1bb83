"""What is known of a dataset: its files, its terms, and what has to be in it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


class Found(NamedTuple):
    """A count, and what there is to say of it."""

    count: int
    detail: str = ""


@dataclass(frozen=True)
class File:
    """A file to fetch.

    checksum: "md5:..." or "sha256:..." as others published it. None where no such is known: then the sha256
    of the first download is trusted, kept, and asked of every later one.
    size: bytes, where known. unpack: where an archive's members go, "." for the dataset's own folder.
    """

    url: str
    checksum: str | None = None
    size: int | None = None
    unpack: str | None = None

    @property
    def name(self) -> str:
        return self.url.rpartition("/")[2]


@dataclass(frozen=True)
class Subject:
    """Something to count, such as a file: `count(folder, name)` gives all that is expected, or more.

    What it raises becomes the reason for which the subject fails.
    """

    name: str
    count: Callable[[Path, str], Mapping[str, Found]]
    expected: Mapping[str, int]


@dataclass(frozen=True)
class Dataset:
    """A dataset; `gated` is what to do, in one line with a {folder}, where its owner has to be asked."""

    title: str
    terms: str
    subjects: tuple[Subject, ...]
    files: tuple[File, ...] = ()
    notes: tuple[str, ...] = ()
    gated: str | None = None
