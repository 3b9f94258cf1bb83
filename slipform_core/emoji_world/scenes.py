"""Scenes: two or three things with colour, size, place and spatial relation, and the split by composition."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from slipform_core.emoji_world.lexicon import COLOURS, CONVERSE, PLACES, SIZES, nouns

SPLITS = ("pretrain", "train", "test")
HELD_OUT_PAIRS = 10  # one noun pair in ten is never seen in training


@dataclass(frozen=True, slots=True)
class Thing:
    noun: str
    colour: str
    size: str


@dataclass(frozen=True, slots=True)
class Scene:
    """`things[0]` stands `axis` (left or above) of `things[1]`; a third lies across, after them or before.

    `seed` fixes the layout (jitter, sizes in pixels), so that an edited scene keeps everything else in place.
    """

    things: tuple[Thing, ...]
    axis: str
    third_after: bool
    place: str
    seed: int

    def relation(self, first: int, second: int) -> str:
        """How thing `first` of the pair stands to thing `second`: left, right, above or below."""
        return self.axis if first < second else CONVERSE[self.axis]

    def to_json(self) -> dict[str, Any]:
        return {
            "things": [[thing.noun, thing.colour, thing.size] for thing in self.things],
            "axis": self.axis,
            "third_after": self.third_after,
            "place": self.place,
            "seed": self.seed,
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "Scene":
        things = tuple(Thing(*thing) for thing in fields["things"])
        return cls(things, fields["axis"], fields["third_after"], fields["place"], fields["seed"])


def _hash(*words: str) -> int:
    return int.from_bytes(hashlib.sha256("|".join(words).encode()).digest()[:8], "big")


@dataclass(frozen=True)
class World:
    """A vocabulary of nouns and its held-out compositions: a tenth of the noun pairs, one colour a noun."""

    noun_count: int
    three_objects: float

    @property
    def nouns(self) -> tuple[str, ...]:
        return nouns(self.noun_count)

    def held_out_pair(self, one: str, other: str) -> bool:
        return _hash(*sorted((one, other))) % HELD_OUT_PAIRS == 0

    def held_out_colour(self, noun: str) -> str:
        return list(COLOURS)[_hash(noun) % len(COLOURS)]

    def held_out(self, scene: Scene) -> bool:
        """Whether a scene contains a composition that training must not see."""
        pairs = combinations([thing.noun for thing in scene.things], 2)
        return any(self.held_out_pair(*pair) for pair in pairs) or any(
            thing.colour == self.held_out_colour(thing.noun) for thing in scene.things
        )

    def scene(self, split: str, index: int, *, seed: int) -> Scene:
        """Scene `index` of a split, a function of its arguments alone.

        Training scenes contain no held-out composition. In a test scene the pair in relation is held out, and
        colours are drawn evenly, so that a held-out colour is as likely in a caption as in its negative.
        """
        rng = np.random.default_rng([seed, SPLITS.index(split), index])
        while True:
            scene = self._draw(rng)
            if split == "test":
                suits = self.held_out_pair(scene.things[0].noun, scene.things[1].noun)
            else:
                suits = not self.held_out(scene)
            if suits:
                return scene

    def _draw(self, rng: np.random.Generator) -> Scene:
        count = 3 if rng.random() < self.three_objects else 2
        words = rng.choice(self.noun_count, count, replace=False)
        colours = rng.choice(len(COLOURS), count, replace=False)
        sizes = rng.integers(len(SIZES), size=count)
        palette, every = list(COLOURS), self.nouns
        return Scene(
            things=tuple(
                Thing(every[n], palette[c], SIZES[s]) for n, c, s in zip(words, colours, sizes, strict=True)
            ),
            axis=("left", "above")[rng.integers(2)],
            third_after=bool(rng.integers(2)),
            place=list(PLACES)[rng.integers(len(PLACES))],
            seed=int(rng.integers(2**31)),
        )
