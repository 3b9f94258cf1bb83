"""Benchmarks as one type: items of I pictures x C captions over unique pictures and texts, and retrieval.

`BENCHMARKS` makes those of the embedded world by name, `READERS` reads those of photographs from a folder of
data, `own` a file of one's own; `partial` scores what is there where pictures are missing.
"""

from collections.abc import Callable

from slipform_core.benchmarks.aro import aro_attribution, aro_relation
from slipform_core.benchmarks.cola import cola
from slipform_core.benchmarks.items import Benchmark, Items, Photo
from slipform_core.benchmarks.order import coco_order, flickr30k_order
from slipform_core.benchmarks.own import own, write_own
from slipform_core.benchmarks.retrieval import (
    coco_retrieval,
    flickr8k_retrieval,
    flickr30k_retrieval,
    val2017_retrieval,
)
from slipform_core.benchmarks.sugarcrepe import sugarcrepe, sugarcrepe_pp
from slipform_core.benchmarks.valse import valse
from slipform_core.benchmarks.vl_checklist import vl_checklist
from slipform_core.benchmarks.winoground import winoground
from slipform_core.benchmarks.without import without
from slipform_core.benchmarks.world import world_benchmark
from slipform_core.config import Experiment

BENCHMARKS: dict[str, Callable[[Experiment], Benchmark]] = {"world": world_benchmark}
READERS: dict[str, Callable[..., Benchmark]] = {
    "sugarcrepe": sugarcrepe,
    "scpp": sugarcrepe_pp,
    "winoground": winoground,
    "aro_relation": aro_relation,
    "aro_attribution": aro_attribution,
    "coco_order": coco_order,
    "flickr30k_order": flickr30k_order,
    "valse": valse,
    "cola": cola,
    "vl_checklist": vl_checklist,
    "coco_retrieval": coco_retrieval,
    "flickr30k_retrieval": flickr30k_retrieval,
    "val2017_retrieval": val2017_retrieval,
    "flickr8k_retrieval": flickr8k_retrieval,
}

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "Items",
    "READERS",
    "Photo",
    "own",
    "without",
    "world_benchmark",
    "write_own",
]
