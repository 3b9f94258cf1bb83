"""Captions read back and scenes edited, against hand-written scenes and an independent reader."""

from itertools import combinations

import numpy as np
import pytest
from world_oracle import scene, told, told_captions, true, view

from slipform_core.emoji_world import (
    World,
    edit,
    holds,
    read_back,
    reword,
)
from slipform_core.emoji_world.lexicon import SURFACES, nouns

DEFAULT = 88
PAIR = ("blue dog large", "green bell small")
BUS = "pink bus small"


@pytest.mark.parametrize("noun_count", [12, DEFAULT, 336])
def test_reading_a_caption_back_and_editing_by_it_is_the_identity(noun_count):
    every = frozenset(World(noun_count, 0.3).nouns)
    for caption, of in told_captions(120, nouns=noun_count):
        said = read_back(caption, caption.text)
        assert said == {slot: caption.text[start:end] for start, end, slot in caption.scene["mentions"]}
        assert edit(of, said, every) == of
        assert holds(of, said)
        assert reword(caption, said) == caption.text


def test_an_edited_caption_is_read_slot_by_slot_and_another_text_is_no_edit():
    of = scene(*PAIR)
    caption = told(
        "An [odd|mood] view of a [dog|noun.0] [left of|relation.0.1] a [green|colour.1] [bell|noun.1].", of
    )
    text = "A strange view of an owl to the right of a red umbrella."
    assert read_back(caption, text) == {
        "mood": "strange",
        "noun.0": "owl",
        "relation.0.1": "to the right of",
        "colour.1": "red",
        "noun.1": "umbrella",
    }
    for other in (
        "A strange view of an owl to the right of a red umbrella",  # no full stop
        "A grim view of a dog left of a green bell.",
        "An odd view of a dog left of a green bell. ",
        "An odd view of the dog left of a green bell.",
        "An odd view of a dog beyond a green bell.",
        "",
    ):
        assert read_back(caption, other) is None


EDITS = [
    ({"noun.1": "owl"}, scene("blue dog large", "green owl small", BUS)),
    ({"colour.0": "red"}, scene("red dog large", "green bell small", BUS)),
    ({"size.2": "huge"}, scene(*PAIR, "pink bus large")),
    ({"place": "snow"}, scene(*PAIR, BUS, place="snow")),
    ({"side": "above"}, scene(*PAIR, BUS, third_after=False)),
    ({"side": "below"}, scene(*PAIR, BUS)),
    ({"relation.0.1": "left of"}, scene(*PAIR, BUS)),
    ({"relation.1.0": "to the right of"}, scene(*PAIR, BUS)),
    ({"relation.0.1": "right of"}, scene(*reversed(PAIR), BUS)),
    ({"relation.1.0": "left of"}, scene(*reversed(PAIR), BUS)),
    ({"relation.0.1": "over"}, scene(*PAIR, BUS, axis="above")),
    ({"relation.0.1": "beneath"}, scene(*reversed(PAIR), BUS, axis="above")),
    ({"relation.1.0": "under"}, scene(*PAIR, BUS, axis="above")),
    ({"relation.0.1": "next to"}, scene(*PAIR, BUS)),
    ({"relation.1.0": "near"}, scene(*PAIR, BUS)),
    ({"mood": "odd", "medium": "photo", "verb": "hangs"}, scene(*PAIR, BUS)),
    ({"noun.0": "bell", "noun.1": "dog"}, scene("blue bell large", "green dog small", BUS)),
    (
        {"noun.0": "cat", "relation.0.1": "under"},
        scene("green bell small", "blue cat large", BUS, axis="above"),
    ),
]


@pytest.mark.parametrize(
    ("said", "expected"), EDITS, ids=lambda value: str(value) if isinstance(value, dict) else ""
)
def test_an_edit_changes_what_is_said_and_leaves_the_rest(said, expected):
    before = scene(*PAIR, BUS)
    assert edit(before, said, frozenset(nouns(336))) == expected
    assert before == scene(*PAIR, BUS)


def test_beside_is_true_of_a_row_and_makes_one_of_a_column():
    column = scene(*PAIR, axis="above")
    assert edit(column, {"relation.1.0": "beside"}, frozenset(["dog"])) == scene(*reversed(PAIR))
    assert edit(column, {"relation.1.0": "near"}, frozenset(["dog"])) == column


def test_a_noun_without_a_picture_is_refused():
    with pytest.raises(ValueError, match="no picture of 'unicorns'"):
        edit(scene(*PAIR), {"noun.0": "unicorns"}, frozenset(nouns(DEFAULT)))


def changed_ways(caption, of, rng):
    """Single replacements in every slot, also by what the picture shows, and every swap within a kind."""
    said = read_back(caption, caption.text)
    shown = [thing.noun for thing in of.things]
    for slot in said:
        kind = slot.split(".")[0]
        for word in rng.permutation([*shown, "owl", "ant"] if kind == "noun" else list(SURFACES[kind]))[:6]:
            yield said | {slot: str(word)}
    for one, other in combinations(said, 2):
        if one.split(".")[0] == other.split(".")[0]:
            yield said | {one: said[other], other: said[one]}


def test_holds_agrees_with_a_reader_of_text_and_positions():
    rng = np.random.default_rng(3)
    truths = []
    for caption, of in told_captions(100, three_objects=0.5):
        for said in changed_ways(caption, of, rng):
            text = reword(caption, said)
            truths.append(true(text, view(of)))
            assert holds(of, said) == truths[-1], (text, of)
    assert len(truths) > 4000
    assert 0.2 < np.mean(truths) < 0.6


def test_an_edited_scene_makes_the_caption_true():
    rng = np.random.default_rng(4)
    count = 0
    for caption, of in told_captions(80, three_objects=0):
        for said in changed_ways(caption, of, rng):
            if said["noun.0"] != said["noun.1"]:
                edited = edit(of, said, frozenset(nouns(336)))
                assert true(reword(caption, said), view(edited)), (caption.text, said, edited)
                count += 1
    assert count > 2000


@pytest.mark.parametrize("link", ["[beside|relation.0.1]", "[near|relation.0.1]", "and"])
def test_an_exchange_is_still_true_where_the_relation_is_symmetric(link):
    caption = told(f"a [dog|noun.0] {link} a [bell|noun.1]", scene(*PAIR))
    swapped = read_back(caption, caption.text) | {"noun.0": "bell", "noun.1": "dog"}
    assert holds(scene(*PAIR), swapped)

    coloured = told(f"a [blue|colour.0] [dog|noun.0] {link} a [bell|noun.1]", scene(*PAIR))
    swapped = read_back(coloured, coloured.text) | {"noun.0": "bell", "noun.1": "dog"}
    assert not holds(scene(*PAIR), swapped)  # the bell is green


def test_a_third_thing_does_not_change_places_with_one_of_the_pair():
    of = scene(*PAIR, BUS)
    caption = told("a [dog|noun.0] and a [bell|noun.1] with a [bus|noun.2] [below|side] them", of)
    said = read_back(caption, caption.text)
    assert holds(of, said)
    assert holds(of, said | {"noun.0": "bell", "noun.1": "dog"})
    assert not holds(of, said | {"noun.0": "bus", "noun.2": "dog"})


def test_an_exchange_about_a_direction_is_false():
    caption = told("a [dog|noun.0] [left of|relation.0.1] a [bell|noun.1]", scene(*PAIR))
    swapped = read_back(caption, caption.text) | {"noun.0": "bell", "noun.1": "dog"}
    assert not holds(scene(*PAIR), swapped)
