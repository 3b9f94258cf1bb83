"""What all readers of photographic benchmarks share: each picture and text once, what is missing counted."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from slipform_core.benchmarks.items import Benchmark, Items, Photo
from slipform_core.mistakes import Mistake
from slipform_core.sources import photographs

MISSING, NO_TEXT, SAME = "missing picture", "no text", "contradicted by another item"


class Collector:
    """Collects the items of a benchmark; those whose pictures or texts are missing are left out and counted.

    Of two items with the same picture whose captions are each other's, in the other order, both are left out:
    one of them is wrong.
    """

    def __init__(self, name: str):
        self.name = name
        self.left_out: Counter[str] = Counter()
        self._photos: dict[Photo, int] = {}
        self._texts: dict[str, int] = {}
        self._there: dict[str, bool] = {}
        self._first: str = ""
        self._rows: dict[tuple[str, str], list[tuple[list[int], list[int], int]]] = {}

    def photo(self, photo: Photo) -> int:
        return self._photos.setdefault(photo, len(self._photos))

    def text(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def add(self, subset: str, photos: Sequence[Photo], captions: Sequence[Any], *, rule: str) -> None:
        """An item; see `Items` for the order of its pictures and captions."""
        if not all(isinstance(text, str) and text.strip() for text in captions):
            self.left_out[NO_TEXT] += 1
        elif not all(map(self._is_there, photos)):
            self.left_out[MISSING] += 1
        else:
            pictures = [self.photo(photo) for photo in photos]
            row = pictures, [self.text(text) for text in captions], pictures[0]
            self._rows.setdefault((subset, rule), []).append(row)

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
        groups: Mapping[str, tuple[str, ...]] | None = None,
    ) -> Benchmark:
        """The benchmark. published: how many items each subset has.

        Raises Mistake where an item is left out or a number is another, unless `partial`, and where there is
        no item at all.
        """
        subsets = {f"{self.name}/{subset}": self._items(subset, rule) for subset, rule in self._rows}
        subsets = {key: items for key, items in subsets.items() if len(items)}
        counted = {key.partition("/")[2]: len(items) for key, items in subsets.items()}
        wrong = [f"{count:,} items: {why}" for why, count in self.left_out.items()]
        wrong += [f"the first would be {self._first}"] if self._first else []
        wrong = wrong or [
            f"{subset} has {counted.get(subset, 0):,} items, published {count:,}"
            for subset, count in (published or {}).items()
            if counted.get(subset, 0) != count
        ]
        if not subsets or (wrong and not partial):
            said = "; ".join(wrong) or "it has no items"
            hint = "" if partial else "; --partial scores the rest, and says so"
            raise Mistake(f"benchmark {self.name}: {said}{hint}")
        return Benchmark(
            self.name,
            tuple(self._photos),
            tuple(self._texts),
            subsets,
            groups=groups or {},
            protocol=protocol,
            left_out=self.left_out,
        )

    def _items(self, subset: str, rule: str) -> Items:
        rows = self._rows[subset, rule]
        said = {(tuple(pictures), tuple(captions)) for pictures, captions, _ in rows}
        kept = []
        for pictures, captions, cluster in rows:
            other_way = tuple(pictures), tuple(captions[::-1])
            if rule == "choice" and len(set(captions)) > 1 and other_way in said:
                self.left_out[SAME] += 1
            else:
                kept.append((pictures, captions, cluster))
        columns = [np.array([row[k] for row in kept], dtype=np.intp) for k in range(3)]
        return Items(*columns, rule=rule)


def read_json(path: Path) -> Any:
    """A JSON file; Mistake where it is none."""
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise Mistake(f"{path} is no JSON: {error}") from None


def fields(path: Path, number: Any, item: Any, names: Iterable[str]) -> list[Any]:
    """The fields of an item of a JSON file; Mistake names those that it lacks."""
    if not isinstance(item, dict) or (lacking := [name for name in names if name not in item]):
        found = ", ".join(lacking) if isinstance(item, dict) else f"it is {type(item).__name__}, no object"
        raise Mistake(f"{path}: item {number} lacks {found}")
    return [item[name] for name in names]


def first(data: Path, places: Sequence[str], fetch: str) -> Path:
    """The first of some places below a folder that is there; Mistake names all, and how to get it."""
    for place in places:
        if (data / place).exists():
            return data / place
    raise Mistake(f"{data} has none of: {', '.join(places)}; {fetch}")
