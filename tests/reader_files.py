"""What the tests of readers share: small pictures, files of items, and a benchmark as what it shows."""

import json
from pathlib import Path

from PIL import Image

from slipform_core.benchmarks import Benchmark

Shown = dict[str, list[tuple[tuple, tuple[str, ...]]]]


def pictures(folder: Path, *names: str) -> None:
    """Pictures of 40 x 40, each of another grey."""
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (40, 40), number).save(folder / name)


def write(path: Path, tree) -> Path:
    """A JSON file, or one of a line an item where the name ends so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "\n".join(map(json.dumps, tree)) if path.suffix == ".jsonl" else json.dumps(tree)
    path.write_text(lines)
    return path


def shown(benchmark: Benchmark) -> Shown:
    """Subset -> (place or (place, box) of each picture, captions) of each item."""
    assert len(set(benchmark.pictures)) == len(benchmark.pictures)
    assert len(set(benchmark.texts)) == len(benchmark.texts)
    found: Shown = {}
    for key, items in benchmark.subsets.items():
        name, _, subset = key.partition("/")
        assert name == benchmark.name
        for of_item, captions in zip(items.pictures, items.captions, strict=True):
            photos = [benchmark.pictures[picture] for picture in of_item]
            places = tuple(tuple(photo) if photo.box else photo.place for photo in photos)
            texts = tuple(benchmark.texts[caption] for caption in captions)
            found.setdefault(subset, []).append((places, texts))
    return found


def rules(benchmark: Benchmark) -> set[str]:
    return {items.rule for items in benchmark.subsets.values()}
