"""Sources against files that the tests write: what each gives, what it counts, and how it complains."""

import io
import json
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from real_data import DATA, needs_data

from slipform_core import config
from slipform_core.sources import SourceError, WorldSource, photos, write_photos
from slipform_core.sources.catalogue import Catalogue, Row

PARAMS = Path(__file__).parents[1] / "notebooks/params"

TEXTS = {"a.jpg": ["A red dog .", "a  dog\truns\n"], "b.jpg": ["Two cats, on a sofa"]}


def jpeg(colour="red", size=(80, 64)) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", size, colour).save(stream, format="JPEG")
    return stream.getvalue()


def pictures(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, colour in zip(TEXTS, ("red", "blue"), strict=True):
        (folder / name).write_bytes(jpeg(colour))
    return folder


def said(source) -> list[tuple[str, str]]:
    return [(caption.image_id, caption.text) for caption in source.captions()]


PLAIN = [("a.jpg", "A red dog ."), ("a.jpg", "a dog runs"), ("b.jpg", "Two cats, on a sofa")]


def coco(folder: Path, name="captions_train2014.json") -> Path:
    rows = [
        {"image_id": 2, "id": 7, "caption": TEXTS["b.jpg"][0]},
        {"image_id": 1, "id": 8, "caption": TEXTS["a.jpg"][0]},
        {"image_id": 9, "id": 9, "caption": "of no picture"},
        {"image_id": 1, "id": 10, "caption": TEXTS["a.jpg"][1]},
        {"image_id": 1, "id": 11, "caption": None},
    ]
    images = [{"id": 1, "file_name": "a.jpg"}, {"id": 2, "file_name": "b.jpg"}]
    path = folder / name
    path.write_text(json.dumps({"info": {}, "images": images, "annotations": rows}))
    return path


def test_coco_groups_the_captions_of_a_picture_and_counts_the_rest(tmp_path):
    source = photos(coco(tmp_path), images=pictures(tmp_path / "pictures"))
    assert said(source) == [PLAIN[2], PLAIN[0], PLAIN[1]]
    assert source.faults == {"caption of no picture": 1, "no caption": 1}
    assert (len(source), source.pictures, source.note) == (3, 2, "")
    assert source.of_picture("a.jpg") == ["A red dog .", "a dog runs"]
    assert source.of_picture("z.jpg") == []
    assert source.picture("a.jpg", 32).getpixel((5, 5))[0] > 200


def test_pictures_of_val_are_said_to_leak(tmp_path):
    assert "SugarCrepe" in photos(coco(tmp_path, "captions_val2014.json")).note


def karpathy(folder: Path) -> Path:
    def image(name, split, year):
        sentences = [{"raw": f"{name} says this"}]
        return {"filename": name, "filepath": year, "split": split, "sentences": sentences}

    images = [
        image("t.jpg", "train", "train2014"),
        image("r.jpg", "restval", "val2014"),
        image("v.jpg", "val", "val2014"),
        image("e.jpg", "test", "val2014"),
    ]
    path = folder / "dataset_coco.json"
    path.write_text(json.dumps({"images": images, "dataset": "coco"}))
    return path


def test_karpathys_train_is_a_switch_that_names_the_leak(tmp_path):
    path = karpathy(tmp_path)
    names = {
        split: [name for name, _ in said(photos(path, split=split))]
        for split in ("", "train2014", "train", "val", "test")
    }
    assert names == {
        "": ["t.jpg"],
        "train2014": ["t.jpg"],
        "train": ["t.jpg", "r.jpg"],
        "val": ["v.jpg"],
        "test": ["e.jpg"],
    }
    assert photos(path).note == ""
    assert "SugarCrepe" in photos(path, split="train").note
    with pytest.raises(
        SourceError, match="unknown split 'dev'; the choices are: train2014, train, val, test"
    ):
        photos(path, split="dev")


def test_karpathys_pictures_lie_in_a_folder_a_year_or_in_one(tmp_path):
    path = karpathy(tmp_path)
    (tmp_path / "one").mkdir()
    (tmp_path / "years/train2014").mkdir(parents=True)
    for folder in ("one", "years/train2014"):
        (tmp_path / folder / "t.jpg").write_bytes(jpeg())
    for folder in ("one", "years"):
        assert photos(path, images=tmp_path / folder).picture("t.jpg", 32).size == (32, 32)


@pytest.mark.parametrize("form", ["captions.txt", "Flickr8k.token.txt", "results.csv"])
def test_flickr_in_its_three_forms(tmp_path, form):
    pictures(tmp_path / "images")
    rows = [
        (name, number, text.strip()) for name, texts in TEXTS.items() for number, text in enumerate(texts)
    ]
    lines = {
        "captions.txt": ["image,caption", *(f'{n},"{t}"' if "," in t else f"{n},{t}" for n, _, t in rows)],
        "Flickr8k.token.txt": [f"{n}#{k}\t{t}" for n, k, t in rows],
        "results.csv": ["image_name| comment_number| comment", *(f"{n}| {k}| {t}" for n, k, t in rows)],
    }[form]
    (tmp_path / form).write_text("\n".join(lines) + "\n")
    (tmp_path / "Flickr_8k.testImages.txt").write_text("bogus.jpg_line\nb.jpg\n")
    assert said(photos(tmp_path, split="all")) == PLAIN
    source = photos(tmp_path, split="test")
    assert said(source) == PLAIN[2:]
    assert source.picture("b.jpg", 32).getpixel((5, 5))[2] > 200
    for split in ("", "train"):
        says = "has none of: Flickr_8k.trainImages.txt, train.txt; `--split all` reads every picture"
        with pytest.raises(SourceError, match=says):
            photos(tmp_path, split=split)
    (tmp_path / "Flickr_8k.testImages.txt").unlink()
    source = photos(tmp_path)
    assert said(source) == PLAIN
    assert source.note.startswith("no lists of splits are here: all pictures are read")
    assert photos(tmp_path, split="all").note == ""
    with pytest.raises(SourceError, match="`--split all`"):
        photos(tmp_path, split="train")


def test_flickrs_pictures_may_lie_elsewhere(tmp_path):
    (tmp_path / "captions.txt").write_text("image,caption\na.jpg,x\n")
    source = photos(tmp_path, images=pictures(tmp_path / "mine"))
    assert source.picture("a.jpg", 32).getpixel((5, 5))[0] > 200


def rows():
    return [{"image": name, "caption": text} for name, texts in TEXTS.items() for text in texts]


def write_table(path: Path) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows()), path)
    else:
        separator = {".csv": ",", ".tsv": "\t"}[path.suffix]
        quoted = [{name: f'"{value}"' for name, value in row.items()} for row in rows()]
        lines = [separator.join(("image", "caption")), *(separator.join(row.values()) for row in quoted)]
        path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_a_table_in_each_form(tmp_path, suffix):
    pictures(tmp_path)
    source = photos(write_table(tmp_path / f"captions{suffix}"))
    assert said(source) == PLAIN
    assert source.picture("b.jpg", 32).size == (32, 32)


