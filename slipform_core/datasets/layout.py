"""How public data lie on disk, for those who count them and those who read them."""

import csv
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from slipform_core.datasets.errors import DataError

LEAK = (
    "val2014 holds val2017, on whose pictures SugarCrepe tests: a model trained on it has seen the test; "
    "train2014 alone does not leak"
)
KARPATHY_LEAK = f"Karpathy's splits, but for train2014 alone, have pictures of val2014, and {LEAK}"
# Karpathy's splits that people train on.
TRAIN = ("train", "restval")
FLICKR_PICTURES = ("images", "Images", "Flicker8k_Dataset", "flickr30k-images", "flickr30k_images", ".")
FLICKR8K_CAPTIONS = ("captions.txt", "Flickr8k.token.txt")
FLICKR8K_SPLITS = {"train": "trainImages", "val": "devImages", "test": "testImages"}
CELL = 1 << 24  # characters, the most of a cell


def json_items(path: Path, prefix: str) -> Iterator[Any]:
    """The entries of a list in a JSON file, such as "images.item", one in memory at a time."""
    import ijson

    with path.open("rb") as stream:
        yield from ijson.items(stream, prefix, use_float=True)


def flickr_captions(path: Path) -> Iterator[tuple[str, str]]:
    """The picture's name and the caption of each line, also of lines without a name.

    A path ends in .token or .token.txt (name#number, tab, caption), in .csv (name| number| caption), or else
    its lines are image,caption. Raises DataError where a quote is left open.
    """
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        if path.name.endswith((".token", ".token.txt")):
            for line in stream:
                name, _, text = line.partition("\t")
                name = name.rpartition("#")[0]
                # Flickr8k's file captions a .jpg.1, of which there is no picture.
                if not name.endswith(".jpg.1"):
                    yield name, text
        elif path.suffix == ".csv":
            next(stream, None)
            for line in stream:
                name, _, rest = line.partition("|")
                # A line of Flickr30k lacks the bar after the number.
                yield name.strip(), re.sub(r"^\s*\d+\s*\|?", "", rest)
        else:
            for number, row in enumerate(filter(None, separated(path, stream, ","))):
                # A first line that names no file is a header.
                if number or "." in row[0]:
                    yield row[0], ",".join(row[1:])


def flickr_listed(path: Path) -> frozenset[str]:
    """The names in a list of a split."""
    return frozenset(path.read_text(encoding="utf-8-sig", errors="replace").split())


def separated(path: Path, lines: Iterable[str], separator: str) -> Iterator[list[str]]:
    """The rows of a text; DataError names the line where a cell does not end."""
    csv.field_size_limit(CELL)
    rows = csv.reader((line.replace("\0", "") for line in lines), delimiter=separator)
    try:
        yield from rows
    except csv.Error as error:
        raise DataError(f"{path}, line {rows.line_num}: {error}; is a quote left open?") from None
