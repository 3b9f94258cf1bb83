"""Benchmarks as one type: items of I pictures x C captions over unique pictures and texts, and retrieval.

`BENCHMARKS` makes them by name.
"""

from collections.abc import Callable

from slipform_core.benchmarks.items import Benchmark, Items
from slipform_core.benchmarks.world import world_benchmark
from slipform_core.config import Experiment

BENCHMARKS: dict[str, Callable[[Experiment], Benchmark]] = {"world": world_benchmark}

__all__ = ["BENCHMARKS", "Benchmark", "Items", "world_benchmark"]
