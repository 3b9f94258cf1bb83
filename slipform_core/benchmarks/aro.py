"""ARO's relations and attributes of Visual Genome: two things, or what is said of them, exchanged.

`aro_symmetric.txt` has the relations that the authors' notebook calls symmetric and leaves out of its
average (github.com/mertyg/vision-language-models-are-bows, MIT). The counts of items are those of the copies
that mteb describes (descriptive_stats: AROVisualRelation, AROVisualAttribution).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from slipform_core.benchmarks.collect import AUTHORS, Collector, entries, fields
from slipform_core.benchmarks.items import Benchmark
from slipform_core.benchmarks.pictures import VISUAL_GENOME, Pictures
from slipform_core.mistakes import Mistake
from slipform_core.sources.places import first

SYMMETRIC = Path(__file__).with_name("aro_symmetric.txt")
OTHERS = "others"
ENOUGH = 25  # items of a pair of attributes that counts
FIELDS = ("image_path", "true_caption", "false_caption", "bbox_x", "bbox_y", "bbox_w", "bbox_h")
FETCH = "https://github.com/mertyg/vision-language-models-are-bows says where it is"
PROTOCOL = (
    "ARO (arXiv 2210.01936): the picture is cropped to the box of its two things; right iff its cosine with "
    "the true caption is strictly greater than with the false one; the authors report the plain mean over "
    f"the subsets but {OTHERS!r}, here {AUTHORS}; {OTHERS!r} holds "
)


def aro_relation(data: Path, *, partial: bool = False) -> Benchmark:
    """A subset for each relation, of [{image_path, bbox_*, true_caption, false_caption, relation_name}]."""
    protocol = PROTOCOL + "the relations that the authors' notebook calls symmetric"
    symmetric = {_named(name) for line in SYMMETRIC.read_text().splitlines() for name in line.split(", ")}
    return _read(
        data, "relation", "relation_name", partial, 23_937, protocol, lambda name, _: name not in symmetric
    )


def aro_attribution(data: Path, *, partial: bool = False) -> Benchmark:
    """A subset for each ordered pair of attributes; with `attributes`, a list of two, for relation_name."""
    protocol = PROTOCOL + f"the pairs of attributes with fewer than {ENOUGH} items"
    return _read(
        data, "attribution", "attributes", partial, 28_748, protocol, lambda _, count: count >= ENOUGH
    )


def _read(
    data: Path,
    kind: str,
    field: str,
    partial: bool,
    total: int,
    protocol: str,
    counts: Callable[[str, int], bool],
) -> Benchmark:
    path = first(data, (f"aro/visual_genome_{kind}.json",), FETCH)
    rows = [(number, fields(path, number, item, (field, *FIELDS))) for number, item in entries(path)]
    named = [_subset(path, number, said) for number, (said, *_) in rows]
    counted = [name for name, count in Counter(named).items() if counts(name, count)]
    # Of one picture "A near B" and "B near A" are both items.
    pictures, collect = Pictures(data, VISUAL_GENOME), Collector(f"aro_{kind}", keep=True)
    for (number, (_, image, true, false, *box)), name in zip(rows, named, strict=True):
        photo = pictures.photo(path, number, image, _corners(path, number, box))
        collect.add(name if name in counted else OTHERS, [photo], [true, false], rule="choice")
    groups = {AUTHORS: tuple(sorted(counted))}
    return collect.benchmark(protocol=protocol, partial=partial, total=total, groups=groups)


def _named(*words: str) -> str:
    """A name without spaces and slashes, since both mean something in the name of a score."""
    return "-".join("_".join(word.split()) for word in words).replace("/", "-")


def _subset(path: Path, number: Any, said: Any) -> str:
    words = said if isinstance(said, list) else [said]
    if not words or not all(isinstance(word, str) and word.strip() for word in words):
        raise Mistake(
            f"{path}: item {number} has {said!r} where a relation or a pair of attributes is expected"
        )
    return _named(*words)


def _corners(path: Path, number: Any, box: Sequence[Any]) -> tuple[int, int, int, int]:
    """The corners of a box given by one of them and its size."""
    left, top, width, height = box
    if not all(type(length) is int for length in box) or min(width, height) < 1:
        raise Mistake(f"{path}: item {number} has the box {box}, expected x, y, width and height in pixels")
    return left, top, left + width, top + height
