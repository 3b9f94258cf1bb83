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
PROTOCOL = (
    "SugarCrepe (arXiv 2306.14610): right iff the picture's cosine with its caption is strictly greater than "
    "with the negative; a tie is wrong"
)
PROTOCOL_PP = (
    "SugarCrepe++ (arXiv 2406.11171): ITT, both captions beat the negative at the picture; TOT, they are "
    "nearer to each other than either to the negative; strict"
)


def val2017(data: Path) -> Path:
    """The folder of COCO's val2017."""
    return first(data, coco("val2017"), "`slipform data fetch coco-val2017` has the pictures")


def sugarcrepe(data: Path, *, partial: bool = False) -> Benchmark:
    """The seven subsets of {key: {filename, caption, negative_caption}}; keys need not be consecutive."""
    collect = _read(data, "sugarcrepe", ("sugarcrepe",), ("caption", "negative_caption"), rule="choice")
    return collect.benchmark(protocol=PROTOCOL, partial=partial, published=PUBLISHED, groups=GROUPS)


def sugarcrepe_pp(data: Path, *, partial: bool = False) -> Benchmark:
    """The five subsets of [{filename, caption, caption2, negative_caption}]."""
    captions = ("caption", "caption2", "negative_caption")
    collect = _read(data, "scpp", ("sugarcrepe-pp", "scpp"), captions, rule="scpp")
    published = {subset: PUBLISHED[subset] for subset in SUBSETS["scpp"]}
    groups = {name: subsets for name, subsets in GROUPS.items() if name != "add"}
    return collect.benchmark(protocol=PROTOCOL_PP, partial=partial, published=published, groups=groups)


def _read(data: Path, name: str, folders: tuple[str, ...], captions: tuple[str, ...], rule: str) -> Collector:
    hint = f"`slipform data fetch {folders[0]}` has the texts"
    folder, pictures, collect = first(data, folders, hint), Pictures(val2017(data)), Collector(name)
    for subset in SUBSETS[name]:
        path = first(folder, (f"{subset}.json",), hint)
        for key, item in entries(path):
            picture, *texts = fields(path, key, item, ("filename", *captions))
            collect.add(subset, [pictures.photo(path, key, picture)], texts, rule=rule)
    return collect
