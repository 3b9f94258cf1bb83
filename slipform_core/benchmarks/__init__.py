"""Benchmarks as one type: items of I pictures x C captions over unique pictures and texts, and retrieval.

`BENCHMARKS` makes those of the embedded world by name, `READERS` reads those of photographs from a folder of
data; `partial` scores what is there where pictures are missing.
"""

from collections.abc import Callable

from slipform_core.benchmarks.items import Benchmark, Items, Photo
from slipform_core.benchmarks.sugarcrepe import sugarcrepe, sugarcrepe_pp
from slipform_core.benchmarks.world import world_benchmark
from slipform_core.config import Experiment

BENCHMARKS: dict[str, Callable[[Experiment], Benchmark]] = {"world": world_benchmark}
READERS: dict[str, Callable[..., Benchmark]] = {"sugarcrepe": sugarcrepe, "scpp": sugarcrepe_pp}

__all__ = ["BENCHMARKS", "Benchmark", "Items", "READERS", "Photo", "world_benchmark"]
