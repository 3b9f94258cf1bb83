"""Sources as users have them: odd names, broken lines, other kinds of bytes, files made elsewhere."""

import io
import json
import os
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_sources import coco, jpeg, said

from slipform_core.records import Caption
from slipform_core.sources import BadPicture, SourceError, photographs, photos, whole_pictures

SPLITS = ("train", "val", "test")
DEEP = b"[" * 3000 + b"]" * 3000


def write(folder: Path, files: dict[str, bytes | str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def tar(path: Path, members: dict[str, bytes], mode="w") -> Path:
    with tarfile.open(path, mode, errors="surrogateescape") as made:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            made.addfile(entry, io.BytesIO(data))
    return path


CSV = {
    "a mark at the start": ("\ufeffimage,caption\na.jpg,x\n", [("a.jpg", "x")]),
    "quotes over lines": (
        'image,caption\na.jpg,"a ""dog""\nand, a cat"\n',
        [("a.jpg", 'a "dog" and, a cat')],
    ),
    "lines of Windows": (
        'image,caption\r\na.jpg,x\r\nb.jpg,"y\r\nz"\r\n',
        [("a.jpg", "x"), ("b.jpg", "y z")],
    ),
    "lines of old Macs": ("image,caption\ra.jpg,x\rb.jpg,y\r", [("a.jpg", "x"), ("b.jpg", "y")]),
    "empty lines": ("image,caption\n\na.jpg,x\n\n", [("a.jpg", "x")]),
    "null bytes": ("image,caption\na.jpg,x\0y\n", [("a.jpg", "xy")]),
    "a long cell": (f"image,caption,note\na.jpg,x,{'y' * 200_000}\n", [("a.jpg", "x")]),
    "a long caption": (f"image,caption\na.jpg,{'word ' * 500}\n", [("a.jpg", "word " * 499 + "word")]),
    "names with lines and tabs": ('image,caption\n"a\nb\tc.jpg",x\n', [("a\nb\tc.jpg", "x")]),
    "Latin-1": ("image,caption\na.jpg,caf\udce9\n", [("a.jpg", "caf\ufffd")]),
    "several usual columns": ("title,text,caption,file,image\nt,u,x,f.jpg,a.jpg\n", [("a.jpg", "x")]),
}


@pytest.mark.parametrize("case", CSV)
@pytest.mark.parametrize("name", ["t.csv", "T.CSV"])
def test_tables_of_text_as_they_come(tmp_path, case, name):
    text, expected = CSV[case]
    (tmp_path / name).write_bytes(text.encode(errors="surrogateescape"))
    source = photos(tmp_path / name)
    assert said(source) == expected
    assert source.faults == {}


@pytest.mark.parametrize("name", ["t.csv", "captions.txt"])
def test_a_quote_that_is_left_open_is_said_with_its_line(tmp_path, monkeypatch, name):
    monkeypatch.setattr("slipform_core.datasets.layout.CELL", 1000)
    (tmp_path / name).write_text('image,caption\na.jpg,x\nb.jpg,"y\n' + "c.jpg,z\n" * 200)
    path = tmp_path if name == "captions.txt" else tmp_path / name
    with pytest.raises(SourceError, match=r"line \d+: field larger .*is a quote left open\?") as error:
        photos(path, split="all" if name == "captions.txt" else "")
    assert "\n" not in str(error.value)


def test_a_file_that_is_no_table_is_not_read_as_one(tmp_path):
    path = write(tmp_path, {"t.txt": "image,caption\na.jpg,x\n"}) / "t.txt"
    with pytest.raises(SourceError, match="no table: its name ends in none of .csv, .tsv, .jsonl, .parquet"):
        photos(path, kind="table")


def test_lines_of_json_that_are_odd_are_counted(tmp_path):
    lines = [
        "[" * 100_000,
        '{"image": "a.jpg", "caption": ["a dog", 3, null, "x"]}',
        "",
        '{"image": "b.jpg", "caption": []}',
        '{"image": 5, "caption": "x"}',
        '{"caption": "x"}',
        '{"image": {"url": "c.jpg"}, "caption": "y"}',
        '{"image": {"path": "c.jpg"}, "caption": "z"}',
        '{"image": "a\\ud83d.jpg", "caption": "x"}',
    ]
    path = write(tmp_path, {"t.jsonl": "\n".join(lines)}) / "t.jsonl"
    source = photos(path)
    assert said(source)[:2] == [("a.jpg", "a dog"), ("a.jpg", "x")]
    assert source.faults == {
        "unreadable line": 1,
        "no caption": 3,
        "no picture named": 3,
        "unreadable name": 1,
    }
    assert said(source)[-1] == ("c.jpg", "z")


BYTES = {
    "binary": pa.binary(),
    "large": pa.large_binary(),
    "view": pa.binary_view(),
    "fixed": pa.binary(len(jpeg())),
}


@pytest.mark.parametrize("kind", BYTES)
def test_parquet_of_bytes_in_each_way_of_storing_them(tmp_path, kind):
    cells = pa.array([jpeg("red"), None, jpeg("red")], BYTES[kind])
    pq.write_table(pa.table({"image": cells, "caption": ["x", "y", None]}), tmp_path / "t.parquet")
    source = photos(tmp_path / "t.parquet")
    assert said(source) == [("t.parquet:image@0", "x"), ("t.parquet:image@1", "y")]
    assert source.faults == {"no caption": 1}
    assert source.picture("t.parquet:image@0", 32).getpixel((5, 5))[0] > 200
    with pytest.raises(BadPicture, match="missing picture"):
        source.picture("t.parquet:image@1", 32)


def test_parquet_whose_pictures_miss(tmp_path):
    cells = [None, {"bytes": None, "path": "b"}, {"bytes": jpeg("blue"), "path": "c"}]
    pq.write_table(pa.table({"image": cells, "caption": ["x", "y", "z"]}), tmp_path / "t.parquet")
    pq.write_table(pa.table({"image": [{"path": "d"}], "caption": ["x"]}), tmp_path / "u.parquet")
    source, other = photos(tmp_path / "t.parquet"), photos(tmp_path / "u.parquet")
    assert [name for name, _ in said(source)] == ["t.parquet:image@0", "b", "t.parquet:image@2"]
    assert source.picture("t.parquet:image@2", 32).getpixel((5, 5))[2] > 200
    for made, name in (
        (source, "t.parquet:image@0"),
        (source, "b"),
        (other, "d"),
    ):
        with pytest.raises(BadPicture, match="missing picture"):
            made.picture(name, 32)


def test_parquet_rows_are_found_in_any_group(tmp_path):
    cells = [jpeg((20 * row, 0, 0)) for row in range(10)]
    table = pa.table({"my@image": cells, "caption": [f"{row}" for row in range(10)]})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=3)
    source = photos(tmp_path / "t.parquet", picture_column="my@image")
    for row in (9, 0, 2, 3, 5, 6, 8):
        red = source.picture(f"t.parquet:my@image@{row}", 32).getpixel((5, 5))[0]
        assert abs(red - 20 * row) < 5


def test_names_of_pictures_may_have_the_signs_of_places(tmp_path):
    names = ["a#1.jpg", "#3+4.jpg", "k#c@12.jpg", "d@12", "e.v1.jpg"]
    write(tmp_path, dict.fromkeys(names, jpeg()))
    write(tmp_path, {"t.jsonl": "".join(json.dumps({"image": n, "caption": "x"}) + "\n" for n in names)})
    source = photos(tmp_path / "t.jsonl")
    assert all(source.picture(name, 32).size == (32, 32) for name in names)
    with pytest.raises(KeyError, match="zzz"):
        source.picture("zzz", 32)


def test_samples_of_a_tar_are_told_by_their_first_dot_and_their_folder(tmp_path):
    members = {
        "1/k.JPG": jpeg("red"),
        "1/k.TXT": "\ufeffa dog\n \nits tail\r\n".encode(),
        "1/k.negative.jpg": jpeg("blue"),
        "1/k.negative.txt": b"no caption of it",
        "2/k.jpg": jpeg("blue"),
        "2/k.json": b'{"caption": "", "text": "a cat"}',
        "2/k.txt": b"",
        "3.jpg": jpeg(),
        "3.json": b'{"caption": ["a list"]}',
        "4.jpg": jpeg(),
        "4.json": b"[1]",
        "5.jpg": jpeg(),
        "5.json": b"\xff{",
        "6.jpg": jpeg(),
        "6.txt": b" \n",
        "7.jpg": jpeg(),
        "7.txt": b"of the text",
        "7.json": b'{"caption": "of the json"}',
        "8.cls": b"8",
        "9.jpg": jpeg(),
        "9.json": b'{"caption": ' + DEEP + b"}",
    }
    source = photos(tar(tmp_path / "s.tar", members))
    assert said(source) == [
        ("s.tar/1/k.JPG", "a dog"),
        ("s.tar/1/k.JPG", "its tail"),
        ("s.tar/2/k.jpg", "a cat"),
        ("s.tar/7.jpg", "of the text"),
    ]
    assert source.faults == {"picture without a text": 4, "no caption": 1, "sample without a picture": 1}
    assert source.picture("s.tar/1/k.JPG", 32).getpixel((5, 5))[0] > 200


def test_tars_of_a_folder_have_samples_of_their_own(tmp_path):
    for name, colour in (("2#1.tar", "blue"), ("1.tar", "red")):
        tar(tmp_path / name, {"k.jpg": jpeg(colour), "k.txt": colour.encode()})
    with tarfile.open(tmp_path / "1.tar", "a") as made:
        link = tarfile.TarInfo("l.jpg")
        link.type, link.linkname = tarfile.SYMTYPE, "k.jpg"
        made.addfile(link)
    source = photos(tmp_path)
    assert said(source) == [("1.tar/k.jpg", "red"), ("2#1.tar/k.jpg", "blue")]
    assert source.faults == {}
    assert source.picture("1.tar/k.jpg", 32).getpixel((5, 5))[0] > 200
    assert source.picture("2#1.tar/k.jpg", 32).getpixel((5, 5))[2] > 200


def test_a_compressed_tar_is_refused_since_pictures_are_read_where_they_lie(tmp_path):
    path = tar(tmp_path / "s.tar", {"k.jpg": jpeg(), "k.txt": b"x"}, "w:gz")
    with pytest.raises(SourceError, match="is no whole tar, or a compressed one"):
        photos(path)


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path):
    names = [f"{number:02d}" for number in range(30)]
    for name in sorted(names, key=lambda name: name[::-1]):
        write(tmp_path, {f"{name}.jpg": jpeg(), f"{name}.txt": name})
    assert [text for _, text in said(photos(tmp_path))] == names


