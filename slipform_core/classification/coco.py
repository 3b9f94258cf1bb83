"""COCO's objects as labels of its pictures."""

from collections import Counter, defaultdict
from pathlib import Path

from slipform_core.benchmarks.items import Photo
from slipform_core.benchmarks.pictures import coco, coco_annotations
from slipform_core.classification.labels import MultiLabelSet
from slipform_core.mistakes import Mistake
from slipform_core.sources import photographs
from slipform_core.sources.annotations import items
from slipform_core.sources.places import first

PICTURES = {"train2014": 82_783, "val2014": 40_504, "train2017": 118_287, "val2017": 5_000}

Part = list[tuple[Photo, frozenset[str]]]


def coco_objects(
    data: Path, *, train: str = "train2014", test: str = "val2014", partial: bool = False
) -> MultiLabelSet:
    """The categories of each picture of two years by instances_*.json; of pictures without any, none.

    What is annotated as a crowd only counts. Raises Mistake where a picture is missing or a number is another
    than published, unless `partial`.
    """
    left_out: Counter[str] = Counter()
    parts = {year: _part(data, year, left_out) for year in (train, test)}
    wrong = [f"{count:,} pictures of {year} are missing" for year, count in left_out.items()] or [
        f"{year} has {len(part):,} pictures, published {PICTURES[year]:,}"
        for year, part in parts.items()
        if len(part) != PICTURES[year]
    ]
    if not all(parts.values()) or (wrong and not partial):
        raise Mistake(f"coco objects: {'; '.join(wrong)}{'' if partial else '; --partial takes the rest'}")
    bare = ", ".join(f"{sum(not objects for _, objects in part):,} of {year}" for year, part in parts.items())
    source = (
        f"COCO's instances, {train} and {test}; what is only in a crowd counts; "
        f"pictures without objects are kept: {bare}"
    )
    return MultiLabelSet("coco", parts[train], parts[test], source, left_out)


def _part(data: Path, year: str, left_out: Counter[str]) -> Part:
    if year not in PICTURES:
        raise Mistake(f"COCO has no {year!r}; the choices are: {', '.join(PICTURES)}")
    annotated = coco_annotations(f"instances_{year}.json")
    path = first(data, annotated, "`slipform data fetch coco-captions` has it")
    images = first(data, coco(year), f"the pictures of {year} go there")
    names = {category["id"]: category["name"] for category in items(path, "categories.item")}
    objects: dict[int, set[str]] = defaultdict(set)
    for each in items(path, "annotations.item"):
        objects[each["image_id"]].add(names[each["category_id"]])
    part: Part = []
    for image in items(path, "images.item"):
        photo = Photo(str(images / image["file_name"]))
        if photographs.exists(photo.place):
            part.append((photo, frozenset(objects[image["id"]])))
        else:
            left_out[year] += 1
    return part
