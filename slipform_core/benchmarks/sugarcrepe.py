"""SugarCrepe and SugarCrepe++: captions of COCO's val2017 against ones with words changed."""

from pathlib import Path

from slipform_core.benchmarks.collect import Collector, entries, fields
from slipform_core.benchmarks.items import Benchmark
from slipform_core.benchmarks.pictures import Pictures, coco
from slipform_core.metrics import SEVEN, SUBSETS
from slipform_core.sources.places import first

GROUPS = {
    "add": ("add_obj", "add_att"),
    "replace": ("replace_obj", "replace_att", "replace_rel"),
    "swap": ("swap_obj", "swap_att"),
}
PUBLISHED = dict(zip(SEVEN, (2062, 692, 1652, 788, 1406, 245, 666), strict=True))
CAPTIONS_PP = ("filename", "caption", "caption2", "negative_caption")
PROTOCOL = (
    "SugarCrepe (arXiv 2306.14610): right iff the picture's cosine with its caption is strictly greater than "
    "with the negative; a tie is wrong"
)
PROTOCOL_PP = (
    "SugarCrepe++ (arXiv 2406.11171): ITT, both captions beat the negative at the picture; TOT, they are "
    "nearer to each other than either to the negative; strict"
)


def val2017(data: Path) -> Path:
    return first(data, coco("val2017"), "`slipform data fetch coco-val2017` has the pictures")


def sugarcrepe(data: Path, *, partial: bool = False) -> Benchmark:
    """The seven subsets of {key: {filename, caption, negative_caption}}; keys need not be consecutive."""
    folder = first(data, ("sugarcrepe",), "`slipform data fetch sugarcrepe` has the texts")
    pictures, collect = Pictures(val2017(data), (".",)), Collector("sugarcrepe")
    for subset in SEVEN:
        path = first(folder, (f"{subset}.json",), "`slipform data fetch sugarcrepe` has it")
        for key, item in entries(path):
            name, *captions = fields(path, key, item, ("filename", "caption", "negative_caption"))
            collect.add(subset, [pictures.photo(path, key, name)], captions, rule="choice")
    return collect.benchmark(protocol=PROTOCOL, partial=partial, published=PUBLISHED, groups=GROUPS)


def sugarcrepe_pp(data: Path, *, partial: bool = False) -> Benchmark:
    """The five subsets of [{filename, caption, caption2, negative_caption}]."""
    folder = first(data, ("sugarcrepe-pp", "scpp"), "`slipform data fetch sugarcrepe-pp` has the texts")
    pictures, collect = Pictures(val2017(data), (".",)), Collector("scpp")
    for subset in SUBSETS["scpp"]:
        path = first(folder, (f"{subset}.json",), "`slipform data fetch sugarcrepe-pp` has it")
        for number, item in entries(path):
            name, *captions = fields(path, number, item, CAPTIONS_PP)
            collect.add(subset, [pictures.photo(path, number, name)], captions, rule="scpp")
    published = {subset: PUBLISHED[subset] for subset in SUBSETS["scpp"]}
    groups = {name: subsets for name, subsets in GROUPS.items() if name != "add"}
    return collect.benchmark(protocol=PROTOCOL_PP, partial=partial, published=published, groups=groups)
