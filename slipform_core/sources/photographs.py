"""Photographs as they come: read whatever their mode, orientation or size, or say in a few words why not."""

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from slipform_core.mistakes import BadPicture
from slipform_core.sources import parquet

SHORTEST = 32  # pixels; a smaller picture shows nothing to edit: our choice
LARGEST = 500_000_000  # pixels that are decoded; JPEGs are decoded smaller, so that most are never this large
STRIP = 4  # what of a longer strip is not in the middle is cut before it is scaled
BAND = 1 << 20  # pixels made RGB at a time where that takes many bytes a pixel
INSIDE = re.compile(r"(?P<file>.*)#((?P<offset>\d+)\+(?P<size>\d+)|(?P<column>.*)@(?P<row>\d+))", re.DOTALL)
DEEP = ("I;16", "I;16L", "I;16B", "I;16N", "I")


def read(place: str, side: int) -> Image.Image:
    """The picture at a place in RGB: its middle, the short side scaled to `side`, as CLIP does.

    A place is a path, "path#offset+size" in a tar, or "path#column@row" in Parquet. Turned as its EXIF says;
    16-bit scaled to 8; what is transparent becomes white; the first frame of several. Raises BadPicture with
    one of: "missing picture", "damaged picture", "tiny picture" (short side under 32), "huge picture".
    """
    with _decoding():
        picture = Image.open(io.BytesIO(content(place)))
        picture.draft("RGB", (2 * side, 2 * side))  # a JPEG of many pixels is decoded at a fraction
        return square(_rgb(_strip(_turned(picture))), side)


def whole(data: bytes) -> Image.Image:
    """The picture that a file's bytes are, as `read` has it but all of it, decoded in full; BadPicture."""
    with _decoding():
        return _rgb(_turned(Image.open(io.BytesIO(data))))


def as_stored(data: bytes) -> Image.Image:
    """The same as published scripts read it, Image.open(...).convert("RGB"): of any size and not turned."""
    with _decoding():
        picture = Image.open(io.BytesIO(data))
        if picture.width * picture.height > LARGEST:
            raise BadPicture("huge picture")
        return picture.convert("RGB")


@contextmanager
def _decoding() -> Iterator[None]:
    with _any_size():
        try:
            yield
        except BadPicture:
            raise
        except Exception:  # a decoder raises what it likes: OSError, SyntaxError, struct.error, ValueError
            raise BadPicture("damaged picture") from None


def _turned(picture: Image.Image) -> Image.Image:
    if picture.width * picture.height > LARGEST:
        raise BadPicture("huge picture")
    picture.load()
    if min(picture.size) < SHORTEST:
        raise BadPicture("tiny picture")
    ImageOps.exif_transpose(picture, in_place=True)
    return picture


def square(picture: Image.Image, side: int) -> Image.Image:
    """The middle of a picture with its short side scaled to `side`, to the pixel as torchvision's transforms.

    A picture that is a square of that side stays as it is.
    """
    if picture.size == (side, side):
        return picture
    picture, short = _strip(picture), min(picture.size)
    scaled = [side if length == short else side * length // short for length in picture.size]
    return _middle(picture.resize(scaled, Image.Resampling.BICUBIC), side, side)


def _strip(picture: Image.Image) -> Image.Image:
    return _middle(picture, *(min(length, STRIP * min(picture.size)) for length in picture.size))


def _middle(picture: Image.Image, width: int, height: int) -> Image.Image:
    if picture.size == (width, height):
        return picture
    left, top = round((picture.width - width) / 2), round((picture.height - height) / 2)
    return picture.crop((left, top, left + width, top + height))


def exists(place: str) -> bool:
    """Whether the file at a place, or the one that it is in, is there."""
    inside = INSIDE.fullmatch(place)
    try:
        return Path(inside["file"] if inside else place).is_file()
    except OSError:  # a name that is too long, a folder that may not be entered
        return False


def content(place: str) -> bytes:
    """The bytes of the picture's file; BadPicture, "missing picture"."""
    inside = INSIDE.fullmatch(place)
    try:
        if not inside:
            return Path(place).read_bytes()
        if inside["column"] is not None:
            cell = parquet.column(inside["file"], inside["column"])[int(inside["row"])]
            data = cell.get("bytes") if isinstance(cell, dict) else cell
            if data is None:
                raise BadPicture("missing picture")
            return data
        with Path(inside["file"]).open("rb") as stream:
            stream.seek(int(inside["offset"]))
            return stream.read(int(inside["size"]))
    except (OSError, ValueError):
        raise BadPicture("missing picture") from None


def _rgb(picture: Image.Image) -> Image.Image:
    if picture.mode in DEEP:
        return _in_bands(picture, _shallow)
    return _in_bands(picture, _on_white) if picture.has_transparency_data else picture.convert("RGB")


def _in_bands(picture: Image.Image, convert: Callable[[Image.Image], Image.Image]) -> Image.Image:
    done, rows = Image.new("RGB", picture.size), max(1, BAND // picture.width)
    for top in range(0, picture.height, rows):
        band = picture.crop((0, top, picture.width, min(top + rows, picture.height)))
        done.paste(convert(band), (0, top))
    return done


def _shallow(deep: Image.Image) -> Image.Image:
    values = np.asarray(deep).astype(np.float64)
    return Image.fromarray((values.clip(0, 65535) / 257).round().astype(np.uint8))


def _on_white(picture: Image.Image) -> Image.Image:
    return Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture.convert("RGBA"))


@contextmanager
def _any_size() -> Iterator[None]:
    """Pillow refuses large pictures when it opens them, before a JPEG can be told to decode at a fraction."""
    limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        yield
    finally:
        Image.MAX_IMAGE_PIXELS = limit
