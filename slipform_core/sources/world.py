"""The embedded world as a source of captions and pictures."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from slipform_core import emoji_world
from slipform_core.config import Experiment
from slipform_core.records import Caption


def picture(caption: Caption, *, side: int = 64) -> np.ndarray:
    """The picture (side, side, 3) uint8 of a caption's scene: one image id, one picture, always the same."""
    scene = emoji_world.Scene.from_json(caption.scene)
    return emoji_world.draw(scene, side=side, seed=scene.seed)


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
