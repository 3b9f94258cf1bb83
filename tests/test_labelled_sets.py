"""Labelled sets: ImageNet's forms, folders, torchvision's sets, VTAB by a stand-in for clip-benchmark."""

import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image
from real_data import DATA, needs_data
from small_clip import small_clip

import slipform_core.torchvision_import  # noqa: F401, before torchvision
from slipform_core.classification import SETS, folders, labelled_set, linear_probe, templates, zero_shot
from slipform_core.classification.folders import imagenet_synsets
from slipform_core.classification.torchvision_sets import KINDS
from slipform_core.evaluation import Encoder
from slipform_core.mistakes import Mistake

FISH, BIRD = "n01440764", "n01530575"  # tench and brambling, the first and the eleventh of 1,000


def save(*parts: object, seed: int = 0) -> None:
    path = Path(*map(str, parts))
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(256, size=(40, 40, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)


def named(pairs) -> list[tuple[str, int]]:
    return [(Path(photo.place).name, label) for photo, label in pairs]


@needs_data
def test_a_sample_of_imagenet_has_each_class_once() -> None:
    with pytest.raises(Mistake, match="has 1,000 pictures, published 50,000; --partial takes what is there"):
        labelled_set("imagenet", DATA)
    found = labelled_set("imagenet", DATA, partial=True)
    assert [label for _, label in named(found.test)] == list(range(1000))
    # Most names in the files are words of the classes' names; CLIP's authors changed some.
    agreeing = 0
    for file, label in named(found.test):
        words = set(file.removesuffix(".jpg").lower().split("_")[1:])
        agreeing += bool(words & set(found.classes[label].lower().replace("-", " ").split()))
    assert agreeing > 850
    assert len(found.templates) == 80 and found.templates[0] == "a bad photo of a {}."
    assert found.train is None and found.classes[0] == "tench"


@needs_data
def test_a_random_model_on_the_sample_is_at_chance(tmp_path: Path) -> None:
    found = labelled_set("imagenet", DATA, partial=True)
    encoder = Encoder(small_clip(tmp_path))
    result = zero_shot(encoder, replace(found, templates=("a photo of a {}.",)))
    assert encoder.encoded == {"pictures": 1000, "texts": 998}, "two names are of two classes each"
    scores = {score.metric: score for score in result.scores}
    assert scores["top1"].value <= 0.006 and scores["top5"].value <= 0.02
    assert result.protocol["classes_named_alike"] == 4 and scores["top1"].count == 1000


@pytest.mark.parametrize("inside", ["", "ILSVRC/Data/CLS-LOC/"])
def test_validation_pictures_in_folders_of_their_synsets(inside: str, tmp_path: Path) -> None:
    root = tmp_path / "imagenet" / inside
    for number, synset in enumerate((BIRD, FISH, BIRD), 1):
        save(root, "val", synset, f"ILSVRC2012_val_{number:08d}.JPEG")
        save(root, "train", synset, f"{synset}_{number}.JPEG")
    found = labelled_set("imagenet", tmp_path, partial=True)
    numbered = [f"ILSVRC2012_val_0000000{number}.JPEG" for number in (2, 1, 3)]
    assert named(found.test) == list(zip(numbered, (0, 10, 10), strict=True))
    assert named(found.train) == [(f"{FISH}_2.JPEG", 0), (f"{BIRD}_1.JPEG", 10), (f"{BIRD}_3.JPEG", 10)]
    assert named(found.train) == named(found.train), "it can be gone through again"
    assert len(found.classes) == 1000


LISTS = {
    "LOC_val_solution.csv": "ImageId,PredictionString\nILSVRC2012_val_00000002,{1} 1 2 3 4 {1} 5 6 7 8\n"
    "ILSVRC2012_val_00000001,{0} 1 2 3 4\n",
    "imagenet_2012_validation_synset_labels.txt": "{0}\n{1}\n",
    "val/synset_labels.txt": "ILSVRC2012_val_00000001.JPEG {0}\nILSVRC2012_val_00000002.JPEG {1}\n",
}


@pytest.mark.parametrize("name", LISTS)
def test_flat_validation_pictures_with_a_list_of_synsets(name: str, tmp_path: Path) -> None:
    for number in (1, 2):
        save(tmp_path, "imagenet/val", f"ILSVRC2012_val_{number:08d}.JPEG")
    with pytest.raises(Mistake, match=r"val_00000001\.JPEG has no synset, .*; expected a folder a synset"):
        labelled_set("imagenet", tmp_path, partial=True)
    (tmp_path / "imagenet" / name).write_text(LISTS[name].format(BIRD, FISH))
    found = labelled_set("imagenet", tmp_path, partial=True)
    assert [label for _, label in named(found.test)] == [10, 0]


def test_the_number_of_validation_pictures_is_checked(tmp_path: Path, monkeypatch) -> None:
    save(tmp_path, "imagenet/val", FISH, "1.JPEG")
    with pytest.raises(Mistake, match="has 1 pictures, published 50,000"):
        labelled_set("imagenet", tmp_path)
    monkeypatch.setattr(folders, "PUBLISHED", 1)
    assert len(labelled_set("imagenet", tmp_path).test) == 1
    with pytest.raises(Mistake, match="slipform data fetch imagenet"):
        labelled_set("imagenet", tmp_path / "nowhere")


def test_one_s_own_folder_of_folders(tmp_path: Path) -> None:
    for number, name in enumerate(("red_cup", "dog", "dog")):
        save(tmp_path, "mine/test", name, f"{number}.png", seed=number)
        save(tmp_path, "mine/train", name, f"{number}.jpg", seed=9 + number)
    found = labelled_set(str(tmp_path / "mine"), tmp_path)
    assert found.classes == ("dog", "red cup") and found.templates == ("a photo of a {}.",)
    assert named(found.test) == [("1.png", 0), ("2.png", 0), ("0.png", 1)]
    assert [label for _, label in found.train] == [0, 0, 1] and found.name == "mine"
    save(tmp_path, "mine/train", "cat", "4.jpg")
    with pytest.raises(Mistake, match=r"train/cat is a class that the test lacks"):
        list(labelled_set(str(tmp_path / "mine"), tmp_path).train)


def test_a_folder_of_some_synsets_has_their_names_alone(tmp_path: Path) -> None:
    for synset in (BIRD, FISH):
        save(tmp_path, "some/val", synset, "1.png")
    found = labelled_set(str(tmp_path / "some"), tmp_path)
    assert found.classes == ("tench", "brambling") and len(found.templates) == 80
    assert [label for _, label in found.test] == [0, 1] and imagenet_synsets().index(BIRD) == 10


def food(root: Path, pictures: int = 3) -> None:
    """Food-101 of two classes, as torchvision reads it."""
    for part in ("train", "test"):
        kinds = {kind: [f"{kind}/{part}{n}" for n in range(pictures)] for kind in ("apple_pie", "waffles")}
        (root / "food-101/meta").mkdir(parents=True, exist_ok=True)
        (root / f"food-101/meta/{part}.json").write_text(json.dumps(kinds))
        for seed, name in enumerate(sum(kinds.values(), [])):
            save(root, "food-101/images", f"{name}.jpg", seed=seed + 50 * (part == "train"))


def test_a_set_of_torchvision_is_encoded_picture_by_picture(tmp_path: Path) -> None:
    food(tmp_path / "torchvision")
    found = labelled_set("food101", tmp_path)
    assert found.classes == ("apple pie", "waffles")
    encoder = Encoder(small_clip(tmp_path), batch=2)
    zero_shot(encoder, found)
    assert encoder.encoded == {"pictures": 6, "texts": 2}
    linear_probe(encoder, found)
    assert encoder.encoded == {"pictures": 12, "texts": 2}, "the test's are known"
    from torchvision.datasets import Food101

    theirs = Food101(str(tmp_path / "torchvision"), split="test")
    pairs = list(found.test)
    assert [label for _, label in pairs] == [label for _, label in theirs] == [0, 0, 0, 1, 1, 1]
    assert all(
        (np.array(mine) == np.array(own)).all() for (mine, _), (own, _) in zip(pairs, theirs, strict=True)
    )


def test_names_that_torchvision_lacks_are_given(tmp_path: Path) -> None:
    for number, kind in enumerate(("AnnualCrop", "Forest", "SeaLake")):
        save(tmp_path, "torchvision/eurosat/2750", kind, "1.jpg", seed=number)
    found = labelled_set("eurosat", tmp_path)
    assert found.classes[:2] == ("annual crop land", "forest") and len(found.classes) == 10
    assert found.train is None and found.source == "torchvision's EuroSAT, all of it"
    assert "openai/CLIP" in found.prompts
    assert found.templates[0] == "a centered satellite photo of {}." and len(found.templates) == 3


def test_every_set_of_torchvision_has_clips_templates_which_name_the_class() -> None:
    assert templates.BY_SET.keys() == KINDS.keys()
    counted = {"cifar10": 18, "cifar100": 18, "dtd": 8, "eurosat": 3, "stl10": 2, "sun397": 2, "mnist": 1}
    assert {name: len(set(templates.BY_SET[name])) for name in counted} == counted
    every = [form for forms in templates.BY_SET.values() for form in forms]
    assert all(form.count("{}") == 1 and form == " ".join(form.split()) and "_" not in form for form in every)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("apartment_building/outdoor", "apartment building outdoor"),
        ("F/A-18", "F/A-18"),
        ("F-16A/B", "F-16A/B"),
        ("__x_", "x"),
    ],
)
def test_a_class_is_named_in_words(name: str, said: str) -> None:
    assert folders.readable(name) == said


