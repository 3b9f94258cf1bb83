"""Threads that read photographs while a model is at work."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from PIL import Image

THREADS = 4
READ = 256  # photographs whose bytes are held at a time


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
