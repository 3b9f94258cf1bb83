"""Readers of the embedded world that share no code with it: what a caption states, what a picture shows.

`state` parses a caption by a grammar of its own, `see` reads a picture that was drawn without noise, and
`true` compares the two by the positions in the picture.
"""

import re
from dataclasses import dataclass
from functools import cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from slipform_core.emoji_world import Scene, Thing, World, captions, drawing, font_path
from slipform_core.emoji_world.lexicon import code_points
from slipform_core.records import Caption

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
SIZES = dict.fromkeys(("small", "little", "tiny"), "small") | dict.fromkeys(("large", "big", "huge"), "large")
RELATIONS = {
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
}
MOODS = ("strange", "odd", "simple", "mysterious", "lovely", "boring", "ordinary", "pleasant", "weird")
MOODS += ("peaceful", "interesting")


@dataclass(frozen=True)
class Statement:
    """Things as (noun, colour or None, size or None); relation (first, word, second); side of the third."""

    things: tuple
    relation: tuple | None
    side: str | None
    place: str | None
    mood: str | None


@dataclass(frozen=True)
class View:
    """noun -> (colour, size, x, y), and the place."""

    things: dict
    place: str


def _any(words) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


@cache
def _grammar() -> re.Pattern:
    def thing(n: int) -> str:
        return (
            rf"an? (?:(?P<size{n}>{_any(SIZES)}) )?(?:(?P<colour{n}>{_any(COLOURS)}) )?"
            rf"(?P<noun{n}>{_any(code_points())})(?: that is (?P<clause{n}>{_any(COLOURS)}))?"
        )

    one, two, three = thing(1), thing(2), thing(3)
    two_with = re.sub(r"\?P<(\w+)2>", r"?P<\g<1>4>", two)
    two_and = re.sub(r"\?P<(\w+)2>", r"?P<\g<1>5>", two)
    relation, place = _any(RELATIONS), _any(PLACES)
    return re.compile(
        rf"(?:(?:on (?:the )?(?P<first_place>{place}) )?there is "
        rf"|an? (?:(?P<mood>{_any(MOODS)}) )?(?:picture|image|scene|view|photo) of )?{one}"
        rf"(?: (?:(?:is|appears|remains|hangs) )?(?P<relation>{relation}) {two}"
        rf"| with {two_with} (?P<converse>{relation}) it| and {two_and})"
        rf"(?: (?:with|and) {three}(?: (?P<side>above|below) them)?)?"
        rf"(?: on (?:the )?(?P<last_place>{place}))?"
    )


def state(text: str) -> Statement:
    """What a caption states; ValueError when it is no sentence of the world."""
    match = _grammar().fullmatch(text.removesuffix(".")[:1].lower() + text.removesuffix(".")[1:])
    if not match:
        raise ValueError(f"{text!r} is no caption of the world")
    said = match.groupdict()
    second = next(n for n in (2, 4, 5) if said[f"noun{n}"])
    things = tuple(
        (said[f"noun{n}"], said[f"colour{n}"] or said[f"clause{n}"], SIZES.get(said[f"size{n}"]))
        for n in (1, second, 3)
        if said[f"noun{n}"]
    )
    relation = None
    if said["relation"]:
        relation = (0, RELATIONS[said["relation"]], 1)
    elif said["converse"]:
        relation = (1, RELATIONS[said["converse"]], 0)
    return Statement(things, relation, said["side"], said["first_place"] or said["last_place"], said["mood"])


def content(text: str) -> tuple:
    """What a caption states, the same for every wording: without the mood, whichever thing comes first."""
    said = state(text)
    relation = None
    if said.relation:
        first, word, second = said.relation
        one, other = said.things[first][0], said.things[second][0]
        if word in ("beside", "near"):
            relation = (word, frozenset({one, other}))
        else:
            turned = {"right": (other, "left", one), "below": (other, "above", one)}
            relation = turned.get(word, (one, word, other))
    return frozenset(said.things[:2]), said.things[2:], relation, said.side, said.place


def stands(one: tuple, relation: str, other: tuple) -> bool:
    """Whether `one` stands so to `other`, (colour, size, x, y): by the larger of the two distances."""
    across, down = one[2] - other[2], one[3] - other[3]
    sideways = abs(across) > abs(down)
    return {
        "left": sideways and across < 0,
        "right": sideways and across > 0,
        "above": not sideways and down < 0,
        "below": not sideways and down > 0,
        "beside": sideways,
        "near": True,
    }[relation]


def true(text: str, view: View) -> bool:
    """Whether a caption is true of what was seen; each noun names one thing."""
    said = state(text)
    nouns = [noun for noun, _, _ in said.things]
    if not set(nouns) <= set(view.things) or len(set(nouns)) < len(nouns):
        return False
    seen = [view.things[noun] for noun in nouns]
    for (_, colour, size), thing in zip(said.things, seen, strict=True):
        if colour not in (None, thing[0]) or size not in (None, thing[1]):
            return False
    if said.relation and not stands(seen[said.relation[0]], said.relation[1], seen[said.relation[2]]):
        return False
    if said.side and not all(stands(seen[2], said.side, thing) for thing in seen[:2]):
        return False
    return said.place in (None, view.place)


