"""Editors: from a picture and the rewritten caption, a picture that fits it.

An `Editor` has a `version` and `edit(captions, images, negative_captions, seeds=...) -> list[Image]`, one
seed a record, so that a record alone and in a batch gives the same picture.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from PIL import Image

from slipform_core.emoji_world import Scene, World, draw, edit, read_back
from slipform_core.records import Caption


class Editor(Protocol):
    version: str

    def edit(
        self,
        captions: Sequence[Caption],
        images: Sequence[Image.Image],
        negative_captions: Sequence[str],
        *,
        seeds: Sequence[int],
    ) -> list[Image.Image]: ...


class RenderEditor:
    """Redraws the scene that the edited caption states, everything else in place.

    A word without a visible referent changes nothing but the renderer's own noise: a modelling assumption of
    the embedded world.
    """

    version = "render@1"

    def __init__(self, world: World):
        self.nouns = frozenset(world.nouns)

    def edit(
        self,
        captions: Sequence[Caption],
        images: Sequence[Image.Image],
        negative_captions: Sequence[str],
        *,
        seeds: Sequence[int],
    ) -> list[Image.Image]:
        """Pictures of the size of `images`; ValueError for a caption that is no edit of the original."""
        return [self._one(*record) for record in zip(captions, images, negative_captions, seeds, strict=True)]

    def _one(self, caption: Caption, image: Image.Image, negative: str, seed: int) -> Image.Image:
        said = read_back(caption, negative)
        if said is None:
            raise ValueError(f"{negative!r} is no edit of {caption.text!r}")
        scene = edit(Scene.from_json(caption.scene), said, self.nouns)
        return Image.fromarray(draw(scene, side=image.width, seed=seed))


EDITORS: dict[str, Callable[[World], Editor]] = {"render": RenderEditor}
