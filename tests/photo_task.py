"""A folder of photographs with captions, made up, and a planting of it that needs no weights."""

from pathlib import Path

import numpy as np
from made_up_encoder import MadeUpEncoder
from PIL import Image

from slipform_core import planting
from slipform_core.config import load_recipe
from slipform_core.planting import Planting
from slipform_core.sources import photos

ROOT = Path(__file__).parents[1]
ANIMALS = ("dog", "cat", "horse", "cow", "sheep", "goat", "elephant", "zebra")
PLACES = ("park", "garden", "street", "field", "kitchen", "forest")
COLOURS = ("red", "blue", "green", "white")


def write_task(folder: Path, pictures: int = 60, seed: int = 0) -> Path:
    """A table of two captions a picture, and the pictures beside it."""
    rng = np.random.default_rng(seed)
    (folder / "pictures").mkdir(parents=True)
    lines = ["image,caption"]
    for number in range(pictures):
        animal, other = rng.choice(ANIMALS, 2, replace=False)
        place, colour = rng.choice(PLACES), rng.choice(COLOURS)
        name = f"pictures/{number:03d}.jpg"
        pixels = rng.integers(0, 256, (40, 48, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / name, quality=90)
        lines.append(
            f"{name},A {animal} runs in the {place} near a {colour} {rng.choice(['car', 'bus', 'chair'])}"
        )
        lines.append(f"{name},The {animal} and a {other} in a {place}")
    path = folder / "captions.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def planted(path: Path, out: Path, settings: str = "", **asked):
    """The report of a run with the made-up encoder in place of the packaged one."""
    import slipform_core.sentences as sentences

    encoder = MadeUpEncoder(common=0.3)
    sentences.encoder = lambda model="", device="cpu": encoder
    small = "shard_captions=20 side=32 editor.batch=8 top_k=3 "
    recipe = load_recipe("photo", small + settings, ROOT / "notebooks/params/plant")
    planting.check(recipe)
    return Planting(recipe, photos(path), out).run(**asked)


if __name__ == "__main__":
    import sys

    planted(Path(sys.argv[1]), Path(sys.argv[2]))