def test_cells_with_several_captions_and_columns_by_name(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps({"p": name, "c": texts}) + "\n" for name, texts in TEXTS.items()))
    assert said(photos(path, picture_column="p", caption_column="c")) == PLAIN
    with pytest.raises(SourceError, match="which column of .*t.jsonl holds the pictures. It has: p, c; say"):
        photos(path)
    with pytest.raises(SourceError, match="no column 'pp'; it has: p, c; did you mean 'p'"):
        photos(path, picture_column="pp")


def test_the_wrong_separator_is_named_with_the_columns_found(tmp_path):
    (tmp_path / "t.tsv").write_text("image,caption\na.jpg,a dog\n")
    with pytest.raises(SourceError, match=r"columns \['image,caption'\] when separated at a tab"):
        photos(tmp_path / "t.tsv")


def test_broken_lines_are_counted(tmp_path):
    (tmp_path / "t.jsonl").write_text(
        '{"image": "a.jpg", "caption": "ok"}\n{half\n[1]\n{"image": "", "caption": "x"}\n'
    )
    source = photos(tmp_path / "t.jsonl")
    assert source.faults == {"unreadable line": 2, "no picture named": 1}
    (tmp_path / "t.csv").write_text("image,caption\na.jpg,ok\nb.jpg\nc.jpg,one,too many\n")
    assert photos(tmp_path / "t.csv").faults == {"unreadable line": 2}


def test_parquet_that_holds_the_pictures_themselves(tmp_path):
    cells = [{"bytes": jpeg("red"), "path": "a.jpg"}, {"bytes": jpeg("blue"), "path": None}]
    path = tmp_path / "t.parquet"
    table = pa.table({"image": cells, "text": ["a dog", "a cat"]})
    pq.write_table(table, path, row_group_size=1)
    source = photos(path)
    (first, _), (second, _) = said(source)
    assert (first, second) == ("t.parquet:image@0", "t.parquet:image@1")
    assert source.picture(first, 32).getpixel((5, 5))[0] > 200
    assert source.picture(second, 32).getpixel((5, 5))[2] > 200


