"""One's own items: the same in JSON, JSON lines and CSV, and mistakes that name file, item and field."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from reader_files import pictures, rules, shown, write

from slipform_core.benchmarks import own
from slipform_core.benchmarks.own import RULES
from slipform_core.evaluation import score
from slipform_core.mistakes import Mistake

CHOICE = [
    {"id": "x", "image": "a.png", "caption": "a dog", "negative_caption": "a cat", "subset": "animals"},
    {"image": "b.png", "caption": "a bus", "negative_caption": "a car"},
    {
        "image": "a.png",
        "caption": "a pig",
        "negative_caption": "a cow",
        "subset": "animals",
        "rule": "choice",
    },
]


def table(path: Path, items: list[dict]) -> Path:
    """A CSV of all fields, empty where an item has none."""
    header = list(dict.fromkeys(name for item in items for name in item))
    with path.open("w", newline="", encoding="utf-8-sig") as stream:
        rows = csv.writer(stream)
        rows.writerow(header)
        rows.writerows([item.get(name, "") for name in header] for item in items)
    return path


def forms(folder: Path, items: list[dict]) -> list[Path]:
    """The items in each format, JSON both as a list and by id."""
    return [
        write(folder / "mine.json", items),
        write(folder / "by id.json", {f"n{n}": item for n, item in enumerate(items)}),
        write(folder / "mine.jsonl", items),
        table(folder / "mine.csv", items),
    ]


@pytest.fixture
def folder(tmp_path) -> Path:
    pictures(tmp_path, "a.png", "b.png")
    return tmp_path


def test_all_formats_give_the_same_items(folder) -> None:
    a, b = str(folder / "a.png"), str(folder / "b.png")
    for path in forms(folder, CHOICE):
        read = own(path)
        assert read.name == "own_" + path.stem.replace(" ", "-")
        assert shown(read) == {
            "animals": [((a,), ("a dog", "a cat")), ((a,), ("a pig", "a cow"))],
            "all": [((b,), ("a bus", "a car"))],
        }
        assert rules(read) == {"choice"} and path.name in read.protocol


def test_two_pictures_are_winoground(folder) -> None:
    items = [{"image": "a.png", "image2": "b.png", "caption": "one", "caption2": "two"}]
    for path in forms(folder, items):
        read = own(path)
        assert shown(read) == {"all": [((str(folder / "a.png"), str(folder / "b.png")), ("one", "two"))]}
        assert rules(read) == {"winoground"}
    path = write(folder / "lists.json", [{"images": ["a.png", "b.png"], "captions": ["one", "two"]}])
    assert shown(own(path)) == shown(read) and rules(own(path)) == {"winoground"}


def test_two_true_captions_are_said(folder) -> None:
    items = [
        {"image": "a.png", "caption": "one", "caption2": "uno", "negative_caption": "two", "rule": "scpp"}
    ]
    for path in forms(folder, items):
        assert shown(own(path)) == {"all": [((str(folder / "a.png"),), ("one", "uno", "two"))]}
        assert rules(own(path)) == {"scpp"}


def test_pictures_lie_beside_the_file_or_where_it_is_said(folder) -> None:
    path = write(folder / "elsewhere/mine.json", CHOICE)
    assert shown(own(path, folder)) == shown(own(write(folder / "mine.json", CHOICE)))
    with pytest.raises(Mistake, match="3 items: missing picture; the first would be .*elsewhere/a.png"):
        own(path)


def test_items_of_more_and_fewer_captions_are_scored_as_an_item_by_item_loop_does(folder) -> None:
    rng = np.random.default_rng(0)
    items = [
        {"image": rng.choice(["a.png", "b.png"]), "captions": [f"{n} {k}" for k in range(rng.integers(2, 6))]}
        for n in range(60)
    ]
    read = own(write(folder / "mine.json", items))
    images, texts = (
        each / np.linalg.norm(each, axis=1, keepdims=True)
        for each in (
            rng.normal(size=(len(things), 5)).astype(np.float32) for things in (read.pictures, read.texts)
        )
    )
    places = [Path(photo.place).name for photo in read.pictures]
    expected = []
    for item in items:
        shown_to = images[places.index(item["image"])]
        first, *others = (float(shown_to @ texts[read.texts.index(text)]) for text in item["captions"])
        expected.append(all(first > other for other in others))
    assert score(read, images, texts).outcomes["own_mine/all"]["i2t"].tolist() == expected
    assert 0 < sum(expected) < 60


def test_missing_pictures_empty_texts_and_swapped_pairs_are_counted(folder) -> None:
    items = [*CHOICE, CHOICE[0] | {"image": "z.png"}, CHOICE[0] | {"negative_caption": " "}]
    items += [{"image": "b.png", "caption": "a car", "negative_caption": "a bus"}]
    for path in forms(folder, items):
        with pytest.raises(Mistake, match="2 items: contradicted by another item"):
            own(path)
        read = own(path, partial=True)
        counted = {"missing picture": 1, "no text": 1, "contradicted by another item": 2}
        assert read.left_out == counted and set(shown(read)) == {"animals"}


def test_the_same_item_twice_counts_twice_and_is_encoded_once(folder) -> None:
    read = own(write(folder / "mine.json", 2 * CHOICE[:1]))
    assert len(read.subsets["own_mine/animals"]) == 2
    assert (len(read.pictures), len(read.texts)) == (1, 2)


ONE = {"id": "x", "image": "a.png", "caption": "one", "negative_caption": "two"}


def without(name: str, **more) -> dict:
    return {key: value for key, value in ONE.items() if key != name} | more


@pytest.mark.parametrize(
    ("item", "says"),
    [
        (without("image"), "item x lacks image"),
        (without("negative_caption"), "item x lacks negative_caption"),
        (without("caption"), "item x lacks caption"),
        (without("id", image=3), "item 0 has 3 where the name of a picture is expected"),
        ([ONE], "item 0 is list, expected an object"),
        (ONE | {"rule": "best"}, "item x: 'rule' is 'best', expected one of choice, winoground, scpp"),
        (ONE | {"rule": ["choice"]}, r"item x: 'rule' is \['choice'\]"),
        (ONE | {"caption2": "uno"}, "item x has 'caption2' and no 'rule': say scpp"),
        (ONE | {"rule": "scpp"}, r"item x has 1 pictures \('images'\) and 2 captions .*; scpp takes 1 and 3"),
        (
            ONE | {"captions": ["one"]},
            "item x has 1 pictures .* and 1 captions .*; choice takes 1 and 2 or more",
        ),
        (ONE | {"captions": "one"}, "item x: 'captions' is 'one', expected a list"),
        (ONE | {"images": "a.png"}, "item x: 'images' is 'a.png', expected a list"),
        (ONE | {"images": ["a.png"] * 3}, "item x has 3 pictures"),
        (ONE | {"images": []}, "item x has 0 pictures"),
        (ONE | {"subset": "a/b"}, "item x: 'subset' is 'a/b', expected a name without a slash"),
        (ONE | {"subset": 1}, "item x: 'subset' is 1"),
    ],
)
def test_a_mistake_is_one_line_that_names_file_item_and_field(item, says, folder) -> None:
    path = write(folder / "mine.json", [item])
    with pytest.raises(Mistake, match=f"mine.json: {says}") as caught:
        own(path, partial=True)
    assert "\n" not in str(caught.value)


def test_a_file_has_items_of_one_rule(folder) -> None:
    path = write(folder / "mine.jsonl", [ONE, ONE | {"id": "y", "images": ["a.png", "b.png"]}])
    with pytest.raises(Mistake, match="mine.jsonl: 'rule' of item y 'winoground' and item x 'choice'"):
        own(path)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("mine.json", "[{]", "mine.json is no JSON"),
        ("mine.jsonl", '{"id": 1}\n\n{', "mine.jsonl: item 1 lacks image"),
        ("mine.jsonl", "\n{", "mine.jsonl, line 2 is no JSON"),
        ("mine.csv", "image,caption\na.png,a,b\n", "mine.csv: item 1 has 3 cells, the header 2"),
        ("mine.csv", 'image,caption,negative_caption\na.png,"a,b\n', "mine.csv.*(lacks|cells|quote)"),
        ("mine.csv", "", "mine.csv has the columns of an empty file; expected"),
        ("mine.csv", "image,caption,negative_caption\n", "own_mine: it has no items$"),
        ("mine.json", "[]", "own_mine: it has no items$"),
        (
            "mine.csv",
            "image;caption;negative_caption\n",
            "columns 'image;caption;negative_caption'; expected",
        ),
        ("mine.csv", "image,caption,caption,negative_caption\na.png,a,b,c\n", "expected, each once"),
        ("mine.txt", "", "mine.txt: own items are in a file that ends in one of .json, .jsonl, .csv"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(name, text, says, folder) -> None:
    (folder / name).write_text(text)
    with pytest.raises(Mistake, match=says) as caught:
        own(folder / name)
    assert "\n" not in str(caught.value)
    with pytest.raises(Mistake, match="nowhere.json does not exist"):
        own(folder / "nowhere.json")


def test_a_header_may_have_blanks_and_a_table_must_be_utf8(folder) -> None:
    path = folder / "mine.csv"
    path.write_text(" image , caption,negative_caption \na.png,un café,un thé\n", encoding="utf-8")
    assert own(path).texts == ("un café", "un thé")
    for encoding in ("latin-1", "utf-16"):
        path.write_text("image,caption,negative_caption\na.png,un café,un thé\n", encoding=encoding)
        with pytest.raises(Mistake, match="mine.csv is not UTF-8"):
            own(path)


def test_items_that_ask_nothing_are_counted(folder) -> None:
    equal = [
        ({"image": "a.png", "caption": "A dog", "negative_caption": "a  dog "}, "captions are equal"),
        ({"image": "a.png", "captions": ["a dog", "a cat", "a dog"]}, "captions are equal"),
        ({"images": ["a.png", "b.png"], "captions": ["a dog", "A dog"]}, "captions are equal"),
        ({"images": ["a.png", "a.png"], "captions": ["a dog", "a cat"]}, "pictures are equal"),
        ({"image": "a.png", "captions": ["one", "One", "two"], "rule": "scpp"}, "captions are equal"),
        ({"image": "a.png", "captions": ["one", "uno", "one"], "rule": "scpp"}, "captions are equal"),
        ({"image": "a.png", "captions": ["one", "two", "two"], "rule": "scpp"}, "captions are equal"),
    ]
    good = {"choice": CHOICE[1], "winoground": {"images": ["a.png", "b.png"], "captions": ["one", "two"]}}
    good["scpp"] = {"image": "a.png", "captions": ["one", "uno", "two"], "rule": "scpp"}
    for item, why in equal:
        kind = item.get("rule", "winoground" if "images" in item else "choice")
        path = write(folder / "mine.json", [item, good[kind]])
        assert own(path, partial=True).left_out == {why: 1}
        with pytest.raises(Mistake, match=f"1 items: {why}; --partial scores the rest"):
            own(path)
    several = {"image": "a.png", "captions": ["a dog", "a cat", "a cat"]}
    assert not own(write(folder / "mine.json", [several])).left_out, "others may be alike"


def test_a_caption_of_a_book_is_refused(folder) -> None:
    with pytest.raises(Mistake, match="item x has a caption of 100,001 characters, at most 100,000"):
        own(write(folder / "mine.json", [ONE | {"caption": "a" * 100_001}]))


def test_the_format_is_documented() -> None:
    """Every field and rule is named where the command's help takes it from."""
    assert re.findall(r"^    (\w+)  +\S", own.__doc__, re.M) == ["id", "subset", "image", "captions", "rule"]
    quoted = set(re.findall(r'"(\w+)"', own.__doc__))
    fields = {"image", "image2", "images", "caption", "caption2", "negative_caption"}
    assert quoted == fields | set(RULES) | {"all", "own_"}
