"""Captions of scenes, as varied as people's, and how an edited caption is read back into a scene.

A caption is built of pieces; those that state something are its mentions, spans with a slot such as
`noun.0`, `colour.1`, `relation.0.1` (thing 0 stands so to thing 1), `side` (of the third), `place`, `mood`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np

from slipform_core.emoji_world.lexicon import CONVERSE, SURFACES
from slipform_core.emoji_world.scenes import Scene, Thing, World
from slipform_core.records import Caption

Piece = tuple[str, str | None]  # a text and its slot, None for what states nothing
CAPTIONS = 5

# How often a caption says something, or says it so: our choice, short enough for a tiny model to learn from.
HABITS = {
    "size": 0.25,
    "colour": 0.75,
    "clause": 0.08,  # "a dog that is red"
    "beside": 0.1,  # "next to", "near" instead of a direction
    "is": 0.25,
    "verb": 0.2,
    "with": 0.1,  # "a dog with a cup to the left of it"
    "and": 0.1,  # "a dog and a cup"
    "third": 0.5,
    "medium": 0.2,  # "a picture of ..."
    "mood": 0.7,  # "a strange picture of ..."
    "there": 0.15,
    "place first": 0.4,  # "on grass there is ..."
    "place": 0.6,
    "on the": 0.5,
}


class Speaker:
    """Says captions of a scene: what they state (`states`, `stands`) and how they say it, both by habit."""

    def __init__(self, scene: Scene, rng: np.random.Generator):
        self.scene = scene
        self.draw = iter(rng.random(160).tolist()).__next__

    def does(self, habit: str) -> bool:
        return self.draw() < HABITS[habit]

    def states(self, slot: str, habit: str) -> bool:
        """Whether the caption states what fills a slot."""
        return self.does(habit)

    def stands(self, first: int, second: int) -> str | None:
        """What the caption states of how one thing stands to the other, if anything."""
        if self.does("and"):
            return None
        relation = self.scene.relation(first, second)
        if self.does("beside"):
            return "beside" if relation in ("left", "right") else "near"
        return relation

    def pick(self, choices: Sequence[str]) -> str:
        return choices[int(self.draw() * len(choices))]

    def word(self, kind: str, value: str | None = None) -> str:
        return self.pick(_surfaces(kind, value))

    def thing(self, index: int) -> list[Piece]:
        """A noun phrase: article, and often size and colour."""
        thing = self.scene.things[index]
        sized, coloured = f"size.{index}", f"colour.{index}"
        size = [(self.word("size", thing.size), sized)] if self.states(sized, "size") else []
        colour = [(thing.colour, coloured)] if self.states(coloured, "colour") else []
        noun = (thing.noun, f"noun.{index}")
        if colour and self.does("clause"):
            return [("a", None), *size, noun, ("that is", None), *colour]
        return [("a", None), *size, *colour, noun]

    def place(self) -> list[Piece]:
        return [("on the" if self.does("on the") else "on", None), (self.scene.place, "place")]

    def relation(self, relation: str, first: int, second: int) -> Piece:
        return self.word("relation", relation), f"relation.{first}.{second}"

    def pair(self, forward: float, link: list[Piece]) -> list[Piece]:
        """Two things in relation, named from the left or upper one with probability `forward`."""
        first, second = (0, 1) if self.draw() < forward else (1, 0)
        one, other = self.thing(first), self.thing(second)
        stated = self.stands(first, second)
        if stated is None:
            return [*one, ("and", None), *other]
        if self.does("with"):
            converse = CONVERSE.get(stated, stated)
            return [*one, ("with", None), *other, self.relation(converse, second, first), ("it", None)]
        return [*one, *link, self.relation(stated, first, second), *other]

    def third(self) -> list[Piece]:
        link = (self.pick(("with", "and")), None)
        side = "below" if self.scene.third_after else "above"
        where: list[Piece] = [(side, "side"), ("them", None)] if self.scene.axis == "left" else []
        return [link, *self.thing(2), *where]

    def caption(self, forward: float) -> list[Piece]:
        opening: list[Piece] = []
        link: list[Piece] = []
        place = self.place() if self.states("place", "place") else []
        if self.does("medium"):
            mood: list[Piece] = [(self.word("mood"), "mood")] if self.does("mood") else []
            opening = [("a", None), *mood, (self.word("medium"), "medium"), ("of", None)]
        elif self.does("there"):
            opening = [("there is", None)]
            if place and self.does("place first"):
                opening, place = [*place, *opening], []
        elif self.does("is"):
            link = [("is", None)]
        elif self.does("verb"):
            link = [(self.word("verb"), "verb")]
        third = self.third() if len(self.scene.things) == 3 and self.states("noun.2", "third") else []
        return [*opening, *self.pair(forward, link), *third, *place]

    def say(self, forward: float) -> tuple[str, list[list[Any]]]:
        """A caption's text and its mentions, [start, end, slot] in the order of the text."""
        capital, stop = self.draw() < 0.5, self.draw() < 0.5
        return _assemble(self.caption(forward), capital, stop)


@cache
def _surfaces(kind: str, value: str | None) -> tuple[str, ...]:
    return tuple(surface for surface, means in SURFACES[kind].items() if means == value)


def _assemble(pieces: Sequence[Piece], capital: bool, stop: bool) -> tuple[str, list[list[Any]]]:
    text, mentions = "", []
    for position, (piece, slot) in enumerate(pieces):
        if piece == "a":
            piece = article(pieces[position + 1][0])
        if capital and not text:
            piece = piece[0].upper() + piece[1:]
        start = len(text) + bool(text)
        text = f"{text} {piece}" if text else piece
        if slot:
            mentions.append([start, len(text), slot])
    return text + "." * stop, mentions