@pytest.mark.parametrize("name", ["cifar10", "dtd", "eurosat", "mnist", "pets", "flowers", "sun397"])
def test_what_is_not_there_is_said_with_the_command(name: str, tmp_path: Path) -> None:
    with pytest.raises(Mistake) as said:
        labelled_set(name, tmp_path)
    assert "\n" not in str(said.value)
    command = str(said.value).split("`")[1]
    assert command.startswith('python -c "import slipform_core.torchvision_import; from torchvision.datasets')
    code = command.removeprefix('python -c "').removesuffix('"')
    compile(code, "command", "exec")
    assert f"'{tmp_path / 'torchvision'}', download=True" in code


def test_a_training_part_is_not_asked_for_before_it_is_needed(tmp_path: Path) -> None:
    food(tmp_path / "torchvision")
    (tmp_path / "torchvision/food-101/meta/train.json").unlink()
    found = labelled_set("food101", tmp_path)
    encoder = Encoder(small_clip(tmp_path))
    assert zero_shot(encoder, found).scores
    with pytest.raises(Mistake, match="Food101"):
        linear_probe(encoder, found)


def stand_in(monkeypatch: pytest.MonkeyPatch, *, fails: Exception | None = None) -> list[dict]:
    """clip_benchmark.datasets.builder with a set that can only be iterated; returns its calls."""
    from torch.utils.data import IterableDataset

    calls = []

    class Streamed(IterableDataset):
        classes = ["left", "right"]
        templates = ["a thing on the {c}.", "the {c} side"]

        def __init__(self, seed: int):
            self.seed = seed

        def __len__(self) -> int:
            return 12

        def __iter__(self):
            pixels = np.random.default_rng(self.seed).integers(256, size=(12, 40, 40, 3), dtype=np.uint8)
            yield from ((Image.fromarray(each), np.int64(k % 2)) for k, each in enumerate(pixels))

    def build_dataset(dataset_name, root="root", transform=None, split="test", download=True, **more):
        calls.append(
            {"dataset_name": dataset_name, "root": root, "split": split, "download": download} | more
        )
        if fails:
            raise fails
        return Streamed(seed=len(split))

    modules = {name: ModuleType(name) for name in ("clip_benchmark", "clip_benchmark.datasets")}
    modules["clip_benchmark.datasets.builder"] = ModuleType("clip_benchmark.datasets.builder")
    modules["clip_benchmark.datasets.builder"].build_dataset = build_dataset
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    return calls


