"""Sets of labelled pictures by name."""

from pathlib import Path

from slipform_core.classification.folders import imagenet, labelled_folder
from slipform_core.classification.labels import LabelledSet
from slipform_core.classification.torchvision_sets import KINDS, torchvision_set
from slipform_core.classification.vtab import TASKS, vtab_task
from slipform_core.mistakes import Mistake

VTAB = "vtab-"
SETS = ("imagenet", *KINDS, *(VTAB + task for task in TASKS))


def labelled_set(name: str, data: Path, *, partial: bool = False) -> LabelledSet:
    """A set of `SETS` below a folder of data, or a folder of one's own by its path.

    partial: ImageNet's pictures as far as they are there. Raises Mistake for another name, and for what is
    not there, with how to get it.
    """
    if name == "imagenet":
        return imagenet(data, partial=partial)
    if name in KINDS:
        return torchvision_set(data, name)
    if name.startswith(VTAB):
        return vtab_task(data, name.removeprefix(VTAB))
    if Path(name).is_dir():
        return labelled_folder(Path(name))
    raise Mistake(f"there is no set of pictures and no folder {name!r}; the sets are: {', '.join(SETS)}")
