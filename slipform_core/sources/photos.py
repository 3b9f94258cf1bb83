"""Photographs with captions, wherever they come from, as one source."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from PIL import Image

from slipform_core.datasets import DataError
from slipform_core.datasets.layout import FLICKR8K_SPLITS, LEAK
from slipform_core.records import Caption
from slipform_core.sources import annotations, flickr, folders, photographs, tables
from slipform_core.sources.catalogue import Catalogue, Row
from slipform_core.sources.errors import SourceError

KINDS = {
    "coco": "a captions file of COCO",
    "karpathy": "dataset_coco.json and its like; splits: train2014, train, val, test",
    "flickr": "a folder of Flickr8k or Flickr30k; splits: train, val, test, all",
    "table": "a .csv, .tsv, .jsonl or .parquet with a column of pictures and one of captions",
    "folder": "pictures, each with a .txt beside it",
    "webdataset": "a .tar or a folder of them",
}


class PhotoSource:
    """Captions of photographs, those of a picture together, and the pictures themselves."""

    def __init__(self, rows: Iterable[Row], note: str = ""):
        try:
            self._catalogue = Catalogue(rows)
        except DataError as error:
            raise SourceError(str(error)) from None
        # What the user should know of this source, such as a leak.
        self.note = "; ".join(filter(None, (note, *self._catalogue.notes)))
        if not len(self._catalogue):
            reasons = ", ".join(f"{name}: {count}" for name, count in self.faults.items())
            raise SourceError(f"the source has no captions{f' ({reasons})' if reasons else ''}")

    @property
    def faults(self) -> Counter[str]:
        """The rows that are no captions, by reason."""
        return self._catalogue.faults

    def __str__(self) -> str:
        faults = "".join(f"\n  {count:>9,} {fault}" for fault, count in self.faults.most_common())
        note = f"\nnote: {self.note}" if self.note else ""
        return f"{len(self):,} captions of {self.pictures:,} pictures{faults}{note}"

    @property
    def pictures(self) -> int:
        return self._catalogue.pictures

    def __len__(self) -> int:
        """How many captions there are."""
        return len(self._catalogue)

    def captions(self) -> Iterator[Caption]:
        return self._catalogue.captions()

    def of_picture(self, image_id: str) -> list[str]:
        """All captions of a picture."""
        return self._catalogue.of_picture(image_id)

    def has(self, image_id: str) -> bool:
        """Whether the file of a picture is there; what is in it is seen when it is read."""
        return photographs.exists(self._catalogue.place(image_id))

    def check_pictures(self) -> None:
        """Raise SourceError where not one of the pictures is there."""
        if not any(map(photographs.exists, self._catalogue.places())):
            place = next(self._catalogue.places())
            raise SourceError(
                f"none of the {self.pictures:,} pictures is there, the first would be {place}: say --images"
            )

    def picture(self, image_id: str, side: int) -> Image.Image:
        """The picture as a square of `side` pixels, see `photographs.read`; raises BadPicture."""
        return photographs.read(self._catalogue.place(image_id), side)


def photos(
    path: Path,
    *,
    kind: str = "",
    split: str = "",
    images: Path | None = None,
    picture_column: str = "",
    caption_column: str = "",
) -> PhotoSource:
    """The source at a path: `kind` is one of `KINDS`, guessed where it is empty.

    split: of Karpathy's file (unless said "train", of COCO "train2014", since its "train" leaks SugarCrepe's
    pictures) and of Flickr (unless said "train", or "all" without lists of splits). images: the folder that
    paths of pictures start from, beside the file unless said. Raises SourceError in one line.
    """
    if not path.exists():
        raise SourceError(f"{path} does not exist")
    kind = kind or guess(path)
    if kind not in KINDS:
        raise SourceError(f"unknown kind of source {kind!r}; the choices are: {', '.join(KINDS)}")
    root = images or (path if path.is_dir() else path.parent)
    if kind == "karpathy":
        split = _split(split, annotations.KARPATHY) or annotations.usual(path)
        return PhotoSource(annotations.karpathy(path, root, split))
    if kind == "flickr":
        asked = _split(split, (*FLICKR8K_SPLITS, "all"))
        split = asked or flickr.usual(path)
        note = flickr.UNLISTED if split == "all" and not asked else ""
        return PhotoSource(flickr.flickr(path, images, split), note)
    if split:
        raise SourceError(f"{path} is read as {kind!r}, which has no splits: leave out {split!r}")
    if kind == "coco":
        ours = re.search("val20(14|17)", path.name)
        leak = f"these pictures are of {ours[0]}, and {LEAK}" if ours else ""
        return PhotoSource(annotations.coco(path, root), leak)
    reads: dict[str, Callable[[], Iterator[Row]]] = {
        "table": partial(tables.table, path, root, picture_column, caption_column),
        "folder": partial(folders.folder, path),
        "webdataset": partial(folders.shards, path),
    }
    return PhotoSource(reads[kind]())


def guess(path: Path) -> str:
    """The kind of source that a path looks like; SourceError with the choices where it looks like none."""
    if path.is_dir():
        if any((path / name).is_file() for name in flickr.CAPTIONS):
            return "flickr"
        return "webdataset" if any(path.glob("*.tar")) else "folder"
    suffix = path.suffix.lower()
    if suffix in tables.SUFFIXES:
        return "table"
    if suffix == ".tar":
        return "webdataset"
    if suffix == ".json":
        with path.open("rb") as stream:
            return "karpathy" if b'"sentences"' in stream.read(1 << 20) else "coco"
    choices = "; ".join(f"{name} ({what})" for name, what in KINDS.items())
    raise SourceError(f"what kind of source is {path}? Say --kind, one of: {choices}")


def _split(split: str, choices: Iterable[str]) -> str:
    if split and split not in choices:
        raise SourceError(f"unknown split {split!r}; the choices are: {', '.join(choices)}")
    return split
