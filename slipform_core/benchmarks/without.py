"""A benchmark without some of its pictures."""

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from slipform_core.benchmarks.items import Benchmark, Items
from slipform_core.mistakes import Mistake


def without(benchmark: Benchmark, places: Collection[str], why: str) -> Benchmark:
    """The benchmark without the photographs at some places, and without the items and texts that need them.

    why: what these are counted under in `left_out`. Raises Mistake where nothing is left.
    """
    stays = np.array([photo.place not in places for photo in benchmark.pictures], dtype=bool)
    if stays.all():
        return benchmark
    place, lost = np.where(stays, np.cumsum(stays) - 1, -1), 0
    subsets: dict[str, Items] = {}
    for key, items in benchmark.subsets.items():
        rows = np.flatnonzero(stays[items.pictures].all(axis=1))
        lost += len(items) - len(rows)
        if len(rows):
            subsets[key] = replace(
                items,
                pictures=place[items.pictures[rows]],
                captions=items.captions[rows],
                clusters=items.clusters[rows],
                words=tuple(items.words[row] for row in rows) if items.words else (),
            )
    retrieval = benchmark.retrieval
    if retrieval:
        texts, owners = retrieval
        lost += int((~stays[owners]).sum())
        retrieval = texts[stays[owners]], place[owners[stays[owners]]]
    if not subsets and not (retrieval and len(retrieval[0])):
        raise Mistake(f"benchmark {benchmark.name}: nothing is left, {lost:,} items: {why}")
    return replace(
        benchmark,
        pictures=tuple(photo for photo, stay in zip(benchmark.pictures, stays, strict=True) if stay),
        subsets=subsets,
        retrieval=retrieval,
        left_out=benchmark.left_out + Counter({why: lost}),
    )
