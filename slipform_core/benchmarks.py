"""Benchmarks as one type: items of I pictures x C captions over unique pictures and texts, and retrieval.

`BENCHMARKS` makes them by name. P unique pictures, T unique texts, N items.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slipform_core.config import Experiment
from slipform_core.emoji_world import CAPTIONS, Scene, World, draw, edit, holds, read_back, reword
from slipform_core.emoji_world.lexicon import CONVERSE, SURFACES
from slipform_core.records import Caption
from slipform_core.rewriters import GrammarRewriter
from slipform_core.sources import WorldSource, chunks


@dataclass(frozen=True)
class Items:
    """Indices of pictures (N, I) and of captions (N, C); the own ones are on the diagonal."""

    pictures: np.ndarray
    captions: np.ndarray


@dataclass(frozen=True)
class Benchmark:
    """Pictures (P, H, W, 3) uint8 and T texts, each once; subsets of items; what is retrieved.

    `retrieval` is a pair of index arrays: texts (R,), and the picture of each; these are the candidates.
    """

    name: str
    pictures: np.ndarray
    texts: tuple[str, ...]
    subsets: Mapping[str, Items]
    retrieval: tuple[np.ndarray, np.ndarray]


Change = dict[str, str]  # slot -> the word that is said instead


class _Foils:
    """The changes that SugarCrepe's kinds make, for captions of the embedded world's test scenes."""

    def __init__(self, world: World, rng: np.random.Generator):
        self.world, self.rng = world, rng
        self.grammar = GrammarRewriter(world)

    def pick(self, words: Sequence[str]) -> str:
        return words[self.rng.integers(len(words))]

    def replace(self, kind: str, caption: Caption, said: Change) -> Change:
        """A sibling in a slot of the pair; a noun's sibling makes a held-out pair, as the true noun does."""
        slots = [slot for slot in (f"{kind}.0", f"{kind}.1", kind) if slot in said]
        if not slots:
            return {}
        slot = self.pick(slots)
        words = self.grammar.siblings(caption, slot, said[slot])
        if kind == "noun":
            other = caption.scene["things"][1 - int(slot[-1])][0]
            words = [word for word in words if self.world.held_out_pair(word, other)]
        return {slot: self.pick(words)} if words else {}

    def swap(self, kind: str, caption: Caption, said: Change) -> Change:
        one, other = f"{kind}.0", f"{kind}.1"
        return {one: said[other], other: said[one]} if one in said and other in said else {}

    def relation(self, converse: bool, caption: Caption, said: Change) -> Change:
        """Any of the three other directions, or the converse alone; only of a pair without a third thing."""
        for slot, word in said.items():
            means = SURFACES["relation"].get(word)
            if slot.startswith("relation") and means in CONVERSE and len(caption.scene["things"]) == 2:
                wanted = {CONVERSE[means]} if converse else set(CONVERSE) - {means}
                return {
                    slot: self.pick([w for w, meaning in SURFACES["relation"].items() if meaning in wanted])
                }
        return {}

    def kinds(self) -> dict[str, Callable[[Caption, Change], Change]]:
        return {
            "replace_obj": lambda caption, said: self.replace("noun", caption, said),
            "replace_att": lambda caption, said: self.replace("colour", caption, said),
            "replace_size": lambda caption, said: self.replace("size", caption, said),
            "replace_rel": lambda caption, said: self.relation(False, caption, said),
            "replace_place": lambda caption, said: self.replace("place", caption, said),
            "swap_obj": lambda caption, said: self.swap("noun", caption, said),
            "swap_att": lambda caption, said: self.swap("colour", caption, said),
            "swap_rel": lambda caption, said: self.relation(True, caption, said),
        }


def world_benchmark(experiment: Experiment) -> Benchmark:
    """The embedded world's own: replacements and swaps of object, attribute and relation, and retrieval.

    The kinds are SugarCrepe's, and replacements of size and place; `swap_rel` states the converse relation.
    Every item is two pictures and two captions, the second of each edited. Scenes are of the test split, so
    that the noun pairs in relation never occur in training, in the captions and in their foils alike.
    """
    source = WorldSource(experiment)
    groups = list(chunks(source.captions("test"), CAPTIONS))
    rng = np.random.default_rng([experiment.seed, len(groups)])
    build = _Builder(source, rng)
    subsets = {
        name: items
        for name, change in _Foils(source.world, rng).kinds().items()
        if len((items := build.items(groups, change, experiment.evaluation.items)).captions)
    }
    pool = groups[: experiment.evaluation.retrieval]
    texts = np.array([build.text(caption.text) for group in pool for caption in group])
    owners = np.repeat([build.picture(group[0]) for group in pool], CAPTIONS)
    return Benchmark("world", np.stack(build.pictures), tuple(build.texts), subsets, (texts, owners))


class _Builder:
    """Collects each picture and text once."""

    def __init__(self, source: WorldSource, rng: np.random.Generator):
        self.source, self.rng = source, rng
        self.nouns = frozenset(source.world.nouns)
        self.pictures: list[np.ndarray] = []
        self.texts: dict[str, int] = {}
        self._known: dict[str, int] = {}

    def text(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))

    def picture(self, caption: Caption) -> int:
        if caption.image_id not in self._known:
            self._known[caption.image_id] = self._add(self.source.picture(caption))
        return self._known[caption.image_id]

    def _add(self, pixels: np.ndarray) -> int:
        self.pictures.append(pixels)
        return len(self.pictures) - 1

    def items(
        self,
        groups: Sequence[Sequence[Caption]],
        change: Callable[[Caption, Change], Change],
        count: int,
    ) -> Items:
        """One item a scene, of its first caption that can be changed so, until there are `count`."""
        rows = []
        for group in groups:
            if len(rows) == count:
                break
            foil = next(self._foils(group, change), None)
            if foil:
                rows.append(foil)
        table = np.array(rows, dtype=int).reshape(len(rows), 2, 2)
        return Items(table[:, 0], table[:, 1])

    def _foils(
        self, group: Sequence[Caption], change: Callable[[Caption, Change], Change]
    ) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        for caption in group:
            words = change(caption, read_back(caption, caption.text))
            if not words:
                continue
            text = reword(caption, words)
            scene, now = Scene.from_json(caption.scene), read_back(caption, text)
            if holds(scene, now):
                continue
            seed = int(self.rng.integers(2**31))
            edited = draw(edit(scene, now, self.nouns), side=self.source.settings.side, seed=seed)
            pictures = (self.picture(caption), self._add(edited))
            yield pictures, (self.text(caption.text), self.text(text))


BENCHMARKS: dict[str, Callable[[Experiment], Benchmark]] = {"world": world_benchmark}
