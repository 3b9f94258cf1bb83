"""What all readers of photographic benchmarks share: each picture and text once, what is missing counted."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from slipform_core.benchmarks.items import Benchmark, Items, Photo
from slipform_core.mistakes import Mistake
from slipform_core.sources import photographs

MISSING, NO_TEXT, SAME = "missing picture", "no text", "contradicted by another item"

Row = tuple[list[int], list[int]]  # pictures, captions

AUTHORS = "authors_macro"  # the group that is the average which a benchmark's authors report


class Collector:
    """Collects the items of a benchmark; those whose pictures or texts are missing are left out and counted.

    Of two items with the same picture whose captions are each other's, in the other order, both are left out:
    one of them is wrong. Of two with the same two pictures likewise. `keep` is for published data that have
    such items, of symmetric relations or of two like things in a picture: there both are scored, a model is
    right on one of them at most, and the protocol says how many there are.
    """

    def __init__(self, name: str, *, keep: bool = False):
        self.name, self.keep = name, keep
        self.left_out: Counter[str] = Counter()
        self._photos: dict[Photo, int] = {}
        self._texts: dict[str, int] = {}
        self._there: dict[str, bool] = {}
        self._first: str = ""
        self._rows: dict[str, list[Row]] = {}
        self._rule: str = ""

    def photo(self, photo: Photo) -> int:
        return self._photos.setdefault(photo, len(self._photos))

    def text(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def add(self, subset: str, photos: Sequence[Photo], captions: Sequence[Any], *, rule: str) -> None:
        """An item; see `Items` for the order of its pictures and captions. Mistake for a second rule."""
        self._rule = self._rule or rule
        if rule != self._rule:
            raise Mistake(
                f"benchmark {self.name} has items of two rules, {self._rule} and {rule}; score them apart"
            )
        if not all(isinstance(text, str) and text.strip() for text in captions):
            self.left_out[NO_TEXT] += 1
        elif not all(map(self._is_there, photos)):
            self.left_out[MISSING] += 1
        else:
            row = [self.photo(photo) for photo in photos], [self.text(text) for text in captions]
            self._rows.setdefault(subset, []).append(row)

    def _is_there(self, photo: Photo) -> bool:
        if photo.place not in self._there:
            self._there[photo.place] = photographs.exists(photo.place)
            if not self._there[photo.place] and not self._first:
                self._first = photo.place
        return self._there[photo.place]

    def benchmark(
        self,
        *,
        protocol: str,
        partial: bool,
        published: Mapping[str, int] | None = None,
        total: int | None = None,
        groups: Mapping[str, tuple[str, ...]] | None = None,
    ) -> Benchmark:
        """The benchmark. published: how many items each subset has; total: how many all have.

        Raises Mistake where an item is left out or a number is another, unless `partial`, and where there is
        no item at all.
        """
        subsets, kept, clusters = {}, 0, self._clusters()
        for subset, rows in self._rows.items():
            against = _contradicted(rows, self._rule)
            if self.keep:
                kept += sum(against)
            else:
                self.left_out[SAME] += sum(against)
                rows = [row for row, wrong in zip(rows, against, strict=True) if not wrong]
            if rows:
                subsets[subset] = _items(rows, self._rule, clusters)
        self.left_out = +self.left_out
        wrong = [f"{count:,} items: {why}" for why, count in self.left_out.items()]
        wrong += [f"the first would be {self._first}"] if self._first else []
        wrong = wrong or self._other_numbers(subsets, published or {}, total)
        check_whole(self.name, wrong, some=bool(subsets), partial=partial)
        note = f"; {kept:,} items say the opposite of another of the same picture, kept as published"
        return Benchmark(
            self.name,
            tuple(self._photos),
            tuple(self._texts),
            {f"{self.name}/{subset}": items for subset, items in subsets.items()},
            groups=groups or {},
            protocol=protocol + note * bool(kept),
            left_out=self.left_out,
        )

    def _clusters(self) -> np.ndarray:
        """What each picture (P,) is drawn with: parts of one photograph, and those that share an item."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        places: dict[str, int] = {}
        place = np.array(
            [places.setdefault(photo.place, len(places)) for photo in self._photos], dtype=np.intp
        )
        rows = [pictures for rows in self._rows.values() for pictures, _ in rows]
        ends = place[[pictures[0] for pictures in rows]], place[[pictures[-1] for pictures in rows]]
        shared = coo_array((np.ones(len(rows)), ends), shape=(len(places), len(places)))
        return connected_components(shared, directed=False)[1][place]

    def _other_numbers(
        self, subsets: Mapping[str, Items], published: Mapping[str, int], total: int | None
    ) -> list[str]:
        counted = {subset: len(items) for subset, items in subsets.items()}
        wrong = [
            f"{subset} has {counted.get(subset, 0):,} items, published {count:,}"
            for subset, count in published.items()
            if counted.get(subset, 0) != count
        ]
        found = sum(counted.values())
        return wrong if total in (None, found) else [*wrong, f"it has {found:,} items, published {total:,}"]


def check_whole(name: str, wrong: Sequence[str], *, some: bool, partial: bool) -> None:
    """Mistake where something of a benchmark is wrong, unless `partial`, and where nothing of it is there."""
    if not some or (wrong and not partial):
        rest = "; --partial scores the rest, and says so" * (some and not partial)
        raise Mistake(f"benchmark {name}: {'; '.join(wrong) or 'it has no items'}{rest}")


def _contradicted(rows: Sequence[Row], rule: str) -> list[bool]:
    """Which of the rows have their opposite among them."""
    if rule not in ("choice", "winoground"):
        return [False] * len(rows)
    said = {(tuple(pictures), tuple(captions)) for pictures, captions in rows}

    def opposites(
        pictures: list[int], captions: list[int]
    ) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        if len(captions) == 2 and captions[0] != captions[1]:
            yield tuple(pictures), tuple(captions[::-1])
            if len(set(pictures)) == 2:
                yield tuple(pictures[::-1]), tuple(captions)

    return [any(other in said for other in opposites(*row)) for row in rows]


def _items(rows: Sequence[Row], rule: str, clusters: np.ndarray) -> Items:
    # Of a choice, the last caption once more changes nothing: with it all items have as many.
    width = max(len(captions) for _, captions in rows)
    padded = [captions + captions[-1:] * (width - len(captions)) for _, captions in rows]
    pictures = np.array([pictures for pictures, _ in rows], dtype=np.intp)
    return Items(pictures, np.array(padded, dtype=np.intp), clusters[pictures[:, 0]], rule)


def entries(path: Path) -> Iterable[tuple[Any, Any]]:
    """Number or key and item of a JSON file that is a list or an object; Mistake for another."""
    try:
        tree = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise Mistake(f"{path} is no JSON: {error}") from None
    if isinstance(tree, dict):
        return tree.items()
    if isinstance(tree, list):
        return enumerate(tree)
    raise Mistake(f"{path} holds {type(tree).__name__}, expected a list or an object of items")


def json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """The number and the item of each line that is not empty; Mistake names one that is no JSON."""
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            if line.strip():
                try:
                    yield number, json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise Mistake(f"{path}, line {number} is no JSON: {error}") from None


def fields(path: Path, number: Any, item: Any, names: Iterable[str]) -> list[Any]:
    """The fields of an item of a JSON file; Mistake names those that it lacks."""
    if not isinstance(item, dict):
        raise Mistake(f"{path}: item {number} is {type(item).__name__}, expected an object")
    if lacking := [name for name in names if name not in item]:
        raise Mistake(f"{path}: item {number} lacks {', '.join(lacking)}")
    return [item[name] for name in names]
