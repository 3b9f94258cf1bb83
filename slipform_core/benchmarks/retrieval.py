"""Retrieval of photographs by their captions and of captions by their photographs."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from slipform_core.benchmarks.collect import MISSING, check_whole
from slipform_core.benchmarks.items import Benchmark, Photo
from slipform_core.benchmarks.pictures import coco, coco_annotations
from slipform_core.benchmarks.sugarcrepe import val2017
from slipform_core.sources import annotations, flickr, photographs
from slipform_core.sources.catalogue import Row
from slipform_core.sources.places import first

# Of Karpathy's data sets the folders that may hold the pictures of the test, and how to get them.
KARPATHY_PICTURES = {
    "coco": (coco("val2014"), "`slipform data fetch coco-val2014` has the pictures"),
    "flickr30k": (
        tuple(f"flickr30k/{name}" for name in ("flickr30k-images", "flickr30k_images", "images", "Images")),
        "its pictures are gated: `slipform data fetch flickr30k` says where to ask",
    ),
}
# Pictures and captions.
PUBLISHED = {
    "coco": (5000, 25010),
    "flickr30k": (1000, 5000),
    "coco_val2017": (5000, 25014),
    "flickr8k": (1000, 5000),
}
PROTOCOL = (
    "every caption is a query and a candidate; R@k: at least one of its own is in the top k, a tie with "
    "another's counting against it, as where two pictures have the same caption"
)
KARPATHY = "Karpathy's test split (arXiv 1412.2306); " + PROTOCOL


def coco_retrieval(data: Path, *, partial: bool = False) -> Benchmark:
    """Karpathy's test split of COCO, which is of val2014 and shares 593 pictures with val2017."""
    return _benchmark("coco", karpathy_test(data, "coco"), KARPATHY, partial)


def flickr30k_retrieval(data: Path, *, partial: bool = False) -> Benchmark:
    """Karpathy's test split of Flickr30k."""
    return _benchmark("flickr30k", karpathy_test(data, "flickr30k"), KARPATHY, partial)


def val2017_retrieval(data: Path, *, partial: bool = False) -> Benchmark:
    """All of COCO's val2017 and its captions, the pictures of SugarCrepe."""
    captions = coco_annotations("captions_val2017.json")
    path = first(data, captions, "`slipform data fetch coco-captions` has it")
    return _benchmark("coco_val2017", annotations.coco(path, val2017(data)), PROTOCOL, partial)


def flickr8k_retrieval(data: Path, *, partial: bool = False) -> Benchmark:
    """The test list of Flickr8k."""
    folder = first(data, ("flickr8k",), "`slipform data fetch flickr8k` has it")
    return _benchmark("flickr8k", flickr.flickr(folder, None, "test"), PROTOCOL, partial)


def karpathy_test(data: Path, name: str) -> Iterator[Row]:
    """The rows of Karpathy's test split of "coco" or "flickr30k"."""
    places = (f"karpathy/dataset_{name}.json", f"{name}/dataset_{name}.json", f"dataset_{name}.json")
    path = first(data, places, "`slipform data fetch karpathy` has it")
    return annotations.karpathy(path, first(data, *KARPATHY_PICTURES[name]), "test")


def _benchmark(name: str, rows: Iterable[Row], protocol: str, partial: bool) -> Benchmark:
    """The captions whose pictures are there; Mistake where the numbers are others, unless `partial`."""
    photos: dict[str, int] = {}
    texts: dict[str, int] = {}
    there: dict[str, bool] = {}
    found, left_out, missing = [], Counter(), ""
    for row in rows:
        if row.place and row.place not in there:
            there[row.place] = photographs.exists(row.place)
        if row.fault or not row.text.strip():
            left_out[row.fault or annotations.NO_TEXT] += 1
        elif not there[row.place]:
            left_out[MISSING] += 1
            missing = missing or row.place
        else:
            query, owner = texts.setdefault(row.text, len(texts)), photos.setdefault(row.place, len(photos))
            found.append((query, owner))
    pictures, captions = PUBLISHED[name]
    wrong = [f"{count:,} captions: {why}" for why, count in left_out.items()]
    wrong += [f"the first would be {missing}"] if missing else []
    if not wrong and (len(photos), len(found)) != (pictures, captions):
        counted = f"{len(photos):,} pictures and {len(found):,} captions"
        wrong.append(f"{counted}, published {pictures:,} and {captions:,}")
    check_whole(name, wrong, some=bool(found), partial=partial)
    queries, owners = np.array(found, dtype=np.intp).T
    return Benchmark(
        name,
        tuple(Photo(place) for place in photos),
        tuple(texts),
        retrieval=(queries, owners),
        protocol=protocol,
        left_out=left_out,
    )
