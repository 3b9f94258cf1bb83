"""The embedded world a second: scenes drawn, captions told, captions planted, on one core.

The pictures are measured against plain Pillow (the character drawn from the font and resized for each thing),
interleaved in one run: `OMP_NUM_THREADS=1 python benchmarks/world.py`. The target is 1,500 scenes a second at
64 pixels.
"""

import argparse
import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from report import publish, ratio

from slipform_core.concrete_plant import ConcretePlant
from slipform_core.concreteness import Norms
from slipform_core.editors import RenderEditor
from slipform_core.emoji_world import Scene, World, captions, draw, font_path
from slipform_core.emoji_world.lexicon import COLOURS, PLACES, code_points
from slipform_core.rewriters import GrammarRewriter
from slipform_core.sources import picture

FONT = ImageFont.truetype(font_path(), 160)


def plain(scene: Scene, side: int) -> np.ndarray:
    """A like picture by Pillow alone, nothing kept between scenes but the font."""
    canvas = Image.new("RGB", (side, side), PLACES[scene.place])
    for index, thing in enumerate(scene.things):
        sheet = Image.new("RGBA", (256, 256))
        ImageDraw.Draw(sheet).text((40, 20), code_points()[thing.noun], font=FONT, embedded_color=True)
        sprite = sheet.crop(sheet.getbbox()).resize((24, 24), Image.Resampling.BOX)
        x, y = (2, 34, 18)[index], (17, 17, 34)[index]
        canvas.paste(COLOURS[thing.colour], (x, y, x + 30, y + 30))
        canvas.paste((235, 235, 235), (x + 3, y + 3, x + 27, y + 27))
        canvas.paste(sprite, (x + 3, y + 3), sprite)
    noise = np.random.default_rng(scene.seed).normal(0, 10, (side, side, 3))
    return np.clip(np.asarray(canvas) + noise, 0, 255).astype(np.uint8)


def rate(work: Callable[[], int]) -> float:
    start = perf_counter()
    return work() / (perf_counter() - start)


def measure(count: int, blocks: int, side: int, nouns: int) -> dict[str, float]:
    """Scenes and captions a second (median over blocks), and the ratio to plain Pillow."""
    world = World(nouns, 0.2)
    scenes = [world.scene("train", index, seed=1) for index in range(count)]
    plant = ConcretePlant(
        norms=Norms.load("brysbaert"),
        choose="hc",
        rewriter=GrammarRewriter(world),
        editor=RenderEditor(world),
        picture=partial(picture, side=side),
        top_k=3,
        attempts=8,
        seed=1,
    )

    def told(seed: int) -> list:
        return list(captions(world, "train", count, seed=seed, forward=0.8))

    def planted(seed: int) -> int:
        texts = list(captions(world, "train", count, seed=seed, forward=0.8, each=1))
        with tempfile.TemporaryDirectory() as folder:
            plant.run(texts, out=Path(folder), shard_captions=count)
        return count

    [draw(scene, side=side, seed=0) for scene in scenes], planted(0)
    names = ("scenes", "plain scenes", "captions", "planted captions")
    rates: dict[str, list[float]] = {name: [] for name in names}
    for block in range(1, blocks + 1):
        rates["scenes"].append(rate(lambda: len([draw(scene, side=side, seed=1) for scene in scenes])))
        rates["plain scenes"].append(rate(lambda: len([plain(scene, side) for scene in scenes])))
        rates["captions"].append(rate(lambda seed=block: len(told(seed))))
        rates["planted captions"].append(rate(lambda seed=block: planted(seed)))
    medians = {f"{name} a second": round(statistics.median(values)) for name, values in rates.items()}
    return medians | {"faster": ratio(rates["scenes"], rates["plain scenes"])}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=500, help="scenes a block")
    parser.add_argument("--blocks", type=int, default=5, help="turns that each takes")
    parser.add_argument("--side", type=int, default=64, help="pixels")
    parser.add_argument("--nouns", type=int, default=88)
    parser.add_argument("--out", type=Path, help="a results file")
    options = parser.parse_args()
    publish(measure(options.count, options.blocks, options.side, options.nouns), options.out)