def test_vtab_is_clip_benchmark_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = stand_in(monkeypatch)
    found = labelled_set("vtab-pets", tmp_path)
    asked = {"dataset_name": "vtab/pets", "root": str(tmp_path / "vtab/pets"), "download": False}
    asked["task"] = "zeroshot_classification"
    assert calls == [asked | {"split": "test"}]
    assert found.classes == ("left", "right") and found.metric == "top1" and found.name == "vtab-pets"
    assert found.templates == ("a thing on the {}.", "the {} side")
    encoder = Encoder(small_clip(tmp_path), batch=5)
    zero_shot(encoder, found)
    assert encoder.encoded == {"pictures": 12, "texts": 4}
    result = linear_probe(encoder, found)
    assert calls == [asked | {"split": split} for split in ("test", "train800", "val200")]
    assert result.protocol["train_pictures"] == 24 and encoder.encoded["pictures"] == 36


def test_vtab_has_19_tasks_and_sun397_is_torchvision_s(tmp_path: Path, monkeypatch) -> None:
    calls = stand_in(monkeypatch)
    found = [labelled_set(name, tmp_path) for name in SETS if name.startswith("vtab-")]
    assert len(found) == 19 and len(calls) == 19 and not any(call["download"] for call in calls)
    assert [call["dataset_name"] for call in calls if "vtab/" not in call["dataset_name"]] == ["sun397"]
    assert {each.metric for each in found} == {"top1"}
    assert [each.name for each in found if each.train is None] == ["vtab-sun397"]


def test_what_vtab_needs_is_said_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("clip_benchmark") is None:
        with pytest.raises(
            Mistake, match="`pip install clip-benchmark task-adaptation==0.1` installs what VTAB"
        ):
            labelled_set("vtab-dtd", tmp_path)
    stand_in(monkeypatch, fails=ModuleNotFoundError("No module named 'task_adaptation'"))
    with pytest.raises(Mistake, match=r"vtab/dtd: `pip install .*No module named 'task_adaptation'"):
        labelled_set("vtab-dtd", tmp_path)
    stand_in(monkeypatch, fails=AssertionError("Manual download\nrequired"))
    with pytest.raises(Mistake, match=r"^vtab/dtd, test, in .*: Manual download required$"):
        labelled_set("vtab-dtd", tmp_path)


def test_unknown_names_are_answered_with_the_choices(tmp_path: Path) -> None:
    with pytest.raises(
        Mistake, match="no set of pictures and no folder 'cifar11'; the sets are: imagenet, cifar"
    ):
        labelled_set("cifar11", tmp_path)
    with pytest.raises(Mistake, match="VTAB has no task 'pet'; the tasks are: caltech101, "):
        labelled_set("vtab-pet", tmp_path)
