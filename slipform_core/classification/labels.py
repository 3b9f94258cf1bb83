"""Pictures with labels, as sets with a training and a test part."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import length_hint
from typing import Any

import numpy as np

from slipform_core.evaluation.encoding import Encoder, Shown
from slipform_core.mistakes import Mistake

PLAIN = ("a photo of a {}.",)
TOP1, PER_CLASS = "top1", "per_class"

Pairs = Iterable[tuple[Shown, int]]  # that can be gone through more than once


@dataclass(frozen=True)
class LabelledSet:
    """Pictures that have one of K classes each.

    test, train, val: pictures and their classes as indices; `val` where the makers set pictures of the
    training aside to choose by. classes: names as prompts have them. templates: what becomes a prompt with a
    class in the place of {}; Mistake for one without. metric: the score that the protocol of the set reports.
    source, prompts: where the pictures, and the names and templates, are from, in words.
    """

    name: str
    classes: tuple[str, ...]
    test: Pairs
    train: Pairs | None = None
    val: Pairs | None = None
    templates: tuple[str, ...] = PLAIN
    metric: str = TOP1
    source: str = ""
    prompts: str = ""

    def __post_init__(self) -> None:
        if plain := [template for template in self.templates if "{}" not in template]:
            raise Mistake(f"the template {plain[0]!r} has no {{}} where the class goes")

    def training(self) -> Pairs:
        """The training pictures; Mistake where the set has none."""
        if self.train is None or next(iter(self.train), None) is None:
            raise Mistake(f"{self.name} has no training pictures to probe with")
        return self.train


@dataclass(frozen=True)
class MultiLabelSet:
    """Pictures that have any number of labels each; left_out: pictures that are missing, by part."""

    name: str
    train: Sequence[tuple[Shown, Collection[str]]]
    test: Sequence[tuple[Shown, Collection[str]]]
    source: str = ""
    left_out: Counter[str] = field(default_factory=Counter)


class Lazy:
    """The pairs of a list, or of a data set of torch's kinds, which is made when it is first asked for."""

    def __init__(self, make: Callable[[], Any]):
        self._make = make

    @cached_property
    def data(self) -> Any:
        return self._make()

    def __iter__(self) -> Iterator[tuple[Shown, int]]:
        from torch.utils.data import IterableDataset

        data = self.data
        rows = data if isinstance(data, IterableDataset) else (data[row] for row in range(len(data)))
        return ((picture, int(label)) for picture, label in rows)

    def __length_hint__(self) -> int:
        return length_hint(self.data)


class _Pictures:
    """The pictures of pairs, which also gathers the labels."""

    def __init__(self, pairs: Iterable[tuple[Shown, Any]]):
        self.pairs, self.labels = pairs, []

    def __iter__(self) -> Iterator[Shown]:
        for picture, label in self.pairs:
            self.labels.append(label)
            yield picture

    def __length_hint__(self) -> int:
        return length_hint(self.pairs)


def encoded(
    encoder: Encoder, pairs: Iterable[tuple[Shown, Any]], *, projected: bool = True
) -> tuple[np.ndarray, list[Any]]:
    """Features (N, D) float32 of the pictures, as `Encoder.pictures` gives them, and the N labels."""
    pictures = _Pictures(pairs)
    return encoder.pictures(pictures, projected=projected), pictures.labels
