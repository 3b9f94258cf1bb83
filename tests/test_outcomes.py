"""Packed outcomes come back as they were, with their scenes and words, and errors name what there is."""

import numpy as np
import pytest

from slipform_core.outcomes import Outcomes, items, pack, unpack

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 1000])
def test_bits_come_back(count: int) -> None:
    bits = RNG.random(count) < 0.3
    assert unpack(pack(bits), count).tolist() == bits.tolist()
    assert len(pack(bits)) <= count / 6 + 4
    for wrong in (count + 8, max(count - 8, -1)):
        with pytest.raises(ValueError, match="bits are packed"):
            unpack(pack(bits), wrong)


def outcomes() -> Outcomes:
    right = {"i2t": pack(np.array([True, False, True])), "t2i": pack(np.array([False, False, True]))}
    found = pack(np.array([True, True, False, False]))
    about = {
        "sugarcrepe/replace_att": items(np.array([0, 2, 3]), ["red", "blue", "red"], 5),
        "retrieval/world/t2i": items(np.array([1, 1, 4, 4]), [""] * 4, 5),
    }
    arm = {"sugarcrepe/replace_att": right, "retrieval/world": {"t2i_r1": found}}
    return Outcomes({"scenes": 5, "items": about, "arms": {"base": arm}})


def test_outcomes_are_read_by_reference() -> None:
    given = outcomes()
    assert given.references() == [
        "sugarcrepe/replace_att/i2t",
        "sugarcrepe/replace_att/t2i",
        "retrieval/world/t2i_r1",
    ]
    right, scenes = given.column("base", "sugarcrepe/replace_att/i2t")
    assert right.tolist() == [True, False, True] and scenes.tolist() == [0, 2, 3]
    assert given.words("sugarcrepe/replace_att/t2i") == ["red", "blue", "red"]
    right, scenes = given.column("base", "retrieval/world/t2i_r1")
    assert right.tolist() == [True, True, False, False] and scenes.tolist() == [1, 1, 4, 4]


@pytest.mark.parametrize(
    ("arm", "reference", "says"),
    [
        ("bass", "sugarcrepe/replace_att/i2t", "no arm 'bass'; there are: base"),
        ("base", "sugarcrepe/replace_att/tot", "no outcomes of .*; there are: sugarcrepe/replace_att/i2t"),
        ("base", "scpp/swap_obj/itt", "no outcomes of .*; there are: sugarcrepe/replace_att/i2t"),
    ],
)
def test_what_is_missing_is_named_with_what_there_is(arm: str, reference: str, says: str) -> None:
    with pytest.raises(KeyError, match=says):
        outcomes().right(arm, reference)


@pytest.mark.parametrize("scenes", [[2, 1], [0, 0, 1]])
def test_items_that_do_not_come_scene_by_scene_are_refused(scenes: list[int]) -> None:
    with pytest.raises(ValueError, match="scene by scene"):
        items(np.array(scenes), ["a"] * len(scenes), 3)
