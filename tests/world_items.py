"""The world's benchmark for its tests: drawn without noise, what its pictures show, its texts by item."""

from functools import cache
from pathlib import Path

import pytest
from world_oracle import View, see, still

from slipform_core import config
from slipform_core.benchmarks import Benchmark, world_benchmark

PARAMS = Path(__file__).parents[1] / "notebooks/params"
ADDED = {"add_obj", "add_att"}
KINDS = ADDED | {"replace_obj", "replace_att", "replace_size", "replace_rel", "replace_place"}
KINDS |= {"swap_obj", "swap_att", "swap_rel"}
TRIPLES = {"replace_obj", "replace_att", "replace_rel", "swap_obj", "swap_att"}


def experiment(**world):
    sizes = {"nouns": 88, "side": 64, "test_scenes": 80, "three_objects": 0.3, "test_forward": 0.5} | world
    settings = " ".join(f"world.{name}={value}" for name, value in sizes.items())
    return config.load("mini", f"{settings} evaluation.items=60 evaluation.retrieval=20 seed=5", PARAMS)


@cache
def still_benchmark() -> Benchmark:
    with pytest.MonkeyPatch.context() as patch:
        still(patch)
        return world_benchmark(experiment())


@cache
def still_views() -> list[View]:
    return [see(picture) for picture in still_benchmark().pictures]


def rows(benchmark, subset):
    """(own caption, foil) of each item, or both captions and the foil."""
    return [tuple(benchmark.texts[index] for index in row) for row in benchmark.subsets[subset].captions]


def texts(benchmark, kind):
    return rows(benchmark, f"sugarcrepe/{kind}")


def pictured(benchmark, kind):
    """The pictures and the texts of each item."""
    return zip(benchmark.subsets[f"sugarcrepe/{kind}"].pictures, texts(benchmark, kind), strict=True)
