"""Colours, captions and pairs as HTML, read back with a parser of HTML."""

import base64
import io
from types import SimpleNamespace

import numpy as np
import pytest
from bs4 import BeautifulSoup
from PIL import Image

from slipform_core import figures
from slipform_core.records import Keyword


def keyword(text: str, caption: str, concreteness: float | None, role: str) -> Keyword:
    start = caption.index(text)
    return Keyword(text, text, "NOUN", start, start + len(text), concreteness, role)


def pair(caption: str, negative_caption: str) -> SimpleNamespace:
    rng = np.random.default_rng(len(caption))
    record = SimpleNamespace(
        caption=caption, negative_caption=negative_caption, keyword=SimpleNamespace(concreteness=4.0)
    )
    pictures = rng.integers(0, 256, (2, 8, 8, 3), dtype=np.uint8)
    return SimpleNamespace(record=record, picture=pictures[0], negative_picture=pictures[1])


def test_a_name_keeps_its_colour_when_names_are_added() -> None:
    few, many = figures.palette(["base", "plain"]), figures.palette(["base", "plain", "hc", "lc"])
    assert few.items() <= many.items()
    assert len(set(many.values())) == 4
    with pytest.raises(ValueError, match="8 names for 7 colours"):
        figures.palette([str(number) for number in range(8)])


def test_a_marked_caption_reads_as_the_caption() -> None:
    caption = "A dog & a <red> cup"
    words = [keyword("dog", caption, 4.85, "object"), keyword("red", caption, None, "attribute")]
    page = BeautifulSoup(figures.marked_caption(caption, words), "html.parser")
    notes = [note.extract().text for note in page.find_all("small")]
    assert page.find(class_="marked-caption").text == caption
    assert notes == ["4.85", "not in the norms"]
    assert [mark["class"][1] for mark in page.select(".marked-caption .keyword")] == ["object", "attribute"]


@pytest.mark.parametrize(
    ("caption", "negative", "own", "changed"),
    [
        ("a red dog near a cup", "a blue dog near a cup", ["red"], ["blue"]),
        ("a dog near a <cup>", "a <cup> near a dog", None, None),
        ("a dog", "a dog in a tree", [], ["in a tree"]),
        ("a dog", "a dog", [], []),
    ],
)
def test_what_changed_is_marked_and_nothing_is_lost(caption, negative, own, changed) -> None:
    page = BeautifulSoup(figures.negative_pairs([pair(caption, negative)]), "html.parser")
    captions = page.find_all("figcaption")
    assert [text.text for text in captions] == [caption, negative]
    marks = [[mark.text for mark in text.find_all("mark")] for text in captions]
    kept = [
        " ".join(child.text.strip() for child in text if child.name != "mark").split() for text in captions
    ]
    assert kept[0] == kept[1]
    assert own is None or marks == [own, changed]


def test_the_pictures_are_those_of_the_samples() -> None:
    sample = pair("a dog", "a cat")
    page = BeautifulSoup(figures.negative_pairs([sample]), "html.parser")
    sources = [image["src"].removeprefix("data:image/png;base64,") for image in page.find_all("img")]
    pixels = [np.asarray(Image.open(io.BytesIO(base64.b64decode(source)))) for source in sources]
    np.testing.assert_array_equal(pixels, [sample.picture, sample.negative_picture])
