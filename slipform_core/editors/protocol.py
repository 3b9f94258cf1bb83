"""What an editor is."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from PIL import Image

from slipform_core.records import Caption


class Edit(NamedTuple):
    """A picture that fits the negative caption, or why there is none.

    `path` is where the picture lies if it is another photograph; `fault` a few words that are counted.
    """

    image: Image.Image | None
    path: str | None = None
    fault: str | None = None


class Editor(Protocol):
    """From pictures and the rewritten captions, pictures that fit them.

    One seed a record, so that a record alone and in a batch gives the same picture. `version` changes when
    the output does. `side` is that of the square pictures which it wants and gives, None for any.
    """

    version: str
    side: int | None

    def edit(
        self,
        captions: Sequence[Caption],
        images: Sequence[Image.Image],
        negative_captions: Sequence[str],
        *,
        seeds: Sequence[int],
    ) -> list[Edit]: ...
