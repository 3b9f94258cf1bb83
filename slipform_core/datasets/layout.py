"""How public data lie on disk, for those who count them and those who read them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

LEAK = (
    "val2014 holds val2017, on whose pictures SugarCrepe tests: a model trained on it has seen the test; "
    "train2014 alone does not leak"
)
KARPATHY_LEAK = f"Karpathy's splits, but for train2014 alone, have pictures of val2014, and {LEAK}"
# Karpathy's splits that people train on.
TRAIN = ("train", "restval")
FLICKR_PICTURES = ("images", "Images", "Flicker8k_Dataset", "flickr30k-images", "flickr30k_images", ".")
FLICKR8K_CAPTIONS = ("captions.txt", "Flickr8k.token.txt")
FLICKR8K_SPLITS = {"train": "trainImages", "val": "devImages", "test": "testImages"}


def json_items(path: Path, prefix: str) -> Iterator[Any]:
    """The entries of a list in a JSON file, such as "images.item", one in memory at a time."""
    import ijson

    with path.open("rb") as stream:
        yield from ijson.items(stream, prefix, use_float=True)