def test_texts_of_a_folder_in_capitals_with_a_mark_or_of_nothing(tmp_path):
    write(tmp_path, {"A.JPG": jpeg(), "A.TXT": "\ufeffx", "b.jpg": jpeg(), "b.txt": " \n\n", "c.jpg": jpeg()})
    source = photos(tmp_path)
    assert said(source) == [("A.JPG", "x")]
    assert source.faults == {"no caption": 1, "picture without a text": 1}


def test_a_text_that_cannot_be_read_is_none(tmp_path):
    write(tmp_path, {"a.jpg": jpeg(), "a.TXT": "x", "b.jpg": jpeg()})
    (tmp_path / "a.txt").mkdir()
    (tmp_path / "b.txt").symlink_to("/proc/self/mem")
    source = photos(tmp_path)
    assert (said(source), source.faults) == ([("a.jpg", "x")], {"picture without a text": 1})


@pytest.mark.parametrize("kind", ["t.csv", "f.json"])
def test_a_name_that_no_file_can_have_is_a_picture_that_is_not_there(tmp_path, kind):
    names = ["a" * 300 + ".jpg", "a" * 5000, "b\0.jpg", "a.jpg/b.jpg", "a.jpg"]
    rows = [{"image": name, "caption": "x"} for name in names]
    images = [{"filename": name, "split": "train", "sentences": [{"raw": "x"}]} for name in names]
    forms = {"t.jsonl": "\n".join(map(json.dumps, rows)), "f.json": json.dumps({"images": images})}
    source = photos(write(tmp_path, {"a.jpg": jpeg()} | forms) / kind.replace("csv", "jsonl"))
    assert [name for name, _ in said(source)] == names
    assert [source.has(name) for name in names] == [False] * 4 + [True]
    source.check_pictures()
    (tmp_path / "a.jpg").unlink()
    with pytest.raises(
        SourceError, match="^none of the 5 pictures is there, the first would be .*aa.jpg: say"
    ):
        source.check_pictures()
    with pytest.raises(BadPicture, match="missing picture"):
        source.picture(names[0], 32)


