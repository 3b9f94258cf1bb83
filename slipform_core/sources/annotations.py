"""COCO's captions and Karpathy's splits: rows read as a stream, whatever the size of the file."""

import reprlib
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

from more_itertools import always_iterable

from slipform_core.datasets.layout import KARPATHY_LEAK, TRAIN, json_items
from slipform_core.sources import photographs
from slipform_core.sources.catalogue import Row
from slipform_core.sources.errors import SourceError

# What `split` may say: Karpathy's training split is "train" and "restval", train2014 the folder of a picture.
KARPATHY = {
    "train2014": lambda image: image.get("filepath") == "train2014",
    "train": lambda image: image.get("split") in TRAIN,
    "val": lambda image: image.get("split") == "val",
    "test": lambda image: image.get("split") == "test",
}
NOWHERE = "caption of no picture"
NO_TEXT = "no caption"


def coco(path: Path, images: Path) -> Iterator[Row]:
    """The rows of COCO's captions file: `images` of {id, file_name}, `annotations` of {image_id, caption}."""
    images_by_id = ((image.get("id"), image.get("file_name")) for image in items(path, "images.item"))
    names = {key: name for key, name in images_by_id if isinstance(key, Hashable)}
    for annotation in items(path, "annotations.item"):
        key = annotation.get("image_id")
        name = names.get(key) if isinstance(key, Hashable) else None
        if not isinstance(name, str):
            yield Row("", "", "", fault=NOWHERE)
        else:
            yield captioned(name, images / name, annotation.get("caption"))


def karpathy(path: Path, images: Path, split: str) -> Iterator[Row]:
    """The rows of a split of Karpathy's dataset_{coco,flickr8k,flickr30k}.json; see `KARPATHY` for COCO's."""
    for image in items(path, "images.item"):
        if KARPATHY[split](image):
            name, year = _text(image, "filename") or "", _text(image, "filepath") or ""
            # COCO's pictures lie in a folder a year, Flickr's in one.
            place = images / year / name
            place = place if photographs.exists(str(place)) else images / name
            for sentence in always_iterable(image.get("sentences"), (str, dict)):
                row = captioned(name, place, _text(sentence, "raw"))
                yield row._replace(note=KARPATHY_LEAK if year == "val2014" else "")


def usual(path: Path) -> str:
    """The split of Karpathy's file to train on: of COCO train2014 alone, the rest of "train" leaks."""
    return "train2014" if _text(next(items(path, "images.item")), "filepath") else "train"


def captioned(name: str, place: Path, text: Any) -> Row:
    """A row, or one that counts as having no caption."""
    if not isinstance(text, str) or not name:
        return Row(name, "", "", fault=NO_TEXT)
    return Row(name, name, str(place), text)


def _text(tree: Any, key: str) -> str | None:
    text = tree.get(key) if isinstance(tree, dict) else None
    return text if isinstance(text, str) else None


def items(path: Path, prefix: str) -> Iterator[dict[str, Any]]:
    """The objects of a list in a JSON file, one in memory at a time; SourceError names what is wrong."""
    import ijson

    count = 0
    try:
        for item in json_items(path, prefix):
            if not isinstance(item, dict):
                raise SourceError(f"{path}: {prefix!r} holds {reprlib.repr(item)}, expected objects")
            count += 1
            yield item
    except (ijson.JSONError, UnicodeDecodeError) as error:
        why = str(error).splitlines()[0]
        raise SourceError(f"{path} is no JSON after {count} entries of {prefix!r}: {why}") from None
    if not count:
        raise SourceError(f"{path} has no {prefix.removesuffix('.item')!r}; it has: {', '.join(_keys(path))}")


def _keys(path: Path) -> list[str]:
    import ijson

    with path.open("rb") as stream:
        top = [(event, value) for prefix, event, value in ijson.parse(stream) if not prefix]
    names = [value for event, value in top if event == "map_key"]
    return names or ["a list" if top[0][0] == "start_array" else "nothing"]
