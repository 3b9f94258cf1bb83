"""Flickr8k and Flickr30k as they are handed out: captions, lists of splits, a folder of pictures."""

from collections.abc import Iterator
from pathlib import Path

from slipform_core.datasets.layout import (
    FLICKR8K_CAPTIONS,
    FLICKR8K_SPLITS,
    FLICKR_PICTURES,
    flickr_captions,
    flickr_listed,
)
from slipform_core.sources.annotations import captioned
from slipform_core.sources.catalogue import Row
from slipform_core.sources.places import first

CAPTIONS = (*FLICKR8K_CAPTIONS, "results_20130124.token", "results.csv")
UNLISTED = "no lists of splits are here: all pictures are read, those that others test on among them"


def flickr(folder: Path, images: Path | None, split: str) -> Iterator[Row]:
    """The rows of a split, "train", "val" or "test" as the lists Flickr_8k.*Images.txt say, or "all"."""
    path = first(folder, CAPTIONS)
    images = images or first(folder, FLICKR_PICTURES)
    wanted = None if split == "all" else _listed(folder, split)
    for name, text in flickr_captions(path):
        if wanted is None or name in wanted:
            yield captioned(name, images / name, text)


def usual(folder: Path) -> str:
    """The split to train on: "train", or "all" in a folder without the list of any."""
    lists = (folder / name for split in FLICKR8K_SPLITS for name in _lists(split))
    return "train" if any(path.exists() for path in lists) else "all"


def _lists(split: str) -> tuple[str, ...]:
    return f"Flickr_8k.{FLICKR8K_SPLITS[split]}.txt", f"{split}.txt"


def _listed(folder: Path, split: str) -> frozenset[str]:
    path = first(folder, _lists(split), "`--split all` reads every picture")
    return flickr_listed(path)
