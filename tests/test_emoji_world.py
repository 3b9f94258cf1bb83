"""The embedded world's words, scenes, split and captions, by brute force and an independent reader."""

import hashlib
import re
import subprocess
import sys
from itertools import combinations, product

import numpy as np
import pytest
from world_oracle import COLOURS, MOODS, PLACES, RELATIONS, SIZES, scene, state, told_captions, true, view

from slipform_core.concreteness import Norms
from slipform_core.emoji_world import (
    Scene,
    World,
    captions,
    draw,
    mend_articles,
)
from slipform_core.emoji_world.lexicon import SURFACES, code_points, nouns

DEFAULT = 88


def world(noun_count=DEFAULT, three_objects=0.3):
    return World(noun_count, three_objects)


def test_every_word_is_an_entry_of_the_norms():
    norms = Norms.load("brysbaert")
    assert len(code_points()) == 336
    assert len(set(code_points().values())) == 336
    for noun in code_points():
        assert noun in norms, noun
    for kind, surfaces in SURFACES.items():
        for surface in surfaces:
            carrier = set(surface.split()) - {"to", "the", "of"}
            assert len(carrier) == 1, surface
            word = carrier.pop()
            assert word in norms or (kind == "verb" and word.removesuffix("s") in norms), (kind, surface)


def test_the_default_nouns_are_concrete():
    norms = Norms.load("brysbaert")
    default = nouns(DEFAULT)
    assert len(set(default)) == DEFAULT >= 80
    assert min(norms[noun] for noun in default) >= 4.5
    assert nouns(336)[:DEFAULT] == default


def test_more_nouns_than_there_are_is_a_clear_error():
    with pytest.raises(ValueError, match=r"the world has 336 nouns, 1000 were asked for"):
        nouns(1000)
    with pytest.raises(ValueError, match="1000"):
        world(1000).scene("train", 0, seed=1)


FINGERPRINT = """
import hashlib
from slipform_core.emoji_world import *
digest = hashlib.sha256()
for split in ("test", "train", "pretrain"):
    for caption in captions(World(88, 0.3), split, 6, seed=5, forward=0.6):
        scene = Scene.from_json(caption.scene)
        digest.update(repr(caption).encode() + draw(scene, side=64, seed=2).tobytes())
print(digest.hexdigest())
"""


def test_scenes_captions_and_pictures_are_functions_of_seed_split_and_index():
    outputs = set()
    for hash_seed in ("1", "2"):  # a set's order would differ between these two
        command = [sys.executable, "-c", FINGERPRINT]
        run = subprocess.run(
            command, env={"PYTHONHASHSEED": hash_seed, "PATH": ""}, text=True, capture_output=True, check=True
        )
        outputs.add(run.stdout.strip())
    digest = hashlib.sha256()
    for split in ("test", "train", "pretrain"):
        for caption, of in told_captions(6, split):
            digest.update(repr(caption).encode() + draw(of, side=64, seed=2).tobytes())
    assert outputs == {digest.hexdigest()}

    one, other = world(), world()
    backwards = {index: one.scene("train", index, seed=5) for index in reversed(range(20))}
    assert all(other.scene("train", index, seed=5) == backwards[index] for index in range(20))
    keys = product(("pretrain", "train", "test"), range(5), (5, 6))
    drawn = [one.scene(split, index, seed=seed) for split, index, seed in keys]
    assert len(set(drawn)) == len(drawn) == 30


def test_a_tenth_of_the_noun_pairs_and_one_colour_a_noun_are_held_out():
    for count in (DEFAULT, 336):
        of = world(count)
        pairs = list(combinations(of.nouns, 2))
        share = sum(of.held_out_pair(*pair) for pair in pairs) / len(pairs)
        assert 0.08 < share < 0.12
        assert all(of.held_out_pair(one, other) == of.held_out_pair(other, one) for one, other in pairs[:500])
        assert {of.held_out_colour(noun) for noun in of.nouns} == set(COLOURS)
    for count in range(12, 60):
        of = world(count)
        assert any(of.held_out_pair(*pair) for pair in combinations(of.nouns, 2)), count


def compositions(of: Scene):
    """Noun pairs, sorted, and colour-noun pairs of a scene."""
    names = sorted(thing.noun for thing in of.things)
    return set(combinations(names, 2)), {(thing.noun, thing.colour) for thing in of.things}


@pytest.mark.parametrize("noun_count", [12, DEFAULT, 336])
def test_no_training_scene_has_a_held_out_composition_and_every_test_scene_has(noun_count):
    of = world(noun_count)
    pairs = {pair for pair in combinations(sorted(of.nouns), 2) if of.held_out_pair(*pair)}
    coloured = {(noun, of.held_out_colour(noun)) for noun in of.nouns}
    colours_of_test = 0
    for index, split in product(range(150), ("pretrain", "train", "test")):
        drawn = of.scene(split, index, seed=9)
        seen_pairs, seen_colours = compositions(drawn)
        if split == "test":
            assert tuple(sorted(thing.noun for thing in drawn.things[:2])) in pairs
            colours_of_test += bool(seen_colours & coloured)
        else:
            assert not seen_pairs & pairs
            assert not seen_colours & coloured
        assert of.held_out(drawn) == bool(seen_pairs & pairs or seen_colours & coloured)
    assert colours_of_test > 10


