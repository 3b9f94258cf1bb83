"""The embedded world's own benchmarks, after SugarCrepe, SugarCrepe++ and Winoground, and retrieval."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from more_itertools import chunked

from slipform_core.benchmarks.foils import Foil, Foils
from slipform_core.benchmarks.items import Benchmark, Items
from slipform_core.config import Experiment
from slipform_core.emoji_world import CAPTIONS, draw, paraphrase
from slipform_core.metrics import SUBSETS
from slipform_core.records import Caption
from slipform_core.sources.world import WorldSource


def world_benchmark(experiment: Experiment) -> Benchmark:
    """Items of two pictures and two captions, the second of each edited, and what is made of them.

    `sugarcrepe`: SugarCrepe's seven kinds, and replacements of size and place and `swap_rel`, the converse
    relation. In additions the own caption stays true of the edited picture, which only shows more: there
    "i2t" alone is a question of truth. `scpp`: picture, caption and foil of the same items, and a paraphrase
    of the caption. `winoground`: the swaps of words, the same items. A subset without items is left out.
    Scenes are of the test split, so that the noun pairs in relation never occur in training, in the captions
    and in their foils alike.
    """
    source = WorldSource(experiment)
    groups = list(chunked(source.captions("test"), CAPTIONS))
    rng = np.random.default_rng([experiment.seed, len(groups)])
    build = _Builder(source, rng)
    subsets: dict[str, dict[str, Items]] = {"sugarcrepe": {}, "scpp": {}, "winoground": {}}
    for kind, foil in Foils(source.world, rng).kinds().items():
        chosen = _choose(groups, foil, experiment.evaluation.items)
        if not chosen:
            continue
        pairs = subsets["sugarcrepe"][kind] = build.pairs(chosen)
        if kind in SUBSETS["scpp"]:
            subsets["scpp"][kind] = build.triples(chosen, pairs)
        if kind in SUBSETS["winoground"]:
            subsets["winoground"][kind] = replace(pairs, rule="winoground")
    pool = groups[: experiment.evaluation.retrieval]
    texts = np.array([build.text(caption.text) for group in pool for caption in group])
    owners = np.repeat([build.picture(group[0]) for group in pool], CAPTIONS)
    named = {f"{name}/{kind}": items for name, kinds in subsets.items() for kind, items in kinds.items()}
    return Benchmark("world", np.stack(build.pictures), tuple(build.texts), named, (texts, owners))


@dataclass(frozen=True)
class _Chosen:
    scene: int
    caption: Caption
    foil: Foil


def _choose(
    groups: Sequence[Sequence[Caption]], make: Callable[[Caption], Foil | None], count: int
) -> list[_Chosen]:
    """One foil a scene, of its first caption that has one, until there are `count`."""
    chosen: list[_Chosen] = []
    for scene, group in enumerate(groups):
        if len(chosen) == count:
            break
        foils = ((caption, make(caption)) for caption in group)
        found = next(((caption, foil) for caption, foil in foils if foil), None)
        if found:
            chosen.append(_Chosen(scene, *found))
    return chosen


class _Builder:
    """Collects each picture and text once."""

    def __init__(self, source: WorldSource, rng: np.random.Generator):
        self.source, self.rng = source, rng
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

    def _edited(self, foil: Foil) -> int:
        seed = int(self.rng.integers(2**31))
        return self._add(draw(foil.scene, side=self.source.settings.side, seed=seed))

    def pairs(self, chosen: Sequence[_Chosen]) -> Items:
        """The picture and the edited one, the caption and its foil."""
        return Items(
            np.array([(self.picture(item.caption), self._edited(item.foil)) for item in chosen]),
            np.array([(self.text(item.caption.text), self.text(item.foil.text)) for item in chosen]),
            np.array([item.scene for item in chosen]),
            "pairs",
            tuple(item.foil.word for item in chosen),
        )

    def triples(self, chosen: Sequence[_Chosen], pairs: Items) -> Items:
        """The picture of each pair; its caption, a paraphrase, its foil."""
        again = [self.text(paraphrase(item.caption, self.rng)) for item in chosen]
        captions = np.stack([pairs.captions[:, 0], again, pairs.captions[:, 1]], axis=1)
        return Items(pairs.pictures[:, :1], captions, pairs.clusters, "scpp", pairs.words)
