"""What was used last, kept."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """The values of the `bound` keys that were used last."""

    def __init__(self, bound: int):
        self.bound = bound
        self._kept: OrderedDict[K, V] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def take(self, keys: Sequence[K], make: Callable[[list[K]], Sequence[V]]) -> list[V]:
        """The value of each key; `make` makes those of the keys that are not kept, all in one call."""
        values = {key: self._kept[key] for key in keys if key in self._kept}
        missing = [key for key in dict.fromkeys(keys) if key not in values]
        if missing:
            values |= zip(missing, make(missing), strict=True)
        for key in keys:
            self._kept[key] = values[key]
            self._kept.move_to_end(key)
        while len(self._kept) > self.bound:
            self._kept.popitem(last=False)
        return [values[key] for key in keys]