def test_things_differ_in_noun_and_colour_and_some_scenes_have_three():
    scenes = [world().scene("train", index, seed=5) for index in range(300)]
    for drawn in scenes:
        assert len({thing.noun for thing in drawn.things}) == len(drawn.things)
        assert len({thing.colour for thing in drawn.things}) == len(drawn.things)
    assert 0.2 < np.mean([len(drawn.things) == 3 for drawn in scenes]) < 0.4
    assert {drawn.place for drawn in scenes} == set(PLACES)
    assert {drawn.axis for drawn in scenes} == {"left", "above"}


def test_a_scene_survives_json():
    for third in ((), ("pink bus small",)):
        drawn = scene("blue dog large", "green bell small", *third)
        assert Scene.from_json(drawn.to_json()) == drawn


@pytest.mark.parametrize("noun_count", [12, DEFAULT, 336])
def test_five_captions_a_scene_each_true_with_exact_spans(noun_count):
    told_of = told_captions(120, nouns=noun_count)
    assert [caption.image_id for caption, _ in told_of] == [
        f"train-{index:06d}" for index in range(120) for _ in range(5)
    ]
    for caption, of in told_of:
        assert true(caption.text, view(of)), caption.text
        said = state(caption.text)
        words = {slot: caption.text[start:end] for start, end, slot in caption.scene["mentions"]}
        assert len(words) == len(caption.scene["mentions"])
        for slot, word in words.items():
            kind, *where = slot.split(".")
            if kind == "noun":
                assert word == of.things[int(where[0])].noun
            elif kind == "colour":
                assert word == of.things[int(where[0])].colour
            elif kind == "size":
                assert SIZES[word] == of.things[int(where[0])].size
            elif kind == "relation":
                assert RELATIONS[word] == said.relation[1]
                first, second = said.things[said.relation[0]][0], said.things[said.relation[2]][0]
                assert [of.things[int(index)].noun for index in where] == [first, second]
        named = {words[slot] for slot in words if slot.startswith("noun")}
        assert named == {noun for noun, _, _ in said.things}
        for kind, value in (("side", said.side), ("place", said.place), ("mood", said.mood)):
            assert words.get(kind) == value
        assert sum(slot.startswith("colour") for slot in words) == sum(bool(c) for _, c, _ in said.things)
        assert sum(slot.startswith("size") for slot in words) == sum(bool(s) for _, _, s in said.things)


def test_captions_are_varied():
    told_of = told_captions(200)
    shapes = set()
    for caption, _ in told_of:
        shape = caption.text.rstrip(".")
        for start, end, slot in sorted(caption.scene["mentions"], reverse=True):
            shape = shape[:start] + slot.split(".")[0].upper() + shape[end:]
        shapes.add(re.sub(r"\b[Aa]n\b", "a", shape).lower())
    assert len(shapes) > 400
    texts = " ".join(caption.text.lower() for caption, _ in told_of)
    for kind, surfaces in SURFACES.items():
        for surface in surfaces:
            assert re.search(rf"\b{surface}\b", texts), (kind, surface)
    by_scene = [{caption.text for caption, _ in told_of[i : i + 5]} for i in range(0, len(told_of), 5)]
    assert sum(len(texts) == 5 for texts in by_scene) > 0.97 * len(by_scene)
    abstract = sum(any(word in caption.text for word in MOODS) for caption, _ in told_of) / len(told_of)
    assert 0.1 < abstract < 0.3


def test_fewer_captions_a_scene_are_the_first_ones():
    every = captions(world(), "train", 20, seed=5, forward=0.6)
    first = captions(world(), "train", 20, seed=5, forward=0.6, each=1)
    assert list(first) == list(every)[::5]


@pytest.mark.parametrize(("forward", "low", "high"), [(1.0, 1, 1), (0.5, 0.4, 0.6), (0.0, 0, 0)])
def test_forward_is_how_often_the_left_or_upper_thing_comes_first(forward, low, high):
    made = captions(world(), "train", 60, seed=5, forward=forward)
    share = np.mean([state(c.text).things[0][0] == c.scene["things"][0][0] for c in made])
    assert low <= share <= high


def an_before(word: str) -> bool:
    """The English article by sound, exceptions by hand."""
    if re.match(r"hour|heir|honest|honou?r", word):
        return True
    if re.match(r"uni[^nm]|unicorn|uk|eu|ewe|one\b|use|ut", word):
        return False
    return word[0] in "aeiou"


def test_articles_agree():
    cases = {
        "a owl and an dog": "an owl and a dog",
        "A orange cat": "An orange cat",
        "An umbrella": "An umbrella",
        "an uniform, an unicycle, an ukulele": "a uniform, a unicycle, a ukulele",
        "a unusual cat": "an unusual cat",
        "a hourglass near an house": "an hourglass near a house",
        "banana a": "banana a",
    }
    for wrong, right in cases.items():
        assert mend_articles(wrong) == right
    for noun in code_points():
        for text in (f"a {noun}", f"An {noun}"):
            article = "an" if an_before(noun) else "a"
            assert mend_articles(text).lower() == f"{article} {noun}"
    for caption, _ in told_captions(100, nouns=336):
        for article, word in re.findall(r"\b([Aa]n?) (\w+)", caption.text):
            assert article.lower() == ("an" if an_before(word) else "a"), caption.text