def test_a_picture_is_looked_for_once_whatever_its_captions(tmp_path, monkeypatch):
    rows = [{"image": name, "caption": ["x"] * 50} for name in ("a.jpg", "b.jpg")]
    source = photos(write(tmp_path, {"t.jsonl": "\n".join(map(json.dumps, rows))}) / "t.jsonl")
    asked = []
    monkeypatch.setattr(photographs, "exists", asked.append)
    with pytest.raises(SourceError, match="none of the 2 pictures"):
        source.check_pictures()
    assert asked == [str(tmp_path / "a.jpg"), str(tmp_path / "b.jpg")]


def test_a_caption_of_a_book_is_counted_and_one_of_a_page_is_not(tmp_path):
    captions = {
        "a.jpg": "x" * 1_100_000,
        "b.jpg": "word " * 500,
        "c.jpg": "x" * 10_000,
        "d.jpg": "x" * 10_001,
    }
    rows = "\n".join(json.dumps({"image": name, "caption": text}) for name, text in captions.items())
    source = photos(write(tmp_path, {"t.jsonl": rows}) / "t.jsonl")
    assert said(source) == [("b.jpg", captions["b.jpg"].strip()), ("c.jpg", captions["c.jpg"])]
    assert source.faults == {"caption too long": 2}


