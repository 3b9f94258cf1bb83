"""Labelled pictures in folders: ImageNet as it is handed out, and others like it."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from slipform_core.benchmarks.items import Photo
from slipform_core.classification.labels import LabelledSet, Lazy
from slipform_core.mistakes import Mistake
from slipform_core.sources.places import first

SUFFIXES = (".jpeg", ".jpg", ".png", ".webp")
SYNSET, NUMBERED = re.compile(r"n\d{8}(?!\d)"), re.compile(r"ILSVRC2012_val_\d{8}")
SYNSETS = ("LOC_val_solution.csv", "imagenet_2012_validation_synset_labels.txt", "synset_labels.txt")
INSIDE = "ILSVRC/Data/CLS-LOC"
PUBLISHED = 50_000
NAMES = "open_clip's IMAGENET_CLASSNAMES and OPENAI_IMAGENET_TEMPLATES"
EXPECTED = (
    f"expected a folder a synset, names that begin with it, or a list beside them: {', '.join(SYNSETS)}"
)


def imagenet(data: Path, *, partial: bool = False) -> LabelledSet:
    """ImageNet's validation pictures, of all 1,000 classes, and its training where that is there.

    The class of a picture is the synset that is its folder's name or begins its own, or that a list beside
    the pictures has for it: LOC_val_solution.csv, or a synset a line in the order of the pictures. Raises
    Mistake where a picture has none and where there are not 50,000 pictures, unless `partial`.
    Source: ILSVRC 2012.
    """
    gated = "`slipform data fetch imagenet` says where to ask"
    root = first(data, ("imagenet", "imagenet_sample"), gated)
    places, listed = first(root, ("val", f"{INSIDE}/val", "."), gated), _listed(root)
    index = {synset: number for number, synset in enumerate(imagenet_synsets())}
    test = list(_by_synset(places, listed, index))
    if not test or (len(test) != PUBLISHED and not partial):
        hint = "; --partial takes what is there"
        raise Mistake(f"{places} has {len(test):,} pictures, published {PUBLISHED:,}{hint}")
    training = [root / name for name in ("train", f"{INSIDE}/train") if (root / name).is_dir()]
    train = Lazy(lambda: list(_by_synset(training[0], {}, index))) if training else None
    names, templates = imagenet_prompts()
    source = "ILSVRC 2012, validation"
    return LabelledSet("imagenet", names, test, train, templates=templates, source=source, prompts=NAMES)


def labelled_folder(folder: Path) -> LabelledSet:
    """One's own pictures: folder/test or folder/val, and folder/train if there is one, with a folder a class.

    The folders' names are the classes' names; those of ImageNet's synsets get its names and templates.
    """
    tested = first(folder, ("test", "val"), "one of them holds a folder a class")
    classes = sorted(path.name for path in tested.iterdir() if path.is_dir())
    index = {name: number for number, name in enumerate(classes)}
    test = list(_by_folder(tested, index))
    if not test:
        raise Mistake(f"{tested} has no pictures in folders; a folder a class is expected")
    train = Lazy(lambda: list(_by_folder(folder / "train", index))) if (folder / "train").is_dir() else None
    order = imagenet_synsets()
    if set(classes) <= set(order):
        names, templates = imagenet_prompts()
        names = tuple(names[order.index(synset)] for synset in classes)
        return LabelledSet(
            folder.name, names, test, train, templates=templates, source=str(folder), prompts=NAMES
        )
    said = tuple(map(readable, classes))
    return LabelledSet(folder.name, said, test, train, source=str(folder), prompts="the folders' names")


def imagenet_synsets() -> list[str]:
    """The 1,000 synsets in the order of their indices."""
    import slipform_core.torchvision_import  # noqa: F401, I001, before timm
    from timm.data import ImageNetInfo

    return ImageNetInfo("imagenet-1k").label_names()


def imagenet_prompts() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """CLIP's names of the 1,000 classes, two of them twice, and its 80 templates."""
    import slipform_core.torchvision_import  # noqa: F401, I001, before open_clip
    import open_clip

    templates = tuple(template("{}") for template in open_clip.OPENAI_IMAGENET_TEMPLATES)
    return tuple(open_clip.IMAGENET_CLASSNAMES), templates


def readable(name: str) -> str:
    """A class's name as a prompt has it: "apartment_building/outdoor" of words, "F/A-18" as it is."""
    return " ".join(re.sub(r"_|(?<=[a-z])/(?=[a-z])", " ", name).split())


def _by_synset(
    folder: Path, listed: Mapping[str, str], index: Mapping[str, int]
) -> Iterator[tuple[Photo, int]]:
    for path in _pictures(folder):
        named = SYNSET.match(path.parent.name) or SYNSET.match(path.name)
        synset = named[0] if named else listed.get(path.stem)
        if synset not in index:
            raise Mistake(f"{path} has {synset or 'no synset'}, none of ImageNet's 1,000; {EXPECTED}")
        yield Photo(str(path)), index[synset]


def _by_folder(folder: Path, index: Mapping[str, int]) -> Iterator[tuple[Photo, int]]:
    for path in _pictures(folder):
        if path.parent != folder:
            if path.parent.name not in index:
                raise Mistake(f"{path.parent} is a class that the test lacks")
            yield Photo(str(path)), index[path.parent.name]


def _pictures(folder: Path) -> list[Path]:
    """The pictures of a folder and of the folders in it, in order."""
    paths = [*folder.glob("*.*"), *folder.glob("*/*.*")]
    return sorted(path for path in paths if path.suffix.lower() in SUFFIXES)


def _listed(root: Path) -> dict[str, str]:
    """The synset of each validation picture's stem, from the first list that is there."""
    for path in (place / name for place in (root, root / "val") for name in SYNSETS):
        if path.is_file():
            lines = [line for line in path.read_text().splitlines() if SYNSET.search(line)]
            stems = (NUMBERED.search(line) for line in lines)
            return {
                stem[0] if stem else f"ILSVRC2012_val_{number:08d}": SYNSET.search(line)[0]
                for number, (line, stem) in enumerate(zip(lines, stems, strict=True), 1)
            }
    return {}
