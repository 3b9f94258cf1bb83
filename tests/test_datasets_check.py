"""Checks: the counts of small made-up data, right and wrong, and of the real data where it is here."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from slipform_core.datasets import DATASETS, Line, check
from slipform_core.sources import photos

SHARED = Path(__file__).parents[2] / "shared/data"


def small(name: str, expected: dict[str, dict[str, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower what a dataset has to hold; `expected` has as many subjects as it."""
    subjects = DATASETS[name].subjects
    assert expected.keys() <= {subject.name for subject in subjects}
    lowered = [replace(one, expected=expected[one.name]) for one in subjects if one.name in expected]
    monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], subjects=tuple(lowered)))


def shown(lines: list[Line]) -> dict[str, tuple[int | None, bool, str]]:
    return {line.what: (line.found, line.ok, line.detail) for line in lines if line.expected is not None}


def write(path: Path, tree: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(tree))


def pictures(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(b"picture")


def image(split: str, sentences: int, name: str = "a.jpg") -> dict[str, Any]:
    return {"filename": name, "split": split, "sentences": [{"raw": "A cup."}] * sentences}


def test_a_line_says_what_was_expected() -> None:
    assert str(Line("a: pictures", 5000, 5000)) == "ok      a: pictures: 5,000"
    assert str(Line("a: pictures", 4, 5000, "why")) == "FAILED  a: pictures: 4, expected 5,000 (why)"
    assert str(Line("a: pictures", None, 1, "why")) == "FAILED  a: pictures: not counted, expected 1 (why)"
    assert str(Line("beware")) == "note    beware"
    assert [Line("a", 1, 1).ok, Line("a", 0, 1).ok, Line("a", None, 1).ok, Line("a").ok] == [1, 0, 0, 1]


SPLITS = {
    "train pictures": 2,
    "train + restval pictures": 3,
    "val pictures": 1,
    "test pictures": 1,
    "test captions": 6,
}


def test_karpathys_splits_are_counted_and_the_leak_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small("karpathy", {"dataset_coco.json": SPLITS}, monkeypatch)
    images = [image("train", 5), image("train", 5), image("restval", 5), image("val", 5), image("test", 6)]
    write(tmp_path / "dataset_coco.json", {"images": images, "dataset": "coco"})
    lines = check("karpathy", tmp_path)
    assert shown(lines) == {f"dataset_coco.json: {what}": (n, True, "") for what, n in SPLITS.items()}
    assert all(line.ok for line in lines)
    assert "SugarCrepe" in lines[-1].what and "train2014 alone does not leak" in lines[-1].what


def test_every_line_is_reported_also_after_a_wrong_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = {"train pictures": 1, "test pictures": 1}
    small("karpathy", dict.fromkeys((one.name for one in DATASETS["karpathy"].subjects), wanted), monkeypatch)
    write(tmp_path / "dataset_coco.json", {"images": [image("train", 5)]})
    (tmp_path / "dataset_flickr30k.json").write_text('{"images": [{"split": "train", "sentences": []}, {"spl')
    found = shown(check("karpathy", tmp_path))
    assert found["dataset_coco.json: train pictures"] == (1, True, "")
    assert found["dataset_coco.json: test pictures"] == (0, False, "")
    for what in wanted:
        count, ok, detail = found[f"dataset_flickr30k.json: {what}"]
        assert (count, ok) == (None, False)
        assert detail.startswith("cannot be read: IncompleteJSONError") and "\n" not in detail
        assert found[f"dataset_flickr8k.json: {what}"][2] == f"{tmp_path} has no dataset_flickr8k.json"


def coco(folder: Path, year: str, *names: str) -> None:
    images = [{"id": number, "file_name": name} for number, name in enumerate(names)]
    captions = [{"image_id": number, "caption": "A cup."} for number in range(len(names)) for _ in range(2)]
    write(folder / f"captions_{year}.json", {"images": images, "annotations": captions})


def test_cocos_captions_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small("coco-captions", {"captions_val2017.json": {"pictures": 3, "captions": 7}}, monkeypatch)
    coco(tmp_path / "annotations", "val2017", "a.jpg", "b.jpg", "c.jpg")
    assert shown(check("coco-captions", tmp_path)) == {
        "captions_val2017.json: pictures": (3, True, ""),
        "captions_val2017.json: captions": (6, False, ""),
    }


NAMES = ("a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg")


@pytest.mark.parametrize("beside", ["coco-val2014/annotations", "annotations", "coco-captions/annotations"])
def test_missing_pictures_are_named(beside: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small("coco-val2014", {"val2014": {"pictures": 5}}, monkeypatch)
    folder = tmp_path / "coco-val2014"
    coco(tmp_path / beside, "val2014", *NAMES)
    pictures(folder / "val2014", "a.jpg", "other.jpg")
    (folder / "val2014/b.jpg").touch()
    lines = check("coco-val2014", folder)
    assert shown(lines) == {
        "val2014: pictures": (1, False, "missing: b.jpg, c.jpg, d.jpg and 1 more"),
    }
    assert "holds val2017" in lines[-1].what
    pictures(folder / "val2014", *NAMES)
    assert shown(check("coco-val2014", folder)) == {"val2014: pictures": (5, True, "")}


def test_without_names_pictures_are_counted_and_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small("coco-train2014", {"train2014": {"pictures": 2}}, monkeypatch)
    pictures(tmp_path, "a.jpg", "b.jpg", "notes.txt")
    said = "names not compared: no captions_train2014.json near"
    assert shown(check("coco-train2014", tmp_path)) == {"train2014: pictures": (2, True, said)}


def flickr8k(folder: Path, captions: str, name: str) -> None:
    folder.mkdir(parents=True)
    (folder / name).write_text(captions)
    for split, names in {"train": ["a.jpg"], "dev": ["b.jpg"], "test": ["bogus.jpg", "c.jpg"]}.items():
        (folder / f"Flickr_8k.{split}Images.txt").write_text("\n".join(names) + "\n")


@pytest.mark.parametrize(
    ("file", "head", "line", "images"),
    [
        ("captions.txt", "image,caption\n", "{name},A cup, a plate .\n", "images"),
        ("Flickr8k.token.txt", "x.jpg.1#0\tA cup .\n", "{name}#{number}\tA cup # 1 .\n", "Flicker8k_Dataset"),
    ],
)
def test_flickr8k_in_both_its_forms(
    file: str, head: str, line: str, images: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    splits = {"train": 1, "dev": 1, "test": 1}
    expected = {"captions": {"pictures": 3, "captions": 6}, "splits": splits, "on disk": {"pictures": 3}}
    small("flickr8k", expected, monkeypatch)
    captions = "".join(line.format(name=name, number=number) for name in NAMES[:3] for number in range(2))
    flickr8k(tmp_path / "data", head + captions, file)
    pictures(tmp_path / "data" / images, "a.jpg", "c.jpg")
    assert shown(check("flickr8k", tmp_path / "data")) == {
        "captions: pictures": (3, True, ""),
        "captions: captions": (6, True, ""),
        "splits: train": (1, True, ""),
        "splits: dev": (1, True, ""),
        "splits: test": (1, True, "1 more listed without captions"),
        "on disk: pictures": (2, False, "missing: b.jpg"),
    }


ODD = {
    "captions.txt": (
        '\ufeffimage,caption\r\na.jpg,"A cup,\r\na.jpg,a plate"\r\n\r\na.jpg,"x"\r\nb.png,y, z\r\n',
        [("a.jpg", "A cup, a.jpg,a plate"), ("a.jpg", "x"), ("b.png", "y, z")],
    ),
    "Flickr8k.token.txt": (
        "\ufeffa.jpg#0\tA cup\na.jpg#1\tx # 1\nx.jpg.1#0\tgone\nb#1.jpg#0\ty\nnothing\n",
        [("a.jpg", "A cup"), ("a.jpg", "x # 1"), ("b#1.jpg", "y")],
    ),
}


@pytest.mark.parametrize("headed", [True, False])
@pytest.mark.parametrize("file", ODD)
def test_what_is_counted_of_flickr8k_is_what_is_planted(file: str, headed: bool, tmp_path: Path) -> None:
    text, expected = ODD[file]
    text = text if headed else text.replace("image,caption\r\n", "")
    (tmp_path / file).write_text(text, newline="")
    (tmp_path / "Flickr_8k.trainImages.txt").write_text("\ufeffa.jpg\n")
    found = shown(check("flickr8k", tmp_path))
    counts = len({name for name, _ in expected}), len(expected)
    assert (found["captions: pictures"][0], found["captions: captions"][0]) == counts
    planted = [(caption.image_id, caption.text) for caption in photos(tmp_path, split="all").captions()]
    assert planted == expected
    assert len(photos(tmp_path)) == 2


def test_a_quote_left_open_is_why_flickr8k_is_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slipform_core.datasets.layout.CELL", 100)
    (tmp_path / "captions.txt").write_text('image,caption\na.jpg,"x\n' + "b.jpg,y\n" * 50)
    count, ok, detail = shown(check("flickr8k", tmp_path))["captions: pictures"]
    assert (count, ok) == (None, False)
    assert detail.startswith(f"{tmp_path}/captions.txt, line ") and detail.endswith("is a quote left open?")


def test_flickr30ks_pictures_by_karpathys_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"dataset_flickr30k.json": {"all pictures": 2}, "on disk": {"pictures": 2}}
    small("flickr30k", counts, monkeypatch)
    write(tmp_path / "dataset_flickr30k.json", {"images": [image("train", 5), image("test", 5, "b.jpg")]})
    pictures(tmp_path / "flickr30k-images", "a.jpg", "b.jpg")
    assert all(line.ok for line in check("flickr30k", tmp_path))
    (tmp_path / "flickr30k-images/b.jpg").unlink()
    assert shown(check("flickr30k", tmp_path))["on disk: pictures"] == (1, False, "missing: b.jpg")


@pytest.mark.parametrize("inside", ["n01440764", "."])
def test_imagenets_pictures_in_classes_or_together(inside: str, tmp_path: Path) -> None:
    names = [f"ILSVRC2012_val_{number:08d}.JPEG" for number in (1, 2, 4)]
    pictures(tmp_path / "val" / inside, *names)
    missing = (
        "missing: ILSVRC2012_val_00000003.JPEG, ILSVRC2012_val_00000005.JPEG, ILSVRC2012_val_00000006.JPEG"
    )
    assert shown(check("imagenet", tmp_path)) == {
        "val: pictures": (3, False, f"{missing} and 49,994 more"),
    }


@pytest.mark.parametrize("packed", [False, True])
def test_winoground_as_the_hub_has_it(packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small("winoground", {"examples.jsonl": {"examples": 1}, "on disk": {"pictures": 2}}, monkeypatch)
    fields = {"image_0": "ex_0_img_0", "image_1": "ex_0_img_1", "caption_0": "a b", "caption_1": "b a"}
    write(tmp_path / "data/examples.jsonl", fields)
    pictures(tmp_path / "data/images", "ex_0_img_0.png")
    if packed:
        with zipfile.ZipFile(tmp_path / "data/images.zip", "w") as made:
            made.write(tmp_path / "data/images/ex_0_img_0.png", "images/ex_0_img_0.png")
        (tmp_path / "data/images/ex_0_img_0.png").unlink()
        (tmp_path / "data/images").rmdir()
    assert shown(check("winoground", tmp_path)) == {
        "examples.jsonl: examples": (1, True, ""),
        "on disk: pictures": (1, False, "missing: ex_0_img_1"),
    }


@pytest.mark.parametrize(("name", "field"), [("sugarcrepe", "caption"), ("sugarcrepe-pp", "caption2")])
def test_items_that_lack_a_text_do_not_count(
    name: str, field: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small(name, {"swap_obj.json": {"items": 3}}, monkeypatch)
    whole = {"filename": "a.jpg", "caption": "A", "caption2": "One", "negative_caption": "B"}
    items = [whole, whole | {field: " "}, {key: whole[key] for key in whole if key != field}]
    write(tmp_path / "data/swap_obj.json", items if name == "sugarcrepe-pp" else dict(enumerate(items)))
    assert shown(check(name, tmp_path)) == {"swap_obj.json: items": (1, False, "")}


@pytest.mark.parametrize("tree", [{"0": "x"}, ["x", None, 5], {"0": ["caption"]}])
def test_items_of_another_kind_do_not_count(tree: Any, tmp_path: Path) -> None:
    write(tmp_path / "add_obj.json", tree)
    (tmp_path / "add_att.json").write_text('{"0": ' + "[" * 100_000)
    found = shown(check("sugarcrepe", tmp_path))
    assert found["add_obj.json: items"] == (0, False, "")
    count, ok, detail = found["add_att.json: items"]
    assert (count, ok) == (None, False)
    assert detail.startswith("cannot be read: RecursionError: ")


@pytest.mark.parametrize(
    ("name", "folder", "lines"), [("flickr8k", "flickr8k", 6), ("sugarcrepe", "sugarcrepe", 7)]
)
def test_the_real_data_is_whole(name: str, folder: str, lines: int) -> None:
    real = real_data(folder)
    assert len(shown(check(name, real))) == lines
    assert all(line.ok for line in check(name, real))


def test_the_real_paraphrases_are_whole() -> None:
    found = shown(check("sugarcrepe-pp", real_data("scpp")))
    assert sum(count for count, _, _ in found.values()) == 4_757
    assert all(ok for _, ok, _ in found.values())


def test_the_real_captions_of_val2017_are_whole_and_pictures_are_missed() -> None:
    real = real_data("coco")
    found = shown(check("coco-captions", real))
    assert found["captions_val2017.json: pictures"] == (5_000, True, "")
    assert found["captions_val2017.json: captions"] == (25_014, True, "")
    assert found["captions_train2014.json: captions"][1] is False
    count, ok, detail = shown(check("coco-val2017", real))["val2017: pictures"]
    assert (count, ok) == (283, False)
    assert detail.count(".jpg") == 3 and detail.endswith(" and 4,714 more")


def real_data(name: str) -> Path:
    if not (SHARED / name).is_dir():
        pytest.skip(f"the real data is not here: {SHARED / name}")
    return SHARED / name