def test_a_name_that_is_no_utf_8_is_counted(tmp_path):
    write(tmp_path, {"a.jpg": jpeg(), "a.txt": "x"})
    for suffix, data in ((b".jpg", jpeg()), (b".txt", b"y")):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9" + suffix)).write_bytes(data)
    tar(tmp_path / "s.tar", {"caf\udce9.jpg": jpeg(), "caf\udce9.txt": b"y", "a.jpg": jpeg(), "a.txt": b"x"})
    for source in (photos(tmp_path, kind="folder"), photos(tmp_path / "s.tar")):
        assert [text for _, text in said(source)] == ["x"]
        assert source.faults == {"unreadable name": 1}


def test_flickrs_lines_that_are_not_like_the_others(tmp_path):
    rows = "image_name| comment_number| comment\na.jpg | 0| a dog | a cat\n"
    rows += "b.jpg| 4   A dog\n\nc.jpg| 1| 3 dogs\n"
    write(tmp_path / "30k", {"results.csv": rows, "val.txt": "a.jpg \r\nc.jpg\r\n"})
    source = photos(tmp_path / "30k", split="all")
    assert said(source) == [("a.jpg", "a dog | a cat"), ("b.jpg", "A dog"), ("c.jpg", "3 dogs")]
    assert source.faults == {"no caption": 1}
    assert [name for name, _ in said(photos(tmp_path / "30k", split="val"))] == ["a.jpg", "c.jpg"]

    write(tmp_path / "8k", {"Flickr8k.token.txt": b"\xef\xbb\xbfa#1.jpg#0\tcaf\xe9\nb.jpg#0\ty\n"})
    write(tmp_path / "8k", {"Flickr_8k.devImages.txt": "b.jpg\n"})
    assert said(photos(tmp_path / "8k", split="all")) == [("a#1.jpg", "caf\ufffd"), ("b.jpg", "y")]
    assert said(photos(tmp_path / "8k", split="val")) == [("b.jpg", "y")]

    write(tmp_path / "own", {"captions.txt": "image,caption\r\na.jpg,x, y\r\n\r\n"})
    assert said(photos(tmp_path / "own", split="all")) == [("a.jpg", "x, y")]


def test_karpathys_file_with_gaps(tmp_path):
    images = [
        {"filename": None, "split": "train", "sentences": [{"raw": "x"}]},
        {"filename": "a.jpg", "filepath": None, "split": "train", "sentences": None},
        {"filename": "a.jpg", "split": "train", "sentences": [{"raw": 5}, {"raw": "ok"}]},
    ]
    write(tmp_path, {"dataset_flickr8k.json": json.dumps({"images": images}), "a.jpg": jpeg()})
    source = photos(tmp_path / "dataset_flickr8k.json", split="train")
    assert said(source) == [("a.jpg", "ok")]
    assert (source.faults, source.note) == ({"no caption": 2}, "")
    assert source.picture("a.jpg", 32).size == (32, 32)


def test_karpathys_file_of_flickr_trains_on_train_unless_said(tmp_path):
    images = [{"filename": f"{split}.jpg", "split": split, "sentences": [{"raw": "x"}]} for split in SPLITS]
    source = photos(write(tmp_path, {"f.json": json.dumps({"images": images})}) / "f.json")
    assert (said(source), source.note) == ([("train.jpg", "x")], "")


@pytest.mark.parametrize("value", [7, "a dog", {"raw": 5}, ["a dog"], [["a dog"]], [{"raw": ["x"]}], [None]])
def test_karpathys_sentences_of_another_kind_are_counted(tmp_path, value):
    images = [
        {"filename": "a.jpg", "split": "train", "sentences": value},
        {"filename": "b.jpg", "split": ["train"], "sentences": [{"raw": "y"}]},
        {"filename": ["c.jpg"], "filepath": 9, "split": "train", "sentences": [{"raw": "z"}]},
        {"filename": "d.jpg", "filepath": {}, "split": "train", "sentences": [{"raw": "x"}]},
    ]
    source = photos(write(tmp_path, {"f.json": json.dumps({"images": images})}) / "f.json")
    assert (said(source), source.faults) == ([("d.jpg", "x")], {"no caption": 2})


