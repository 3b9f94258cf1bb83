"""Which items an arm has right, packed into a results file, so that any two arms can be compared in pairs.

The file's values are `scenes` (how many the test has), `items` (of each subset: whose scene, which word) and
`arms` (of each subset and metric: a bit an item). Bits are packed and written as base64.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]


def pack(bits: Bools) -> str:
    """A bool array as base64, eight to a byte."""
    return base64.b64encode(np.packbits(bits).tobytes()).decode()


def pack_all(right: Mapping[str, Mapping[str, Bools]]) -> dict[str, dict[str, str]]:
    """Outcomes by subset and metric, each packed."""
    return {
        subset: {metric: pack(bits) for metric, bits in metrics.items()} for subset, metrics in right.items()
    }


def unpack(text: str, count: int) -> Bools:
    """The first `count` bits of a packed array; ValueError where there are fewer."""
    data = np.frombuffer(base64.b64decode(text, validate=True), dtype=np.uint8)
    if not count <= 8 * len(data) < count + 8:
        raise ValueError(f"{8 * len(data)} bits are packed for {count} items")
    return np.unpackbits(data, count=count).astype(bool)


def items(scenes: NDArray[np.int_], words: Sequence[str], test_scenes: int) -> dict[str, Any]:
    """What a subset's items are about: their scenes, in rising order, `each` items a scene, and words.

    Raises ValueError where the scenes do not rise or have unequal numbers of items.
    """
    distinct, counts = np.unique(scenes, return_counts=True)
    if (np.diff(scenes) < 0).any() or len(set(counts.tolist())) > 1:
        raise ValueError("items must come scene by scene, as many of each")
    vocabulary = sorted(set(words))
    place = {word: index for index, word in enumerate(vocabulary)}
    mask = np.isin(np.arange(test_scenes), distinct)
    return {
        "count": len(scenes),
        "each": int(counts[0]),
        "scenes": pack(mask),
        "vocabulary": vocabulary,
        "words": [place[word] for word in words],
    }


@dataclass(frozen=True)
class Outcomes:
    """The values of a run's `outcomes` file; references are "benchmark/subset/metric"."""

    values: Mapping[str, Any]

    @property
    def arms(self) -> list[str]:
        return list(self.values["arms"])

    def references(self) -> list[str]:
        """Every benchmark/subset/metric that each arm has."""
        first = next(iter(self.values["arms"].values()))
        return [f"{subset}/{metric}" for subset, metrics in first.items() for metric in metrics]

    def right(self, arm: str, reference: str) -> Bools:
        """Which items an arm has right; KeyError names the arms or the references there are."""
        subset, _, metric = reference.rpartition("/")
        try:
            found = self.values["arms"][arm]
        except KeyError:
            raise KeyError(f"no arm {arm!r}; there are: {', '.join(self.arms)}") from None
        try:
            return unpack(found[subset][metric], self._about(reference)["count"])
        except KeyError:
            raise KeyError(
                f"no outcomes of {reference!r}; there are: {', '.join(self.references())}"
            ) from None

    def scenes(self, reference: str) -> NDArray[np.int_]:
        """The test scene of each item."""
        about = self._about(reference)
        distinct = np.flatnonzero(unpack(about["scenes"], self.values["scenes"]))
        return np.repeat(distinct, about["each"])

    def words(self, reference: str) -> list[str]:
        """The word of each item's caption that is changed."""
        about = self._about(reference)
        return [about["vocabulary"][index] for index in about["words"]]

    def column(self, arm: str, reference: str) -> tuple[Bools, NDArray[np.int_]]:
        """Outcomes and their scenes, as statistics.clustered_bootstrap wants them."""
        return self.right(arm, reference), self.scenes(reference)

    def _about(self, reference: str) -> Mapping[str, Any]:
        subset, _, metric = reference.rpartition("/")
        if subset.startswith("retrieval/"):  # queries are texts one way, pictures the other
            subset = f"{subset}/{metric[:3]}"
        return self.values["items"][subset]
