"""The type of all benchmarks: P unique pictures, T unique texts, subsets of N items that index them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np


class Photo(NamedTuple):
    """Where a picture lies, as `sources.photographs` reads it, and the part of it that is shown, if not all.

    box: left, top, right and bottom in pixels of the picture.
    """

    place: str
    box: tuple[int, int, int, int] | None = None


@dataclass(frozen=True)
class Items:
    """N items of I pictures and C captions, and the rule that says which are right.

    pictures (N, I), captions (N, C): indices; the own ones first. clusters (N,): what a bootstrap draws
    together, the test scene or the picture of each item. rule: "choice": of a picture and its captions the
    own caption is chosen. "pairs": two of each, the own ones on the diagonal, for the benchmarks of the
    embedded world; "winoground": the same with Winoground's metrics; "scpp": a picture, two captions that are
    true of it and one that is not. words (N): what is changed of the own caption, in lower case, "one|other"
    for a swap, the added word for an addition; none where the maker does not know it.
    """

    pictures: np.ndarray
    captions: np.ndarray
    clusters: np.ndarray
    rule: str
    words: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.captions)

    @property
    def repeated(self) -> np.ndarray:
        """Whether a caption (N, C) is a wrong one that stands before: an item with fewer repeats its last.

        A wrong caption that equals the own one is no repetition but another answer, and a tie.
        """
        same = self.captions[:, :, None] == self.captions[:, None, 1:]
        return np.tril(same, -2).any(axis=2)


@dataclass(frozen=True)
class Benchmark:
    """P pictures and T texts, each once; items by "benchmark/subset"; what is retrieved.

    pictures: (P, H, W, 3) uint8, or photographs. `retrieval` is a pair of index arrays: texts (R,), and the
    picture of each; these are the candidates. groups: averages over subsets, by their names. protocol: how it
    is scored, in words, with the source. left_out: items that are not scored, by reason.
    """

    name: str
    pictures: np.ndarray | Sequence[Photo]
    texts: tuple[str, ...]
    subsets: Mapping[str, Items] = field(default_factory=dict)
    retrieval: tuple[np.ndarray, np.ndarray] | None = None
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    protocol: str = ""
    left_out: Counter[str] = field(default_factory=Counter)