@cache
def _glyphs() -> dict[str, Image.Image]:
    """Every noun's picture in a square, drawn here from the font."""
    font = ImageFont.truetype(font_path(), 160)
    glyphs = {}
    for noun, character in code_points().items():
        sheet = Image.new("RGBA", (256, 256))
        ImageDraw.Draw(sheet).text((40, 20), character, font=font, embedded_color=True)
        left, top, right, bottom = sheet.getbbox()
        glyphs[noun] = square = Image.new("RGBA", (max(right - left, bottom - top),) * 2)
        corner = ((square.width - right + left) // 2, (square.height - bottom + top) // 2)
        square.paste(sheet.crop((left, top, right, bottom)), corner)
    return glyphs


@cache
def _cards(side: int, rim: int) -> np.ndarray:
    """Every noun on a grey card of `side` pixels without its rim, flat."""
    cards = []
    for glyph in _glyphs().values():
        card = Image.new("RGBA", (side, side), (235, 235, 235, 255))
        card.alpha_composite(glyph.resize((side, side), Image.Resampling.BOX))
        cards.append(np.asarray(card.convert("RGB"), dtype=np.float32)[rim:-rim, rim:-rim].ravel())
    return np.stack(cards)


def _noun(pixels: np.ndarray, x: int, y: int, size: str, scale: int) -> str:
    """The noun whose picture is nearest; a sprite may reach into a small card's frame by its rim."""
    distances = {}
    for side in ((18, 20), (22, 24))[size == "large"]:
        cards = _cards(side * scale, scale)
        low, width = side * scale // 2 - scale, (side - 2) * scale
        crop = pixels[y - low : y - low + width, x - low : x - low + width].astype(np.float32).ravel()
        far = ((cards**2).sum(axis=1) - 2 * cards @ crop + crop @ crop) / crop.size
        distances[list(_glyphs())[int(far.argmin())]] = float(far.min())
    return min(distances, key=distances.get)


def see(pixels: np.ndarray) -> View:
    """What a picture shows that was drawn without noise: its frames by their exact colours."""
    scale = len(pixels) // 64
    things = {}
    for colour, value in COLOURS.items():
        same = (pixels == value).all(axis=-1)
        rows, columns = (np.flatnonzero(same.sum(axis=axis) >= 18 * scale) for axis in (1, 0))
        if not len(rows):
            continue
        width = max(rows[-1] - rows[0], columns[-1] - columns[0]) + 1
        size = "large" if width > 27 * scale else "small"
        half = {"small": 12, "large": 15}[size] * scale
        x, y = _middle(columns, half, 3 * scale), _middle(rows, half, 3 * scale)
        things[_noun(pixels, x, y, size, scale)] = (colour, size, x, y)
    place = max(PLACES, key=lambda place: (pixels == PLACES[place]).all(axis=-1).sum())
    return View(things, place)


def _middle(lines: np.ndarray, half: int, bar: int) -> int:
    """The middle of a frame from its first side, or the last where a neighbour or the edge hides that."""
    whole = (lines < lines[0] + half).sum() == bar
    return int(lines[0]) + half if whole else int(lines[-1]) + 1 - half


def still(monkeypatch) -> None:
    """Let the renderer draw without noise."""
    for noise in ("PLACE_SHADES", "FRAME_SHADES", "PIXEL_NOISE"):
        monkeypatch.setattr(drawing, noise, 0)


def view(scene: Scene) -> View:
    """What the picture of a scene should show: the pair along its axis, a third thing across."""
    along = [16, 48]
    across = 32 if len(scene.things) == 2 else (16 if scene.third_after else 48)
    spots = [(a, across) for a in along] + [(32, 64 - across)]
    if scene.axis == "above":
        spots = [(y, x) for x, y in spots]
    things = {
        thing.noun: (thing.colour, thing.size, *spot)
        for thing, spot in zip(scene.things, spots, strict=False)
    }
    return View(things, scene.place)


def scene(*things: str, axis="left", third_after=True, place="grass", seed=1) -> Scene:
    """A scene of things such as "red dog large"."""
    read = [Thing(noun, colour, size) for colour, noun, size in map(str.split, things)]
    return Scene(tuple(read), axis, third_after, place, seed)


def told(marked: str, scene: Scene, image_id: str = "train-000001") -> Caption:
    """A caption from "A [red|colour.0] [dog|noun.0] ...", its mentions at the brackets."""
    text, mentions = "", []
    for part in re.split(r"(\[[^]]+\])", marked):
        if part.startswith("["):
            word, slot = part[1:-1].split("|")
            mentions.append([len(text), len(text) + len(word), slot])
            text += word
        else:
            text += part
    return Caption(image_id, None, text, scene.to_json() | {"mentions": mentions})


def told_captions(count: int, split="train", nouns=88, three_objects=0.3) -> list[tuple[Caption, Scene]]:
    """The captions of `count` scenes of a world, each with its scene."""
    made = captions(World(nouns, three_objects), split, count, seed=5, forward=0.6)
    return [(caption, Scene.from_json(caption.scene)) for caption in made]
