"""One's own items: JSON, JSON lines or CSV."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from slipform_core.benchmarks.collect import Collector, entries, fields, json_lines
from slipform_core.benchmarks.items import Benchmark, Photo
from slipform_core.benchmarks.pictures import Pictures
from slipform_core.datasets.layout import separated
from slipform_core.files import whole, write_text
from slipform_core.mistakes import Mistake

# Of each rule the pictures of an item, and the fewest and the most captions.
RULES = {"choice": (1, 2, None), "winoground": (2, 2, 2), "scpp": (1, 3, 3)}
MAY_BE_EMPTY = ("id", "subset", "rule", "image2", "caption2")
LONGEST = 100_000  # characters of a caption, far beyond what any model reads
SAME_TEXTS, SAME_PICTURES = "captions are equal", "pictures are equal"
PROTOCOL = (
    "own items of {}: choice, right iff the picture's cosine with the first caption is strictly greater than "
    "with each other; winoground and scpp as Winoground and SugarCrepe++; a tie is wrong"
)


def own(path: Path, images: Path | None = None, *, partial: bool = False) -> Benchmark:
    """Items of a .json (a list, or an object by id), a .jsonl (one a line) or a .csv (with a header).

    An item has these fields; others are ignored:

    id        optional: what an error calls the item by, else its number
    subset    optional: the subset that its score counts in, "all" unless said
    image     the picture's path from `images`, or from the file's folder; two pictures: "image" and "image2",
              or in JSON "images", a list of one or two
    captions  in JSON a list, the picture's own caption first; of two pictures the caption of each. Instead,
              and in CSV: "caption" and "negative_caption"; of two pictures "caption" and "caption2"; for
              "scpp" "caption", "caption2" and "negative_caption"
    rule      optional, one for all items. "choice": one picture, its own caption and others, which are all
              wrong. "winoground": two pictures and two captions. "scpp": a picture, two captions that are
              true of it and one that is not. Unless said, one picture is "choice" and two are "winoground";
              "scpp" must be said

    In CSV a cell of id, subset, rule, image2 or caption2 may be empty. Items whose pictures are equal, or
    whose captions are that have to differ, but for case and blanks, are left out and counted where `partial`,
    else refused. The benchmark is "own_" and the file's name. Mistake names the file, the item and the field.
    """
    if not path.is_file():
        raise Mistake(f"{path} does not exist, or is a folder")
    readers = {".json": entries, ".jsonl": json_lines, ".csv": _rows}
    if path.suffix.lower() not in readers:
        raise Mistake(f"{path}: own items are in a file that ends in one of {', '.join(readers)}")
    pictures = Pictures(images or path.parent)
    collect = Collector("own_" + "-".join(path.stem.replace("/", "-").split()))
    seen: dict[str, Any] = {}
    for number, item in readers[path.suffix.lower()](path):
        fields(path, number, item, ())
        name = item.get("id") or number
        names = _pictures(path, name, item)
        captions = _captions(path, name, item, len(names))
        _check_length(path, name, captions)
        rule = _rule(path, name, item, len(names), len(captions))
        if len(seen := {rule: name} | seen) > 1:
            says = " and ".join(f"item {one} {said!r}" for said, one in seen.items())
            raise Mistake(f"{path}: 'rule' of {says}: a file has items of one rule")
        photos = [pictures.photo(path, name, picture) for picture in names]
        subset = _subset(path, name, item)
        if same := _same(photos, captions, rule):
            collect.left_out[same] += 1
        else:
            collect.add(subset, photos, captions, rule=rule)
    return collect.benchmark(protocol=PROTOCOL.format(path.name), partial=partial)


def write_own(benchmark: Benchmark, subsets: Iterable[str], folder: Path) -> Path:
    """The first picture and the captions of a benchmark's items, as PNG files and items.json, for `own`.

    Of benchmarks whose pictures are an array.
    """
    items = []
    for key in subsets:
        for [picture, *_], captions in zip(
            benchmark.subsets[key].pictures, benchmark.subsets[key].captions, strict=True
        ):
            name = f"{picture:06d}.png"
            with whole(folder / name) as partial:
                Image.fromarray(benchmark.pictures[picture]).save(partial, format="PNG")
            texts = [benchmark.texts[caption] for caption in captions]
            items.append({"subset": key.partition("/")[2], "image": name, "captions": texts})
    write_text(folder / "items.json", json.dumps(items, indent=0))
    return folder / "items.json"


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The number of each row below the header, and its cells by the header's names."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = filter(None, separated(path, stream, ","))
        try:
            header = [name.strip() for name in next(rows, [])]
            if len(set(header)) < len(header) or not {"image", "caption"} <= set(header):
                raise Mistake(
                    f"{path} has the columns {', '.join(map(repr, header)) or 'of an empty file'}; expected, "
                    "each once and with commas between them, image, caption, negative_caption or caption2"
                )
            for number, row in enumerate(rows, start=1):
                if len(row) != len(header):
                    raise Mistake(f"{path}: item {number} has {len(row)} cells, the header {len(header)}")
                cells = zip(header, row, strict=True)
                yield number, {name: cell for name, cell in cells if cell.strip() or name not in MAY_BE_EMPTY}
        except UnicodeDecodeError as error:
            raise Mistake(f"{path} is not UTF-8, {error.reason}: save it as that") from None


def _same(photos: Sequence[Photo], captions: Sequence[Any], rule: str) -> str:
    """What of an item is equal and has to differ, as a reason to leave it out."""
    if len(set(photos)) < len(photos):
        return SAME_PICTURES
    said = [" ".join(text.lower().split()) if isinstance(text, str) else text for text in captions]
    return SAME_TEXTS if said[0] in said[1:] or (rule == "scpp" and said[1] == said[2]) else ""


def _pictures(path: Path, name: Any, item: Mapping[str, Any]) -> list[Any]:
    if "images" not in item:
        return fields(path, name, item, ("image", "image2") if "image2" in item else ("image",))
    if not isinstance(item["images"], list):
        raise Mistake(f"{path}: item {name}: 'images' is {item['images']!r}, expected a list of one or two")
    return item["images"]


def _captions(path: Path, name: Any, item: Mapping[str, Any], pictures: int) -> list[Any]:
    if "captions" not in item:
        both = "caption2" in item
        more = ("caption2",) * both + ("negative_caption",) * (not both or pictures == 1)
        return fields(path, name, item, ("caption", *more))
    if not isinstance(item["captions"], list):
        raise Mistake(f"{path}: item {name}: 'captions' is {item['captions']!r}, expected a list of texts")
    return item["captions"]


def _check_length(path: Path, name: Any, captions: Iterable[Any]) -> None:
    for text in captions:
        if isinstance(text, str) and len(text) > LONGEST:
            raise Mistake(
                f"{path}: item {name} has a caption of {len(text):,} characters, at most {LONGEST:,}"
            )


def _rule(path: Path, name: Any, item: Mapping[str, Any], pictures: int, captions: int) -> str:
    """The rule that is said or guessed; Mistake where the numbers do not fit it."""
    if "rule" not in item and pictures == 1 and "caption2" in item:
        raise Mistake(
            f"{path}: item {name} has 'caption2' and no 'rule': say scpp if it is true of the picture"
        )
    rule = item.get("rule", "choice" if pictures == 1 else "winoground")
    if not isinstance(rule, str) or rule not in RULES:
        raise Mistake(f"{path}: item {name}: 'rule' is {rule!r}, expected one of {', '.join(RULES)}")
    wanted, least, most = RULES[rule]
    if pictures != wanted or captions < least or captions > (most or captions):
        number = f"{least}" if most else f"{least} or more"
        raise Mistake(
            f"{path}: item {name} has {pictures} pictures ('images') and {captions} captions ('captions'); "
            f"{rule} takes {wanted} and {number}"
        )
    return rule


def _subset(path: Path, name: Any, item: Mapping[str, Any]) -> str:
    subset = item.get("subset", "all")
    if not isinstance(subset, str) or not subset.strip() or "/" in subset:
        raise Mistake(f"{path}: item {name}: 'subset' is {subset!r}, expected a name without a slash")
    if re.fullmatch(r"micro|macro-\d+", subset.strip()):
        raise Mistake(f"{path}: item {name}: 'subset' is {subset!r}, which is what averages are called")
    return subset.strip()
