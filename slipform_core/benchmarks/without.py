"""A benchmark without some of its pictures."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace

import numpy as np

from slipform_core.benchmarks.items import Benchmark, Items
from slipform_core.mistakes import Mistake


def without(benchmark: Benchmark, places: Collection[str], why: str) -> Benchmark:
    """The benchmark without the photographs at some places, and without what is asked of them alone.

    why: what lost items and captions are counted under in `left_out`. Raises Mistake where nothing is left.
    """
    stays = np.array([photo.place not in places for photo in benchmark.pictures], dtype=bool)
    if stays.all():
        return benchmark
    subsets = {
        key: _some(items, stays[items.pictures].all(axis=1)) for key, items in benchmark.subsets.items()
    }
    retrieval = benchmark.retrieval
    if retrieval:
        texts, owners = retrieval
        retrieval = texts[stays[owners]], owners[stays[owners]]
    rest = replace(
        benchmark, subsets={key: items for key, items in subsets.items() if len(items)}, retrieval=retrieval
    )
    lost = _asked(benchmark) - _asked(rest)
    if not _asked(rest):
        raise Mistake(f"benchmark {benchmark.name}: nothing is left, {lost:,} items: {why}")
    return replace(_used(rest), left_out=benchmark.left_out + Counter({why: lost}))


def _some(items: Items, rows: np.ndarray) -> Items:
    return replace(
        items,
        pictures=items.pictures[rows],
        captions=items.captions[rows],
        clusters=items.clusters[rows],
        words=tuple(word for word, stays in zip(items.words, rows, strict=False) if stays),
    )


def _asked(benchmark: Benchmark) -> int:
    """How many items and captions to retrieve there are."""
    captions = len(benchmark.retrieval[0]) if benchmark.retrieval else 0
    return captions + sum(map(len, benchmark.subsets.values()))


def _used(benchmark: Benchmark) -> Benchmark:
    """The benchmark without pictures and texts that nothing asks for."""
    subsets = benchmark.subsets
    texts, owners = benchmark.retrieval or np.zeros((2, 0), dtype=np.intp)
    pictures = _distinct([owners, *(items.pictures for items in subsets.values())])
    captions = _distinct([texts, *(items.captions for items in subsets.values())])
    return replace(
        benchmark,
        pictures=tuple(benchmark.pictures[picture] for picture in pictures),
        texts=tuple(benchmark.texts[caption] for caption in captions),
        subsets={
            key: replace(
                items,
                pictures=np.searchsorted(pictures, items.pictures),
                captions=np.searchsorted(captions, items.captions),
            )
            for key, items in subsets.items()
        },
        retrieval=benchmark.retrieval
        and (np.searchsorted(captions, texts), np.searchsorted(pictures, owners)),
    )


def _distinct(places: Iterable[np.ndarray]) -> np.ndarray:
    return np.unique(np.concatenate([each.ravel() for each in places]))
