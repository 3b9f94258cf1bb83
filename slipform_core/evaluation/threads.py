"""Threads that read photographs while a model is at work."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import groupby
from typing import Any, TypeVar

from more_itertools import chunked
from PIL import Image

from slipform_core.benchmarks.items import Photo

T = TypeVar("T")

THREADS = 4
READ, HELD = 256, 16  # at a time: photographs whose bytes are held, pictures that are in memory


def in_parts(shown: Iterable[T], picture: Callable[[T], Any] = lambda each: each) -> Iterator[list[T]]:
    """As many at a time as memory has room for, in order; picture: what of one is a Photo or a picture."""
    for lies, some in groupby(shown, lambda each: isinstance(picture(each), Photo)):
        yield from chunked(some, READ if lies else HELD)


@contextmanager
def reading_threads() -> Iterator[ThreadPoolExecutor]:
    """A pool of threads in which `sources.photographs` may read pictures of any size.

    Pillow's limit of pixels is the process's. `photographs` lifts it for each picture that it opens and sets
    it back, under the other threads too; here it is lifted once for all of them.
    """
    limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            yield pool
    finally:
        Image.MAX_IMAGE_PIXELS = limit
