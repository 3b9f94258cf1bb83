"""The editor of the embedded world: the scene is drawn again."""

from collections.abc import Sequence

from PIL import Image

from slipform_core.editors.protocol import Edit
from slipform_core.emoji_world import Scene, World, draw, edit, read_back
from slipform_core.records import Caption


class RenderEditor:
    """Redraws the scene that the edited caption states, everything else in place.

    A word without a visible referent changes nothing but the renderer's own noise: a modelling assumption of
    the embedded world.
    """

    version = "render@1"
    side = None

    def __init__(self, world: World):
        self.nouns = frozenset(world.nouns)

    def edit(
        self,
        captions: Sequence[Caption],
        images: Sequence[Image.Image],
        negative_captions: Sequence[str],
        *,
        seeds: Sequence[int],
    ) -> list[Edit]:
        """Pictures of the size of `images`; ValueError for a caption that is no edit of the original."""
        return [self._one(*record) for record in zip(captions, images, negative_captions, seeds, strict=True)]

    def _one(self, caption: Caption, image: Image.Image, negative: str, seed: int) -> Edit:
        said = read_back(caption, negative)
        if said is None:
            raise ValueError(f"{negative!r} is no edit of {caption.text!r}")
        scene = edit(Scene.from_json(caption.scene), said, self.nouns)
        return Edit(Image.fromarray(draw(scene, side=image.width, seed=seed)))
