"""Captions in parts that split no picture."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from slipform_core.records import Caption


def whole_pictures(captions: Iterable[Caption], size: int) -> Iterator[list[Caption]]:
    """The captions in lists of `size` at most, those of a picture, which stand together, in one list.

    A picture with more captions than that is a list of its own.
    """
    part: list[Caption] = []
    for _, group in groupby(captions, key=lambda caption: caption.image_id):
        of_picture = list(group)
        if part and len(part) + len(of_picture) > size:
            yield part
            part = []
        part += of_picture
    if part:
        yield part
