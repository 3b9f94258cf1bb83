"""COCO's captions and Karpathy's splits: rows read as a stream, whatever the size of the file."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from slipform_core.datasets.layout import TRAIN, json_items
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
    names = {image.get("id"): image.get("file_name") for image in items(path, "images.item")}
    for annotation in items(path, "annotations.item"):
        name = names.get(annotation.get("image_id"))
        if not isinstance(name, str):
            yield Row("", "", "", fault=NOWHERE)
        else:
            yield captioned(name, images / name, annotation.get("caption"))


def karpathy(path: Path, images: Path, split: str) -> Iterator[Row]:
    """The rows of a split of Karpathy's dataset_{coco,flickr8k,flickr30k}.json; see `KARPATHY` for COCO's."""
    for image in items(path, "images.item"):
        if KARPATHY[split](image):
            name = image.get("filename") or ""
            # COCO's pictures lie in a folder a year, Flickr's in one.
            place = images / (image.get("filepath") or "") / name
            place = place if place.exists() else images / name
            for sentence in image.get("sentences") or ():
                yield captioned(name, place, sentence.get("raw"))


def captioned(name: str, place: Path, text: Any) -> Row:
    """A row, or one that counts as having no caption."""
    if not isinstance(text, str) or not name:
        return Row(name, "", "", fault=NO_TEXT)
    return Row(name, name, str(place), text)


def items(path: Path, prefix: str) -> Iterator[dict[str, Any]]:
    """The objects of a list in a JSON file, one in memory at a time; SourceError names what is wrong."""
    import ijson

    count = 0
    try:
        for item in json_items(path, prefix):
            if not isinstance(item, dict):
                raise SourceError(f"{path}: {prefix!r} holds {item!r}, expected objects")
            count += 1
            yield item
    except (ijson.JSONError, UnicodeDecodeError) as error:
        why = str(error).splitlines()[0]
        raise SourceError(f"{path} is no JSON after {count} entries of {prefix!r}: {why}") from None
    if not count:
        raise SourceError(f"{path} has no {prefix.removesuffix('.item')!r}; it has: {', '.join(_keys(path))}")


def _keys(path: Path) -> list[str]:
    tree = json.loads(path.read_bytes())
    return list(tree) if isinstance(tree, dict) else [f"a {type(tree).__name__}"]
