"""COLA's matching of several objects: two pictures of Visual Genome and a caption of each."""

from pathlib import Path

from slipform_core.benchmarks.collect import Collector, entries
from slipform_core.benchmarks.items import Benchmark
from slipform_core.benchmarks.pictures import VISUAL_GENOME, Pictures
from slipform_core.mistakes import Mistake
from slipform_core.sources.places import first

FILE = "COLA_multiobjects_matching_benchmark.json"
FETCH = "it is at https://github.com/arijitray1993/COLA"
PROTOCOL = (
    "COLA, multi-object matching (arXiv 2305.03689): the published metric is image, each caption strictly "
    "prefers its own picture; text and group as Winoground's beside it"
)


def cola(data: Path, *, partial: bool = False) -> Benchmark:
    """One subset, "all", of [[address of a picture, its caption, address of another, its caption]]."""
    path = first(data, (f"cola/data/{FILE}", f"cola/{FILE}"), FETCH)
    pictures, collect = Pictures(data, VISUAL_GENOME), Collector("cola")
    for number, item in entries(path):
        if not isinstance(item, list) or len(item) != 4:
            raise Mistake(f"{path}: item {number} is not [picture, caption, picture, caption]")
        names = [name.rpartition("/")[2] if isinstance(name, str) else name for name in item[::2]]
        photos = [pictures.photo(path, number, name) for name in names]
        collect.add("all", photos, item[1::2], rule="winoground")
    return collect.benchmark(protocol=PROTOCOL, partial=partial, published={"all": 210})