def test_coco_with_a_name_that_is_none(tmp_path):
    tree = {
        "images": [{"id": 1, "file_name": 5}, {"id": 2, "file_name": "a.jpg"}],
        "annotations": [{"image_id": 1, "caption": "x"}, {"image_id": 2, "caption": "y"}],
    }
    source = photos(write(tmp_path, {"c.json": json.dumps(tree)}) / "c.json")
    assert said(source) == [("a.jpg", "y")]
    assert source.faults == {"caption of no picture": 1}


@pytest.mark.parametrize("odd", [[1], {"a": 1}])
def test_coco_with_an_id_that_is_none(tmp_path, odd):
    tree = {
        "images": [{"id": odd, "file_name": "b.jpg"}, {"id": 2, "file_name": "a.jpg"}],
        "annotations": [{"image_id": odd, "caption": "x"}, {"image_id": 2, "caption": "y"}],
    }
    source = photos(write(tmp_path, {"c.json": json.dumps(tree)}) / "c.json")
    assert (said(source), source.faults) == ([("a.jpg", "y")], {"caption of no picture": 1})


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"[1]", "has no 'images'; it has: a list"),
        (b"{}", "has no 'images'; it has: nothing"),
        (b'{"info": ' + DEEP + b', "images": []}', "has no 'images'; it has: info, images"),
        (b'{"images": [' + DEEP + b"]}", r"'images.item' holds \[\[\[.*, expected objects"),
        (b'{"images": [{"id": 1, "file_name": "caf\xe9.jpg"}]}', "is no JSON after 0 entries"),
    ],
)
def test_json_of_another_kind(tmp_path, content, says):
    with pytest.raises(SourceError, match=says):
        photos(write(tmp_path, {"c.json": content}) / "c.json")


def test_the_name_of_cocos_file_says_that_its_pictures_leak(tmp_path):
    (tmp_path / "val").mkdir()
    assert photos(coco(tmp_path / "val")).note == ""


@pytest.mark.parametrize("name", ["dataset_coco.json", "mine.json"])
def test_of_karpathys_file_the_year_of_the_pictures_that_are_read_says_it(tmp_path, name):
    image = {"filename": "a.jpg", "filepath": "train2014", "split": "train", "sentences": [{"raw": "x"}]}
    images = [image, image | {"filepath": "val2014", "split": "restval"}]
    for chosen, split, leaks in ((images[:1], "train", False), (images, "train", True), (images, "", False)):
        source = photos(write(tmp_path, {name: json.dumps({"images": chosen})}) / name, split=split)
        assert ("SugarCrepe" in source.note, "\nnote: Karpathy's" in str(source)) == (leaks, leaks)


def test_a_source_says_how_many_and_what_is_wrong_the_commonest_first(tmp_path):
    lines = ["{half", *['{"image": "", "caption": "x"}'] * 2, '{"image": "a.jpg", "caption": "x"}']
    path = write(tmp_path, {"t.jsonl": "\n".join(lines)}) / "t.jsonl"
    assert str(photos(path)).splitlines() == [
        "1 captions of 1 pictures",
        "          2 no picture named",
        "          1 unreadable line",
    ]
    assert str(photos(coco(tmp_path, "captions_val2014.json"))).splitlines()[-1].startswith("note: these")


def test_a_source_without_captions_says_why(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="^the source has no captions$"):
        photos(tmp_path / "empty")
    write(tmp_path / "alone", {"a.jpg": jpeg()})
    with pytest.raises(SourceError, match=r"^the source has no captions \(picture without a text: 1\)$"):
        photos(tmp_path / "alone")


@pytest.mark.parametrize(
    ("size", "parts"),
    [(1, ["aaa", "b", "cc", "d"]), (3, ["aaa", "bcc", "d"]), (4, ["aaab", "ccd"]), (9, ["aaabccd"])],
)
def test_parts_have_whole_pictures_and_no_more_captions_than_asked(size, parts):
    captions = [Caption(name, None, "x") for name in "aaabccd"]
    made = whole_pictures(captions, size)
    assert ["".join(caption.image_id for caption in part) for part in made] == parts
    assert list(whole_pictures([], size)) == []
