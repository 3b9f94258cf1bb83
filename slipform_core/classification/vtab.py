"""VTAB's 19 tasks by LAION's clip-benchmark, which reads them through TensorFlow Datasets."""

from functools import partial
from pathlib import Path
from typing import Any

from slipform_core.classification.labels import LabelledSet, Lazy
from slipform_core.mistakes import Mistake

FOLDER = "vtab"  # of the data's
INSTALL = "`pip install clip-benchmark task-adaptation==0.1` installs what VTAB needs, TensorFlow among it"
TASKS = (
    "caltech101",
    "cifar100",
    "clevr_closest_object_distance",
    "clevr_count_all",
    "diabetic_retinopathy",
    "dmlab",
    "dsprites_label_orientation",
    "dsprites_label_x_position",
    "dtd",
    "eurosat",
    "flowers",
    "kitti_closest_vehicle_distance",
    "pcam",
    "pets",
    "resisc45",
    "smallnorb_label_azimuth",
    "smallnorb_label_elevation",
    "sun397",
    "svhn",
)
# VTAB-1k: 800 to learn from, 200 to choose by, then all to learn from.
SPLITS = ("test", "train800", "val200")


def vtab_task(data: Path, task: str) -> LabelledSet:
    """A task with clip-benchmark's classes and templates, of what that package has fetched.

    All are scored by top-1, as VTAB is. SUN397 is torchvision's, as clip-benchmark has it, all of it as the
    test. Raises Mistake for another name, and with what to install. Source: arXiv 1910.04867.
    """
    if task not in TASKS:
        raise Mistake(f"VTAB has no task {task!r}; the tasks are: {', '.join(TASKS)}")
    name, splits = ("sun397", ("test",)) if task == "sun397" else (f"vtab/{task}", SPLITS)
    parts = [Lazy(partial(_build, name, str(data / FOLDER / task), split)) for split in splits]
    made = parts[0].data
    templates = tuple(template.replace("{c}", "{}") for template in made.templates)
    return LabelledSet(
        f"vtab-{task}",
        tuple(made.classes),
        *parts,
        templates=templates,
        source=f"VTAB's {task}; training is VTAB-1k's",
        prompts="classes and templates of clip-benchmark",
    )


def _build(name: str, root: str, split: str) -> Any:
    import slipform_core.torchvision_import  # noqa: F401, I001, before torchvision

    try:
        from clip_benchmark.datasets.builder import build_dataset

        return build_dataset(
            dataset_name=name, root=root, split=split, download=False, task="zeroshot_classification"
        )
    except ImportError as error:
        raise Mistake(f"{name}: {INSTALL} ({' '.join(str(error).split())})") from None
    except (OSError, ValueError, RuntimeError, AssertionError) as error:
        raise Mistake(f"{name}, {split}, in {root}: {' '.join(str(error).split())[:300]}") from None
