"""The embedded world as a source of captions and pictures."""

from collections.abc import Iterator
from functools import partial
from itertools import groupby, islice
from pathlib import Path

import numpy as np
from PIL import Image

from slipform_core import emoji_world
from slipform_core.config import Experiment
from slipform_core.files import whole, write_text
from slipform_core.records import Caption


def picture(caption: Caption, *, side: int = 64) -> np.ndarray:
    """The picture (side, side, 3) uint8 of a caption's scene: one image id, one picture, always the same."""
    scene = emoji_world.Scene.from_json(caption.scene)
    return emoji_world.draw(scene, side=side, seed=scene.seed)


def write_photos(source: "WorldSource", split: str, pictures: int, folder: Path) -> Path:
    """The first pictures of a split as files, and captions.csv, as anyone's photographs would lie there."""
    rows = ["image,caption"]
    captions = islice(source.captions(split), pictures * emoji_world.CAPTIONS)
    for image_id, group in groupby(captions, key=lambda caption: caption.image_id):
        of_picture = list(group)
        path = folder / f"{image_id}.png"
        # What stands may be of another world, whose pictures have the same names.
        with whole(path) as partial:
            Image.fromarray(source.picture(of_picture[0])).save(partial, format="PNG")
        rows += [f'{path.name},"{caption.text}"' for caption in of_picture]
    write_text(folder / "captions.csv", "\n".join(rows) + "\n")
    return folder / "captions.csv"


class WorldSource:
    """The embedded world of an experiment: captions of a split, and the picture of a caption."""

    def __init__(self, experiment: Experiment):
        self.settings = experiment.world
        self.seed = experiment.seed
        self.world = emoji_world.World(self.settings.nouns, self.settings.three_objects)
        self.picture = partial(picture, side=self.settings.side)

    def captions(self, split: str, *, each: int = emoji_world.CAPTIONS) -> Iterator[Caption]:
        """`each` captions of every scene of "pretrain", "train" or "test", those of a picture together."""
        count = getattr(self.settings, f"{split}_scenes")
        forward = getattr(self.settings, f"{split}_forward")
        return emoji_world.captions(self.world, split, count, seed=self.seed, forward=forward, each=each)