def article(word: str) -> str:
    return "an" if re.match(r"[aeio]|u(?!ni|k)|hour", word) else "a"


def captions(
    world: World, split: str, count: int, *, seed: int, forward: float, each: int = CAPTIONS
) -> Iterator[Caption]:
    """`each` captions (`CAPTIONS` at most) of every scene of a split, in order.

    `forward` is how often the left or upper thing comes first. A caption's `scene` holds the scene and the
    caption's mentions; its `image_path` is None, since a scene is drawn.
    """
    for index in range(count):
        scene = world.scene(split, index, seed=seed)
        speaker = Speaker(scene, np.random.default_rng(scene.seed))
        fields = scene.to_json()
        for _ in range(each):
            text, mentions = speaker.say(forward)
            yield Caption(f"{split}-{index:06d}", None, text, fields | {"mentions": mentions})


def mentioned(caption: Caption) -> dict[str, str]:
    """The word in each slot of a caption, in the order of the text."""
    return {slot: caption.text[start:end] for start, end, slot in caption.scene["mentions"]}


def mend_articles(text: str) -> str:
    """Make every "a" or "an" agree with the word after it."""

    def agree(match: re.Match[str]) -> str:
        word = article(match[2])
        return f"{word.capitalize() if match[1][0] == 'A' else word} {match[2]}"

    return re.sub(r"\b([Aa]n?) (\w+)", agree, text)


def reword(caption: Caption, words: Mapping[str, str]) -> str:
    """The caption with other words in some slots, articles agreeing."""
    text = caption.text
    for start, end, slot in sorted(caption.scene["mentions"], reverse=True):
        if slot in words:
            text = text[:start] + words[slot] + text[end:]
    return mend_articles(text)


@cache
def _alternatives(kind: str) -> str:
    if kind == "noun":
        return "(.+?)"
    longest_first = sorted(SURFACES[kind], key=len, reverse=True)
    return f"({'|'.join(map(re.escape, longest_first))})"


@cache
def _pattern(literals: tuple[str, ...], kinds: tuple[str, ...]) -> re.Pattern[str]:
    between = [re.sub(r"\b([Aa])n?(?=\\ |$)", r"\1n?", re.escape(literal)) for literal in literals]
    slots = [_alternatives(kind) for kind in kinds]
    return re.compile("".join(part for pair in zip(between, [*slots, ""], strict=True) for part in pair))


def read_back(caption: Caption, text: str) -> dict[str, str] | None:
    """What an edited caption says in each slot of the original, or None when it is no edit of it."""
    mentions = caption.scene["mentions"]
    edges = [0, *(edge for start, end, _ in mentions for edge in (start, end)), len(caption.text)]
    literals = tuple(caption.text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True))
    match = _pattern(literals, tuple(slot.split(".")[0] for _, _, slot in mentions)).fullmatch(text)
    return match and dict(zip((slot for _, _, slot in mentions), match.groups(), strict=True))


def edit(scene: Scene, said: Mapping[str, str], nouns: frozenset[str]) -> Scene:
    """The scene that a caption's slots state, everything unsaid in place; ValueError for an unknown noun."""
    things = list(scene.things)
    changes: dict[str, Any] = {}
    order = None
    for slot, word in said.items():
        kind, *where = slot.split(".")
        if kind == "noun":
            if word not in nouns:
                raise ValueError(f"the world has no picture of {word!r}")
            things[int(where[0])] = replace(things[int(where[0])], noun=word)
        elif kind in ("colour", "size"):
            things[int(where[0])] = replace(things[int(where[0])], **{kind: SURFACES[kind][word]})
        elif kind == "place":
            changes["place"] = word
        elif kind == "side":
            changes["third_after"] = word == "below"
        elif kind == "relation":
            first, second = int(where[0]), int(where[1])
            order = (first, second, _fulfil(SURFACES[kind][word], scene.relation(first, second)))
    if order:
        things, changes["axis"] = _arrange(things, *order)
    return replace(scene, things=tuple(things), **changes)


def _arrange(things: list[Thing], first: int, second: int, relation: str) -> tuple[list[Thing], str]:
    ahead, behind = (first, second) if relation in ("left", "above") else (second, first)
    axis = relation if relation in ("left", "above") else CONVERSE[relation]
    return [things[ahead], things[behind], *things[2:]], axis


def _fulfil(stated: str, current: str) -> str:
    """The direction that makes a stated relation true, the present one where it already does."""
    if stated == "near" or (stated == "beside" and current in ("left", "right")):
        return current
    return "left" if stated == "beside" else stated


def holds(scene: Scene, said: Mapping[str, str]) -> bool:
    """Whether some reading of a caption's slots is true of the scene: the names of the things are free.

    "a dog and a cup" is true of a cup and a dog; what has no visible referent is not looked at.
    """
    every = range(len(scene.things))
    return any(
        all(_true(scene, order, slot.split("."), word) for slot, word in said.items())
        for order in permutations(every)
    )


def _true(scene: Scene, order: Sequence[int], slot: Sequence[str], word: str) -> bool:
    kind, where = slot[0], [order[int(index)] for index in slot[1:]]
    if kind == "noun":
        return scene.things[where[0]].noun == word
    if kind in ("colour", "size"):
        return getattr(scene.things[where[0]], kind) == SURFACES[kind][word]
    if kind == "place":
        return scene.place == word
    if kind == "side":
        return order[2] == 2 and scene.third_after == (word == "below")
    if kind == "relation":
        stated = SURFACES[kind][word]
        if stated == "near":
            return True
        return max(where) < 2 and _fulfil(stated, scene.relation(*where)) == scene.relation(*where)
    return True
