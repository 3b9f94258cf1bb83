"""Photographs as they come: read whatever their mode, orientation or size, or say in a few words why not."""

import io
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from slipform_core.mistakes import BadPicture

SHORTEST = 32  # pixels; a smaller picture shows nothing to edit: our choice
LARGEST = 500_000_000  # pixels that are decoded; JPEGs are decoded smaller, so that most are never this large
STRIP = 4  # what of a longer strip is not in the middle is cut before it is scaled
INSIDE = re.compile(r"(?P<file>.*)#((?P<offset>\d+)\+(?P<size>\d+)|(?P<column>.*)@(?P<row>\d+))", re.DOTALL)
DEEP = ("I;16", "I;16L", "I;16B", "I;16N", "I")


def read(place: str, side: int) -> Image.Image:
    """The picture at a place in RGB: its middle, the short side scaled to `side`, as CLIP does.

    A place is a path, "path#offset+size" in a tar, or "path#column@row" in Parquet. Turned as its EXIF says;
    16-bit scaled to 8; what is transparent becomes white; the first frame of several. Raises BadPicture with
    one of: "missing picture", "damaged picture", "tiny picture" (short side under 32), "huge picture".
    """
    data = _bytes(place)
    with _any_size():
        try:
            picture = Image.open(io.BytesIO(data))
            picture.draft("RGB", (2 * side, 2 * side))  # a JPEG of many pixels is decoded at a fraction
            if picture.width * picture.height > LARGEST:
                raise BadPicture("huge picture")
            picture.load()
            if min(picture.size) < SHORTEST:
                raise BadPicture("tiny picture")
            return square(_rgb(ImageOps.exif_transpose(picture)), side)
        except BadPicture:
            raise
        except Exception:  # a decoder raises what it likes: OSError, SyntaxError, struct.error, ValueError
            raise BadPicture("damaged picture") from None


def square(picture: Image.Image, side: int) -> Image.Image:
    """The middle of a picture with its short side scaled to `side`, to the pixel as torchvision's transforms.

    A picture that is a square of that side stays as it is.
    """
    if picture.size == (side, side):
        return picture
    short = min(picture.size)
    picture = _middle(picture, *(min(length, STRIP * short) for length in picture.size))
    scaled = [side if length == short else side * length // short for length in picture.size]
    return _middle(picture.resize(scaled, Image.Resampling.BICUBIC), side, side)


def _middle(picture: Image.Image, width: int, height: int) -> Image.Image:
    left, top = round((picture.width - width) / 2), round((picture.height - height) / 2)
    return picture.crop((left, top, left + width, top + height))


def exists(place: str) -> bool:
    """Whether the file at a place, or the one that it is in, is there."""
    inside = INSIDE.fullmatch(place)
    return Path(inside["file"] if inside else place).exists()


def _bytes(place: str) -> bytes:
    inside = INSIDE.fullmatch(place)
    try:
        if not inside:
            return Path(place).read_bytes()
        if inside["column"] is not None:
            return _cell(inside["file"], inside["column"], int(inside["row"]))
        with Path(inside["file"]).open("rb") as stream:
            stream.seek(int(inside["offset"]))
            return stream.read(int(inside["size"]))
    except (OSError, ValueError):
        raise BadPicture("missing picture") from None


def _cell(path: str, column: str, row: int) -> bytes:
    first, group = _groups(path)
    index = bisect_right(first, row) - 1
    found = group(column, index)[row - first[index]].as_py()
    data = found.get("bytes") if isinstance(found, dict) else found
    if data is None:
        raise BadPicture("missing picture")
    return data


@lru_cache(maxsize=4)
def _groups(path: str) -> tuple[list[int], Callable[[str, int], Any]]:
    """The first row of each row group, and a reader that keeps the group which was read last."""
    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(path)
    sizes = [file.metadata.row_group(index).num_rows for index in range(file.num_row_groups)]

    @lru_cache(maxsize=1)
    def group(column: str, index: int) -> Any:
        return file.read_row_group(index, columns=[column])[column]

    return [0, *accumulate(sizes)][:-1], group


def _rgb(picture: Image.Image) -> Image.Image:
    if picture.mode in DEEP:
        deep = np.asarray(picture).astype(np.float64)
        return Image.fromarray((deep.clip(0, 65535) / 257).round().astype(np.uint8)).convert("RGB")
    if picture.has_transparency_data:
        ground = Image.new("RGBA", picture.size, "white")
        return Image.alpha_composite(ground, picture.convert("RGBA")).convert("RGB")
    return picture.convert("RGB")


@contextmanager
def _any_size() -> Iterator[None]:
    """Pillow refuses large pictures when it opens them, before a JPEG can be told to decode at a fraction."""
    limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        yield
    finally:
        Image.MAX_IMAGE_PIXELS = limit
