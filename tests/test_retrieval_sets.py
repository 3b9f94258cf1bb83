"""Retrieval sets: counts, captions that repeat, pictures that are missing; the real files where they are."""

import csv
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from real_data import DATA, needs_data

from slipform_core.benchmarks import Benchmark, retrieval
from slipform_core.benchmarks.retrieval import (
    coco_retrieval,
    flickr8k_retrieval,
    flickr30k_retrieval,
    val2017_retrieval,
)
from slipform_core.evaluation import score
from slipform_core.mistakes import Mistake
from slipform_core.sources import photographs

# Split and captions of each picture.
SMALL = {
    "a.jpg": ("test", ["A dog runs. ", "a dog", "a dog"]),
    "b.jpg": ("train", ["a cat"]),
    "c.jpg": ("test", ["a dog", "two cups"]),
    "d.jpg": ("restval", ["two cups"]),
    "e.jpg": ("val", ["a hat"]),
    "f.jpg": ("test", ["a hat"]),
}
PAIRS = [(text, name) for name, (split, texts) in SMALL.items() if split == "test" for text in texts]


def karpathy(folder: Path, *, year: str = "", pictures: str, without: str = "") -> None:
    """Karpathy's file, and the pictures in their folder."""
    images = [
        {"filename": name, "split": split, "sentences": [{"raw": text} for text in texts]}
        | ({"filepath": year} if year else {})
        for name, (split, texts) in SMALL.items()
    ]
    (folder / "karpathy").mkdir()
    path = folder / "karpathy" / f"dataset_{'coco' if year else 'flickr30k'}.json"
    path.write_text(json.dumps({"images": images}))
    (folder / pictures).mkdir(parents=True)
    for name in SMALL:
        if name != without:
            Image.new("RGB", (40, 40)).save(folder / pictures / name)


def pairs(benchmark: Benchmark) -> list[tuple[str, str]]:
    """Every query and the name of its picture."""
    queries, owners = benchmark.retrieval
    return [
        (benchmark.texts[query], Path(benchmark.pictures[owner].place).name)
        for query, owner in zip(queries, owners, strict=True)
    ]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "PUBLISHED", {"coco": (3, 6), "flickr30k": (3, 6)})


@pytest.mark.parametrize("pictures", ["coco-val2014/val2014", "coco/val2014", "val2014"])
def test_every_caption_of_karpathy_s_test_is_a_query(pictures: str, tmp_path: Path, counted: None) -> None:
    karpathy(tmp_path, year="val2014", pictures=pictures)
    found = coco_retrieval(tmp_path)
    assert pairs(found) == PAIRS and len(PAIRS) == 6
    assert found.texts == ("A dog runs. ", "a dog", "two cups", "a hat"), "each once, to the character"
    assert [Path(photo.place).parent for photo in found.pictures] == [tmp_path / pictures] * 3
    assert found.name == "coco" and not found.subsets and "arXiv 1412.2306" in found.protocol


def test_flickr30k_is_read_from_its_one_folder(tmp_path: Path, counted: None) -> None:
    karpathy(tmp_path, pictures="flickr30k/flickr30k-images")
    assert pairs(flickr30k_retrieval(tmp_path)) == PAIRS


def test_other_numbers_than_published_are_an_error(tmp_path: Path) -> None:
    karpathy(tmp_path, year="val2014", pictures="val2014")
    with pytest.raises(Mistake, match="3 pictures and 6 captions, published 5,000 and 25,010; --partial"):
        coco_retrieval(tmp_path)
    assert pairs(coco_retrieval(tmp_path, partial=True)) == PAIRS


def test_pictures_that_are_missing_are_named_and_left_out(tmp_path: Path, counted: None) -> None:
    karpathy(tmp_path, year="val2014", pictures="val2014", without="c.jpg")
    with pytest.raises(Mistake, match=r"^benchmark coco: 2 captions: missing picture; .*c\.jpg; --partial"):
        coco_retrieval(tmp_path)
    found = coco_retrieval(tmp_path, partial=True)
    assert pairs(found) == [pair for pair in PAIRS if pair[1] != "c.jpg"]
    assert found.left_out == Counter({"missing picture": 2}) and len(found.pictures) == 2


def test_what_is_not_there_is_said_with_how_to_get_it(tmp_path: Path) -> None:
    for read, way in (
        (coco_retrieval, "slipform data fetch karpathy"),
        (flickr30k_retrieval, "slipform data fetch karpathy"),
        (val2017_retrieval, "slipform data fetch coco-captions"),
        (flickr8k_retrieval, "slipform data fetch flickr8k"),
    ):
        with pytest.raises(Mistake, match=way):
            read(tmp_path, partial=True)


def test_a_caption_of_two_pictures_is_a_tie_for_both(tmp_path: Path, counted: None) -> None:
    """Neither picture finds a caption that is its own alone first, whatever the model knows."""
    karpathy(tmp_path, year="val2014", pictures="val2014")
    found = coco_retrieval(tmp_path)
    texts = np.eye(4)  # the pictures are like "a dog", "a dog" and "a hat"
    scores = {each.metric: each for each in score(found, texts[[1, 1, 3]], texts).scores}
    assert scores["i2t_r1"].value == pytest.approx(1 / 3) and scores["i2t_r1"].count == 3
    assert scores["t2i_r1"].count == 6 and scores["t2i_r1"].value == pytest.approx(1 / 6)


@needs_data
def test_flickr8k_s_test_is_whole() -> None:
    found = flickr8k_retrieval(DATA)
    listed = set((DATA / "flickr8k/Flickr_8k.testImages.txt").read_text().split())
    with (DATA / "flickr8k/captions.txt").open(newline="") as stream:
        expected = [(row[1], row[0]) for row in csv.reader(stream) if row[0] in listed]
    assert sorted(pairs(found)) == sorted(expected)
    assert (len(found.pictures), len(found.retrieval[0])) == (1000, 5000)
    assert set(Counter(name for _, name in pairs(found)).values()) == {5}


@needs_data
def test_val2017_is_partly_there() -> None:
    tree = json.loads((DATA / "coco/annotations/captions_val2017.json").read_bytes())
    names = {image["id"]: image["file_name"] for image in tree["images"]}
    present = {path.name for path in (DATA / "coco/val2017").iterdir()}
    every = [(each["caption"], names[each["image_id"]]) for each in tree["annotations"]]
    found = val2017_retrieval(DATA, partial=True)
    assert pairs(found) == [pair for pair in every if pair[1] in present]
    assert len(found.pictures) == 283 and found.left_out["missing picture"] == 25014 - len(pairs(found))
    with pytest.raises(Mistake, match="captions: missing picture"):
        val2017_retrieval(DATA)


@needs_data
def test_val2017_has_its_published_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(photographs, "exists", lambda place: True)
    found = val2017_retrieval(DATA)
    assert (len(found.pictures), len(found.retrieval[0]), len(found.texts)) == (5000, 25014, 24808)
