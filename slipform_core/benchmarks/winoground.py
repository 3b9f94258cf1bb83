"""Winoground: two pictures and two captions of the same words in another order."""

from pathlib import Path

from slipform_core.benchmarks.collect import Collector, fields, json_lines
from slipform_core.benchmarks.items import Benchmark
from slipform_core.benchmarks.pictures import Pictures
from slipform_core.sources.places import first

FETCH = "`slipform data fetch winoground` says how to get it"
UNPACK = "unpack images.zip there"
PROTOCOL = (
    "Winoground (arXiv 2204.03162): text, each picture prefers its own caption; image, each caption prefers "
    "its own picture; group, both; strict, a tie is wrong"
)


def winoground(data: Path, *, partial: bool = False) -> Benchmark:
    """One subset, "all", of the lines {image_0, image_1, caption_0, caption_1} of examples.jsonl."""
    folder = first(data, ("winoground",), FETCH)
    path = first(folder, ("examples.jsonl", "data/examples.jsonl"), FETCH)
    images = first(folder, ("images/images", "images", "data/images/images", "data/images"), UNPACK)
    pictures, collect = Pictures(images), Collector("winoground")
    for number, item in json_lines(path):
        names, captions = (
            fields(path, number, item, (f"{what}_0", f"{what}_1")) for what in ("image", "caption")
        )
        names = [f"{name.removesuffix('.png')}.png" if isinstance(name, str) else name for name in names]
        photos = [pictures.photo(path, number, name) for name in names]
        collect.add("all", photos, captions, rule="winoground")
    return collect.benchmark(protocol=PROTOCOL, partial=partial, published={"all": 400})
