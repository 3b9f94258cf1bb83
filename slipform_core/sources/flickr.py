"""Flickr8k and Flickr30k as they are handed out: captions, lists of splits, a folder of pictures."""

import re
from collections.abc import Iterator
from pathlib import Path

from slipform_core.datasets.layout import FLICKR8K_CAPTIONS, FLICKR8K_SPLITS, FLICKR_PICTURES
from slipform_core.sources.annotations import captioned
from slipform_core.sources.catalogue import Row
from slipform_core.sources.errors import SourceError
from slipform_core.sources.tables import separated

CAPTIONS = (*FLICKR8K_CAPTIONS, "results_20130124.token", "results.csv")


def flickr(folder: Path, split: str) -> Iterator[Row]:
    """The rows of a split, "train", "val" or "test" as the lists Flickr_8k.*Images.txt have them, or "all".

    Captions are read from `captions.txt` (image,caption), a .token file (name#number, tab, caption), or
    results.csv (name| number| caption).
    """
    path = first(folder, CAPTIONS)
    images = first(folder, FLICKR_PICTURES)
    wanted = None if split == "all" else _listed(folder, split)
    for name, text in _lines(path):
        if wanted is None or name in wanted:
            yield captioned(name, images / name, text)


def first(folder: Path, names: tuple[str, ...]) -> Path:
    """The first of some names that a folder has; SourceError names them all."""
    for name in names:
        if (folder / name).exists():
            return folder / name
    raise SourceError(f"{folder} has none of: {', '.join(names)}")


def _listed(folder: Path, split: str) -> frozenset[str]:
    path = first(folder, (f"Flickr_8k.{FLICKR8K_SPLITS[split]}.txt", f"{split}.txt"))
    return frozenset(path.read_text().split())


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        if path.suffix == ".token" or path.name.endswith(".token.txt"):
            for line in stream:
                name, _, text = line.partition("\t")
                yield name.rpartition("#")[0], text
        elif path.suffix == ".csv":
            next(stream, None)
            for line in stream:
                name, _, rest = line.partition("|")
                # A line of Flickr30k lacks the bar after the number.
                yield name.strip(), re.sub(r"^\s*\d+\s*\|?", "", rest)
        else:
            rows = separated(path, stream, ",")
            next(rows, None)
            yield from ((row[0], ",".join(row[1:])) for row in rows if row)
