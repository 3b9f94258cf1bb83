"""Sets that torchvision reads: CIFAR, Food-101, Pets and others."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from slipform_core.classification import templates
from slipform_core.classification.folders import readable
from slipform_core.classification.labels import PER_CLASS, TOP1, LabelledSet, Lazy
from slipform_core.mistakes import Mistake

FOLDER = "torchvision"  # of the data's


@dataclass(frozen=True)
class _Kind:
    """A class of torchvision, the arguments of its parts, and names where it has none to prompt by."""

    name: str
    test: Mapping[str, Any]
    train: Mapping[str, Any] | None = None
    val: Mapping[str, Any] | None = None
    classes: tuple[str, ...] = ()
    metric: str = TOP1


def _split(name: str, *parts: str, **more: Any) -> _Kind:
    return _Kind(name, *({"split": part} for part in parts), **more)


DIGITS = tuple("0123456789")
# CLIP's names of EuroSAT's classes.
LAND = ("annual crop land", "forest", "brushland or shrubland", "highway or road")
LAND += ("industrial buildings or commercial buildings", "pasture land", "permanent crop land")
LAND += ("residential buildings or homes or apartments", "river", "lake or sea")
BY_FLAG = {"train": False}, {"train": True}
# The mean over classes is what CLIP's authors report of aircraft, flowers and pets. Those without a split of
# their own are for zero-shot only.
KINDS: dict[str, _Kind] = {
    "cifar10": _Kind("CIFAR10", *BY_FLAG),
    "cifar100": _Kind("CIFAR100", *BY_FLAG),
    "dtd": _split("DTD", "test", "train", "val"),
    "eurosat": _Kind("EuroSAT", {}, classes=LAND),
    "fgvc-aircraft": _split("FGVCAircraft", "test", "train", "val", metric=PER_CLASS),
    "flowers": _split("Flowers102", "test", "train", "val", metric=PER_CLASS),
    "food101": _split("Food101", "test", "train"),
    "mnist": _Kind("MNIST", *BY_FLAG, classes=DIGITS),
    "pets": _split("OxfordIIITPet", "test", "trainval", metric=PER_CLASS),
    "stl10": _split("STL10", "test", "train"),
    "sun397": _Kind("SUN397", {}),
    "svhn": _split("SVHN", "test", "train", classes=DIGITS),
}


def torchvision_set(data: Path, name: str) -> LabelledSet:
    """A set of `KINDS` from data/torchvision; Mistake says how to get it where it is not there."""
    kind = KINDS[name]
    root = data / FOLDER
    test, train, val = (
        None if arguments is None else Lazy(partial(_make, kind.name, root, arguments))
        for arguments in (kind.test, kind.train, kind.val)
    )
    found = test.data  # made at once, so that one that is not here is said at once
    classes = kind.classes or tuple(map(readable, found.classes))
    part = kind.test.get("split", "test") if kind.test else "all of it"
    return LabelledSet(
        name,
        classes,
        test,
        train,
        val,
        templates=templates.BY_SET[name],
        metric=kind.metric,
        source=f"torchvision's {kind.name}, {part}",
        prompts=templates.SOURCE,
    )


def _make(name: str, root: Path, arguments: Mapping[str, Any]) -> Any:
    import slipform_core.torchvision_import  # noqa: F401, I001, before torchvision
    from torchvision import datasets

    try:
        return getattr(datasets, name)(str(root), **arguments)
    except (RuntimeError, OSError, ValueError) as error:
        said = ", ".join([repr(str(root)), "download=True", *(f"{k}={v!r}" for k, v in arguments.items())])
        imports = f"import slipform_core.torchvision_import; from torchvision.datasets import {name}"
        why = " ".join(str(error).split())[:200]
        raise Mistake(
            f'{root} has no {name}: `python -c "{imports}; {name}({said})"` fetches it ({why})'
        ) from None
