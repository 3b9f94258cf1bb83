"""Counting what datasets hold: large files as streams, pictures by name where the names are known."""

import json
import os
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from slipform_core.datasets.errors import DataError
from slipform_core.datasets.kinds import Found
from slipform_core.datasets.layout import (
    FLICKR8K_CAPTIONS,
    FLICKR8K_SPLITS,
    FLICKR_PICTURES,
    TRAIN,
    flickr_captions,
    flickr_listed,
    json_items,
)

INSIDE = (".", "annotations", "data")
NEAR = (*INSIDE, "../annotations", "../coco-captions/annotations")
IMAGENET = ("val", "ILSVRC/Data/CLS-LOC/val", ".")
PICTURES = (".jpg", ".jpeg", ".png")


def coco_captions(folder: Path, name: str) -> dict[str, Found]:
    """Pictures and captions of a captions file of COCO."""
    path = place(folder, name)
    prefixes = {"pictures": "images.item", "captions": "annotations.item"}
    return {what: Found(sum(1 for _ in json_items(path, prefix))) for what, prefix in prefixes.items()}


def coco_pictures(folder: Path, name: str) -> dict[str, Found]:
    """The pictures of a year on disk, by the names in its captions file if that is near."""
    present = _present(_first(folder, (name, ".")))
    try:
        captions = place(folder, f"captions_{name}.json", NEAR)
    except DataError:
        count = sum(picture.lower().endswith(PICTURES) for picture in present)
        return {"pictures": Found(count, f"names not compared: no captions_{name}.json near")}
    return {
        "pictures": _compared((image["file_name"] for image in json_items(captions, "images.item")), present)
    }


def karpathy(folder: Path, name: str) -> dict[str, Found]:
    """Pictures and captions of each split of Karpathy's file; what trains is "train" and "restval"."""
    pictures, captions = Counter(), Counter()
    for image in json_items(place(folder, name), "images.item"):
        splits = ["all", image["split"]] + ["train + restval"] * (image["split"] in TRAIN)
        pictures.update(splits)
        captions.update(dict.fromkeys(splits, len(image["sentences"])))
    counted = {f"{split} pictures": Found(count) for split, count in pictures.items()}
    return counted | {f"{split} captions": Found(count) for split, count in captions.items()}


def foils(folder: Path, name: str) -> dict[str, Found]:
    """The items of SugarCrepe's file that are whole."""
    return _whole(folder, name, ("filename", "caption", "negative_caption"))


def paraphrases(folder: Path, name: str) -> dict[str, Found]:
    """The items of SugarCrepe++'s file that are whole."""
    return _whole(folder, name, ("filename", "caption", "caption2", "negative_caption"))


def flickr8k_captions(folder: Path, name: str) -> dict[str, Found]:
    captioned = _captioned(folder)
    return {"pictures": Found(len(captioned)), "captions": Found(captioned.total())}


def flickr8k_splits(folder: Path, name: str) -> dict[str, Found]:
    """Pictures of the official lists; names without captions, such as a bogus first line, are no pictures."""
    captioned = _captioned(folder)
    counted = {}
    for file in FLICKR8K_SPLITS.values():
        split = file.removesuffix("Images")
        listed = flickr_listed(place(folder, f"Flickr_8k.{file}.txt"))
        others = len(listed - captioned.keys())
        detail = f"{others} more listed without captions" if others else ""
        counted[split] = Found(len(listed & captioned.keys()), detail)
    return counted


def flickr8k_pictures(folder: Path, name: str) -> dict[str, Found]:
    return {"pictures": _compared(sorted(_captioned(folder)), _present(_first(folder, FLICKR_PICTURES)))}


def flickr30k_pictures(folder: Path, name: str) -> dict[str, Found]:
    splits = place(folder, "dataset_flickr30k.json")
    names = (image["filename"] for image in json_items(splits, "images.item"))
    return {"pictures": _compared(names, _present(_first(folder, FLICKR_PICTURES)))}


def imagenet_pictures(folder: Path, name: str) -> dict[str, Found]:
    """The validation pictures, together or in a folder a class."""
    root = _first(folder, IMAGENET)
    present = _present(root).union(*(_present(path) for path in root.iterdir() if path.is_dir()))
    names = (f"ILSVRC2012_val_{number:08d}.JPEG" for number in range(1, 50_001))
    return {"pictures": _compared(names, present)}


def winoground_examples(folder: Path, name: str) -> dict[str, Found]:
    fields = ("image_0", "image_1", "caption_0", "caption_1")
    return {"examples": Found(sum(_has(example, fields) for example in _winoground(folder)))}


def winoground_pictures(folder: Path, name: str) -> dict[str, Found]:
    """The pictures that the examples name, unpacked or in images.zip."""
    try:
        present = _present(place(folder, "images"))
    except DataError:
        with zipfile.ZipFile(place(folder, "images.zip")) as opened:
            present = set(opened.namelist())
    stems = {Path(picture).stem for picture in present}
    names = (Path(example[f"image_{side}"]).stem for example in _winoground(folder) for side in (0, 1))
    return {"pictures": _compared(names, stems)}


def place(folder: Path, name: str, folders: Sequence[str] = INSIDE) -> Path:
    """Where a file is, in the first that has it of some folders seen from the dataset's own."""
    for inside in folders:
        if (folder / inside / name).exists():
            return folder / inside / name
    raise DataError(f"{folder} has no {name}")


def _first(folder: Path, names: Sequence[str]) -> Path:
    return next(folder / name for name in names if (folder / name).is_dir())


def _whole(folder: Path, name: str, fields: Sequence[str]) -> dict[str, Found]:
    tree = json.loads(place(folder, name).read_bytes())
    items = tree.values() if isinstance(tree, dict) else tree
    return {"items": Found(sum(_has(item, fields) for item in items))}


def _has(item: Any, fields: Sequence[str]) -> bool:
    texts = [item.get(field) for field in fields] if isinstance(item, dict) else [None]
    return all(isinstance(text, str) and text.strip() for text in texts)


def _captioned(folder: Path) -> Counter[str]:
    """How many captions each picture of Flickr8k has."""
    path = next((folder / name for name in FLICKR8K_CAPTIONS if (folder / name).is_file()), None)
    if path is None:
        raise DataError(f"{folder} has none of: {', '.join(FLICKR8K_CAPTIONS)}")
    return Counter(name for name, _ in flickr_captions(path) if name)


def _winoground(folder: Path) -> Iterator[dict[str, Any]]:
    with place(folder, "examples.jsonl").open(encoding="utf-8") as stream:
        yield from (json.loads(line) for line in stream if line.strip())


def _present(folder: Path) -> set[str]:
    """The names of the files of a folder that are not empty."""
    with os.scandir(folder) as entries:
        return {entry.name for entry in entries if entry.is_file() and entry.stat().st_size}


def _compared(names: Iterable[str], present: set[str]) -> Found:
    wanted = list(dict.fromkeys(names))
    missing = [name for name in wanted if name not in present]
    more = f" and {len(missing) - 3:,} more" if len(missing) > 3 else ""
    return Found(len(wanted) - len(missing), f"missing: {', '.join(missing[:3])}{more}" if missing else "")
