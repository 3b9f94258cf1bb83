"""Where pictures lie that several benchmarks use, so that all of them name one place for each."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from slipform_core.benchmarks.items import Photo
from slipform_core.mistakes import Mistake
from slipform_core.sources import photographs

# Of each collection the folders that may hold its pictures, below that of all data.
VISUAL_GENOME = (
    "visual-genome/VG_100K",
    "visual-genome/VG_100K_2",
    "vg/VG_100K",
    "vg/VG_100K_2",
    "gqa/images",  # Visual Genome's under the same names
    "aro/images",
    "cola/images",
)
VISUAL7W = ("visual7w/images", "visual7w")
SWIG = ("swig/images_512", "swig")
VISDIAL = ("visdial/VisualDialog_val2018", "VisualDialog_val2018")
ANNOTATIONS = ("coco-captions/annotations", "coco/annotations", "annotations")


def coco(*years: str) -> tuple[str, ...]:
    """The folders of COCO's pictures of some years, such as "val2014"."""
    return tuple(place for year in years for place in (f"coco-{year}/{year}", f"coco/{year}", year))


def coco_annotations(name: str) -> tuple[str, ...]:
    """The places of a file of COCO's annotations."""
    return tuple(f"{folder}/{name}" for folder in ANNOTATIONS)


class Pictures:
    """Pictures by name: each in the first of some folders that has it, in the first of all where none has."""

    def __init__(self, data: Path, folders: Iterable[str] = (".",)):
        every = [data / folder for folder in folders]
        self._folders = [folder for folder in every if folder.is_dir()] or every[:1]
        self._known: dict[str, str] = {}

    def photo(
        self, path: Path, number: Any, name: Any, box: tuple[int, int, int, int] | None = None
    ) -> Photo:
        """The picture that an item of a file names; Mistake where that is no name."""
        if not isinstance(name, str) or not name.strip():
            raise Mistake(f"{path}: item {number} has {name!r} where the name of a picture is expected")
        if name not in self._known:
            places = [str(folder / name) for folder in self._folders]
            self._known[name] = next(filter(photographs.exists, places), places[0])
        return Photo(self._known[name], box)
