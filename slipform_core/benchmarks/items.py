"""The type of all benchmarks: P unique pictures, T unique texts, subsets of N items that index them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Items:
    """N items of I pictures and C captions.

    pictures (N, I), captions (N, C): indices. `sugarcrepe` and `winoground` have two of each, the own ones on
    the diagonal; `scpp` has the picture, two captions that are true of it and one that is not.
    scenes (N,): the test scene of each item. words (N): what is changed of the own caption, in lower case,
    "one|other" for a swap, the added word for an addition.
    """

    pictures: np.ndarray
    captions: np.ndarray
    scenes: np.ndarray
    words: tuple[str, ...]


@dataclass(frozen=True)
class Benchmark:
    """Pictures (P, H, W, 3) uint8 and T texts, each once; items by "benchmark/subset"; what is retrieved.

    `retrieval` is a pair of index arrays: texts (R,), and the picture of each; these are the candidates.
    """

    name: str
    pictures: np.ndarray
    texts: tuple[str, ...]
    subsets: Mapping[str, Items]
    retrieval: tuple[np.ndarray, np.ndarray]
