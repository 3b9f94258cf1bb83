"""SugarCrepe's kinds of foils for captions of the embedded world: a word replaced, added, or two swapped."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from slipform_core.emoji_world import Scene, Thing, World, edit, holds, mend_articles, mentioned, reword
from slipform_core.emoji_world.lexicon import CONVERSE, SIZES, SURFACES
from slipform_core.records import Caption
from slipform_core.rewriters import GrammarRewriter


@dataclass(frozen=True)
class Foil:
    """A caption made false, the scene that it states, and the word that was changed or added."""

    text: str
    scene: Scene
    word: str


Words = dict[str, str]  # slot -> a word
Change = Callable[[Caption, Words], Words]  # what a caption says -> what it says instead


class Foils:
    """Foils of the test split's captions; `kinds` has what makes one of a caption, or None, by subset."""

    def __init__(self, world: World, rng: np.random.Generator):
        self.world, self.rng = world, rng
        self.nouns = frozenset(world.nouns)
        self.grammar = GrammarRewriter(world)

    def kinds(self) -> dict[str, Callable[[Caption], Foil | None]]:
        changes: dict[str, Change] = {
            "replace_obj": partial(self.replace, "noun"),
            "replace_att": partial(self.replace, "colour"),
            "replace_rel": partial(self.relation, False),
            "swap_obj": partial(self.swap, "noun"),
            "swap_att": partial(self.swap, "colour"),
            "replace_size": partial(self.replace, "size"),
            "replace_place": partial(self.replace, "place"),
            "swap_rel": partial(self.relation, True),
        }
        reworded = {name: partial(self.reworded, change) for name, change in changes.items()}
        return {"add_obj": self.add_obj, "add_att": self.add_att, **reworded}

    def pick(self, words: Sequence[str]) -> str:
        return words[self.rng.integers(len(words))]

    def reworded(self, change: Change, caption: Caption) -> Foil | None:
        """The caption with a change of words, unless that leaves it true."""
        scene, said = Scene.from_json(caption.scene), mentioned(caption)
        words = change(caption, said)
        now = said | words
        if holds(scene, now):
            return None
        changed = "|".join(word for slot, word in said.items() if slot in words)
        return Foil(reword(caption, words), edit(scene, now, self.nouns), changed.lower())

    def replace(self, kind: str, caption: Caption, said: Words) -> Words:
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

    def swap(self, kind: str, caption: Caption, said: Words) -> Words:
        one, other = f"{kind}.0", f"{kind}.1"
        return {one: said[other], other: said[one]} if one in said and other in said else {}

    def relation(self, converse: bool, caption: Caption, said: Words) -> Words:
        """Any of the three other directions, or the converse alone; only of a pair without a third thing."""
        for slot, word in said.items():
            means = SURFACES["relation"].get(word)
            if slot.startswith("relation") and means in CONVERSE and len(caption.scene["things"]) == 2:
                wanted = {CONVERSE[means]} if converse else set(CONVERSE) - {means}
                return {
                    slot: self.pick([w for w, meaning in SURFACES["relation"].items() if meaning in wanted])
                }
        return {}

    def add_att(self, caption: Caption) -> Foil | None:
        """A colour that the picture does not show, before a noun of the pair that is said without one."""
        said = mentioned(caption)
        bare = [index for index in (0, 1) if f"noun.{index}" in said and f"colour.{index}" not in said]
        if not bare:
            return None
        index = self.pick(bare)
        colour = self.pick(self.grammar.siblings(caption, f"colour.{index}", ""))
        start = next(start for start, _, slot in caption.scene["mentions"] if slot == f"noun.{index}")
        text = mend_articles(f"{caption.text[:start]}{colour} {caption.text[start:]}")
        stated = edit(Scene.from_json(caption.scene), said | {f"colour.{index}": colour}, self.nouns)
        return Foil(text, stated, colour)

    def add_obj(self, caption: Caption) -> Foil | None:
        """A third thing that the picture does not show, said after the pair.

        Its noun makes a held-out pair with the noun said before it: then neighbours in the foil are as new to
        a model as those in the caption. Its size, and its colour among those not shown, are drawn evenly; it
        stands across the pair, where the scene would have its third thing.
        """
        scene = Scene.from_json(caption.scene)
        last = [word for slot, word in mentioned(caption).items() if slot.startswith("noun")][-1]
        nouns = self.grammar.siblings(caption, "noun.2", "")
        nouns = [noun for noun in nouns if self.world.held_out_pair(noun, last)]
        if len(scene.things) != 2 or not nouns:
            return None
        noun, link, at = self.pick(nouns), self.pick(("and", "with")), _end_of_pair(caption)
        text = mend_articles(f"{caption.text[:at]} {link} a {noun}{caption.text[at:]}")
        colour = self.pick(self.grammar.siblings(caption, "colour.2", ""))
        added = Thing(noun, colour, self.pick(SIZES))
        return Foil(text, replace(scene, things=(*scene.things, added)), noun)


def _end_of_pair(caption: Caption) -> int:
    """Where the things of a caption of two end: at its place or, said first or not at all, at its stop."""
    starts = {slot: start for start, _, slot in caption.scene["mentions"]}
    if starts.get("place", 0) > starts["noun.0"]:
        return caption.text.rindex(" on ", 0, starts["place"])
    return len(caption.text.removesuffix("."))
