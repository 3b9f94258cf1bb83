"""The words of the embedded world: what each shows in the picture, if anything.

Every word is an entry of Brysbaert's norms, verbs by their lemma. Nouns are OpenMoji pictures (`nouns.csv`:
noun, Unicode code point), the first ones chosen to look unlike each other at 22 pixels. Moods, media and
verbs have no visible referent: that is the world's modelling assumption, not a finding.
"""

import csv
from functools import cache
from importlib.resources import files

COLOURS = {
    "red": (220, 40, 40),
    "blue": (40, 80, 220),
    "green": (40, 165, 60),
    "yellow": (240, 215, 40),
    "purple": (140, 50, 180),
    "black": (20, 20, 20),
    "white": (250, 250, 250),
    "pink": (250, 145, 190),
}
PLACES = {
    "grass": (85, 150, 65),
    "sand": (225, 200, 140),
    "water": (65, 125, 200),
    "snow": (240, 245, 250),
    "brick": (170, 75, 55),
    "asphalt": (70, 70, 75),
}
SIZES = ("small", "large")
MOODS = (
    "strange",
    "odd",
    "simple",
    "mysterious",
    "lovely",
    "boring",
    "ordinary",
    "pleasant",
    "weird",
    "peaceful",
    "interesting",
)
CONVERSE = {"left": "right", "right": "left", "above": "below", "below": "above"}

# kind -> surface form -> the value it states of the scene, None for a word without a visible referent
SURFACES: dict[str, dict[str, str | None]] = {
    "colour": {colour: colour for colour in COLOURS},
    "place": {place: place for place in PLACES},
    "size": {
        "small": "small",
        "little": "small",
        "tiny": "small",
        "large": "large",
        "big": "large",
        "huge": "large",
    },
    "relation": {
        "to the left of": "left",
        "left of": "left",
        "to the right of": "right",
        "right of": "right",
        "above": "above",
        "over": "above",
        "below": "below",
        "under": "below",
        "beneath": "below",
        "next to": "beside",
        "beside": "beside",
        "near": "near",
    },
    "side": {"above": "above", "below": "below"},
    "mood": dict.fromkeys(MOODS),
    "medium": dict.fromkeys(["picture", "image", "scene", "view", "photo"]),
    "verb": dict.fromkeys(["appears", "remains", "hangs"]),
}

# Kinds of which no word has a visible referent.
INVISIBLE = frozenset(kind for kind, words in SURFACES.items() if set(words.values()) == {None})


@cache
def code_points() -> dict[str, str]:
    """Every noun of the world and the character that draws it."""
    with files(__package__).joinpath("nouns.csv").open(newline="") as table:
        return {row["noun"]: chr(int(row["codepoint"], 16)) for row in csv.DictReader(table)}


def nouns(count: int) -> tuple[str, ...]:
    """The first `count` nouns; ValueError names how many there are."""
    every = tuple(code_points())
    if count > len(every):
        raise ValueError(f"the world has {len(every)} nouns, {count} were asked for")
    return every[:count]