def test_a_folder_of_pictures_with_texts(tmp_path):
    pictures(tmp_path / "in")
    (tmp_path / "in/a.txt").write_text("A red dog .\n\na  dog\truns\n")
    (tmp_path / "in/sub").mkdir()
    (tmp_path / "in/sub/c.PNG").write_bytes(jpeg())
    (tmp_path / "in/sub/c.txt").write_text("a hat")
    source = photos(tmp_path / "in")
    assert said(source) == [*PLAIN[:2], ("sub/c.PNG", "a hat")]
    assert source.faults == {"picture without a text": 1}


def test_webdataset_tars_are_read_where_they_lie(tmp_path):
    path = tmp_path / "s-000.tar"
    members = {
        "x/v1.0/1.jpg": jpeg("red"),
        "x/v1.0/1.txt": b"a dog",
        "x/v1.0/2.json": b'{"caption": "a cat"}',
        "x/v1.0/2.jpg": jpeg("blue"),
        "x/v1.0/3.jpg": jpeg(),
        "x/v1.0/4.txt": b"alone",
    }
    with tarfile.open(path, "w") as tar:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    source = photos(path)
    assert [text for _, text in said(source)] == ["a dog", "a cat"]
    red, blue = (name for name, _ in said(source))
    assert source.picture(red, 32).getpixel((5, 5))[0] > 200
    assert source.picture(blue, 32).getpixel((5, 5))[2] > 200
    assert source.faults == {"picture without a text": 1, "text without a picture": 1}
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(SourceError, match="is no whole tar"):
        photos(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.json", '{"images": [', "is no JSON after 0 entries"),
        ("x.json", '{"info": 1}', "has no 'images'; it has: info"),
        ("x.json", '{"images": [1]}', "holds 1, expected objects"),
        ("x.xml", "<a/>", "what kind of source is"),
        ("x.parquet", "no", "is no Parquet file"),
        ("x.csv", "image,caption\n", "has no rows|no captions|It has: no rows"),
    ],
)
def test_what_is_no_source_is_said_in_one_line(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(SourceError, match=message) as error:
        photos(tmp_path / name)
    assert "\n" not in str(error.value)


def test_a_path_that_is_not_there_and_a_kind_that_is_none(tmp_path):
    with pytest.raises(SourceError, match="does not exist"):
        photos(tmp_path / "no")
    with pytest.raises(SourceError, match="unknown kind of source 'cocoo'; the choices are: coco, karpathy"):
        photos(tmp_path, kind="cocoo")
    with pytest.raises(SourceError, match="has no splits"):
        photos(coco(tmp_path), split="train")


def test_the_catalogue_against_a_dict():
    rows = [Row(f"p{k * 7 % 11}", "path", "place", f"text {k}") for k in range(500)]
    rows += [Row("p3", "path", "place", "half an emoji \ud83d"), Row("", "", "", fault="bad")]
    catalogue = Catalogue(rows)
    expected: dict[str, list[str]] = {}
    for row in rows[:-1]:
        expected.setdefault(row.name, []).append(row.text.replace("\ud83d", "?"))
    assert [(c.image_id, c.image_path, c.text) for c in catalogue.captions()] == [
        (name, "path", text) for name, texts in expected.items() for text in texts
    ]
    assert catalogue.place("p3") == "place"
    assert all(catalogue.of_picture(name) == texts for name, texts in expected.items())
    assert (len(catalogue), catalogue.pictures, catalogue.faults) == (501, 11, Counter(bad=1))


@needs_data
@pytest.mark.parametrize(
    ("path", "split", "pictures", "captions"),
    [
        ("flickr8k", "train", 6000, 30000),
        ("flickr8k", "val", 1000, 5000),
        ("flickr8k", "test", 1000, 5000),
        ("flickr8k", "all", 8091, 40455),
        ("coco/annotations/captions_val2017.json", "", 5000, 25014),
    ],
)
def test_the_real_files_have_their_published_counts(path, split, pictures, captions):
    source = photos(DATA / path, split=split)
    assert (source.pictures, len(source), source.faults) == (pictures, captions, {})


def test_photographs_of_another_world_in_one_folder_are_those_of_a_fresh_one(tmp_path):
    worlds = [WorldSource(config.load("mini", f"seed={seed}", PARAMS)) for seed in (0, 3)]
    for world in worlds:
        write_photos(world, "train", 3, tmp_path / "one")
    path = write_photos(worlds[1], "train", 3, tmp_path / "fresh")
    made, fresh = (
        {each.name: each.read_bytes() for each in (tmp_path / name).iterdir()} for name in ("one", "fresh")
    )
    assert made == fresh
    source = photos(path)
    first = next(worlds[1].captions("train"))
    assert (len(source), source.pictures) == (15, 3)
    assert (np.asarray(source.picture(f"{first.image_id}.png", 64)) == worlds[1].picture(first)).all()
