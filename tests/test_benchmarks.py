"""The world's benchmark against an independent reader of captions and still pictures (`world_oracle`)."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from world_oracle import RELATIONS, see, state, still, true

from slipform_core import config
from slipform_core.benchmarks import BENCHMARKS, world_benchmark
from slipform_core.emoji_world import Scene, World, draw, grammar
from slipform_core.sources import WorldSource

PARAMS = Path(__file__).parents[1] / "notebooks/params"
KINDS = {"replace_obj", "replace_att", "replace_size", "replace_rel", "replace_place"}
KINDS |= {"swap_obj", "swap_att", "swap_rel"}
CONVERSE = {"left": "right", "right": "left", "above": "below", "below": "above"}


def experiment(**world):
    sizes = {"nouns": 88, "side": 64, "test_scenes": 80, "three_objects": 0.3, "test_forward": 0.5} | world
    settings = " ".join(f"world.{name}={value}" for name, value in sizes.items())
    return config.load("mini", f"{settings} evaluation.items=60 evaluation.retrieval=20 seed=5", PARAMS)


@pytest.fixture(scope="module")
def quiet():
    """The benchmark drawn without noise."""
    with pytest.MonkeyPatch.context() as patch:
        still(patch)
        return world_benchmark(experiment())


@pytest.fixture(scope="module")
def views(quiet):
    return [see(picture) for picture in quiet.pictures]


def texts(benchmark, subset):
    """(own caption, foil) of each item."""
    return [tuple(benchmark.texts[index] for index in row) for row in benchmark.subsets[subset].captions]


def test_it_is_registered_with_the_kinds_of_sugarcrepe(quiet):
    assert BENCHMARKS["world"] is world_benchmark
    assert quiet.name == "world"
    assert set(quiet.subsets) == KINDS
    for name, items in quiet.subsets.items():
        assert items.pictures.shape == items.captions.shape == (len(items.captions), 2), name
        assert 30 < len(items.captions) <= 60


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_each_caption_is_true_of_its_own_picture_and_of_no_other(quiet, views, kind):
    items = quiet.subsets[kind]
    for pictures, (own, foil) in zip(items.pictures, texts(quiet, kind), strict=True):
        picture, edited = (views[index] for index in pictures)
        truths = true(own, picture), true(foil, picture), true(own, edited), true(foil, edited)
        assert truths == (True, False, False, True), (own, foil)


def difference(own: str, foil: str) -> dict:
    """Part -> (what the caption says, what the foil says), for the parts that differ."""
    parts = []
    for said in map(state, (own, foil)):
        flat = {"relation": said.relation, "side": said.side, "place": said.place, "mood": said.mood}
        for index, thing in enumerate(said.things):
            flat |= {
                f"{part}{index}": value for part, value in zip(("noun", "colour", "size"), thing, strict=True)
            }
        parts.append(flat)
    assert set(parts[0]) == set(parts[1])
    return {part: (value, parts[1][part]) for part, value in parts[0].items() if value != parts[1][part]}


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        ("replace_obj", "noun"),
        ("replace_att", "colour"),
        ("replace_size", "size"),
        ("replace_place", "place"),
    ],
)
def test_a_replacement_changes_one_word_of_its_kind_to_one_that_is_not_shown(quiet, views, kind, part):
    seen = set()
    for pictures, (own, foil) in zip(quiet.subsets[kind].pictures, texts(quiet, kind), strict=True):
        [(slot, (_, put))] = difference(own, foil).items()
        assert slot.startswith(part)
        shown = views[pictures[0]].things
        if part != "place":  # which of the caption's things, and whether it is the left or upper one
            pair = [sum(shown[noun][2:]) for noun, _, _ in state(own).things[:2]]
            seen.add((slot, pair[int(slot[-1])] == min(pair)))
        if part == "noun":
            assert put not in shown
        elif part == "colour":
            assert put not in {thing[0] for thing in shown.values()}
    assert len(seen) == (0 if part == "place" else 4)


@pytest.mark.parametrize(("kind", "part"), [("swap_obj", "noun"), ("swap_att", "colour")])
def test_a_swap_exchanges_the_words_of_the_pair(quiet, kind, part):
    for own, foil in texts(quiet, kind):
        changed = difference(own, foil)
        assert set(changed) == {f"{part}0", f"{part}1"}
        assert changed[f"{part}0"] == changed[f"{part}1"][::-1]
        words = [sorted(re.findall(r"\w+", re.sub(r"\bAn?\b|\ban\b", "a", text))) for text in (own, foil)]
        assert words[0] == words[1]


def test_a_replaced_relation_is_any_other_direction_and_a_swapped_one_the_converse(quiet, views):
    draws = {}
    for kind in ("replace_rel", "swap_rel"):
        draws[kind] = Counter()
        for pictures, (own, foil) in zip(quiet.subsets[kind].pictures, texts(quiet, kind), strict=True):
            [(part, ((first, was, second), (one, now, other)))] = difference(own, foil).items()
            assert part == "relation" and (first, second) == (one, other)
            assert len(views[pictures[0]].things) == 2
            draws[kind][was, now] += 1
    assert set(draws["swap_rel"]) == set(CONVERSE.items())
    directions = set(CONVERSE)
    assert {was for was, _ in draws["replace_rel"]} == directions
    for was in directions:
        assert {now for stated, now in draws["replace_rel"] if stated == was} <= directions - {was}
    turned = sum(count for (was, now), count in draws["replace_rel"].items() if CONVERSE[was] != now)
    assert 0.4 < turned / draws["replace_rel"].total() < 0.9
    said = " ".join(text for pair in texts(quiet, "swap_rel") for text in pair)
    assert all(f" {surface} " in said for surface, means in RELATIONS.items() if means in CONVERSE)


def test_the_noun_pairs_in_relation_are_held_out_on_both_sides(quiet):
    world = World(88, 0.3)
    for kind in KINDS:
        for pair in texts(quiet, kind):
            for text in pair:
                (one, *_), (other, *_) = state(text).things[:2]
                assert world.held_out_pair(one, other), text


def test_an_exchange_that_stays_true_is_no_item(monkeypatch):
    for habit, often in {"and": 1.0, "colour": 0.0, "size": 0.0}.items():
        monkeypatch.setitem(grammar.HABITS, habit, often)
    assert set(world_benchmark(experiment()).subsets) == {"replace_obj", "replace_place"}


def test_scenes_are_those_of_the_test_split():
    benchmark, of = world_benchmark(experiment()), World(88, 0.3)
    scenes = [of.scene("test", index, seed=5) for index in range(80)]
    drawn = {draw(scene, side=64, seed=scene.seed).tobytes() for scene in scenes}
    for items in benchmark.subsets.values():
        own = [benchmark.pictures[index].tobytes() for index in items.pictures[:, 0]]
        assert set(own) <= drawn
        assert len(set(own)) == len(own)
        assert not {benchmark.pictures[index].tobytes() for index in items.pictures[:, 1]} & drawn


def test_every_picture_and_text_is_there_once(quiet):
    benchmark = world_benchmark(experiment())
    assert len({picture.tobytes() for picture in benchmark.pictures}) == len(benchmark.pictures)
    assert len(set(benchmark.texts)) == len(benchmark.texts)
    of_items = benchmark.subsets.values()
    used = {index for items in of_items for index in items.pictures.ravel()} | set(benchmark.retrieval[1])
    assert used == set(range(len(benchmark.pictures)))
    used = {index for items in of_items for index in items.captions.ravel()} | set(benchmark.retrieval[0])
    assert used == set(range(len(benchmark.texts)))


def test_retrieval_is_five_captions_a_picture_each_true_of_it(quiet, views):
    rows, owners = quiet.retrieval
    assert len(rows) == len(owners) == 100
    assert set(Counter(owners.tolist()).values()) == {5} and len(set(owners)) == 20
    for row, owner in zip(rows, owners, strict=True):
        assert true(quiet.texts[row], views[owner])


def test_it_is_a_function_of_the_experiment():
    one, same = world_benchmark(experiment()), world_benchmark(experiment())
    other = world_benchmark(experiment(three_objects=0.31))
    assert one.texts == same.texts and (one.pictures == same.pictures).all()
    for name, items in one.subsets.items():
        assert (items.captions == same.subsets[name].captions).all()
        assert (items.pictures == same.subsets[name].pictures).all()
    assert one.texts != other.texts


@pytest.mark.parametrize(("nouns", "side", "three"), [(12, 64, 0.0), (12, 128, 1.0), (336, 128, 0.3)])
def test_other_sizes_of_the_world_work(monkeypatch, nouns, side, three):
    still(monkeypatch)
    benchmark = world_benchmark(experiment(nouns=nouns, side=side, three_objects=three, test_scenes=25))
    assert benchmark.pictures.shape[1:] == (side, side, 3) and benchmark.pictures.dtype == np.uint8
    missing = {"replace_rel", "swap_rel"} if three == 1 else set()
    assert set(benchmark.subsets) == KINDS - missing
    for kind, items in benchmark.subsets.items():
        for pictures, (own, foil) in list(zip(items.pictures, texts(benchmark, kind), strict=True))[:4]:
            picture, edited = (see(benchmark.pictures[index]) for index in pictures)
            assert true(own, picture) and true(foil, edited)
            assert not true(foil, picture) and not true(own, edited)


def test_the_source_gives_each_split_its_scenes_and_a_picture_one_look():
    source = WorldSource(experiment(pretrain_scenes=30, train_scenes=20, train_forward=1.0))
    for split, count in (("pretrain", 30), ("train", 20), ("test", 80)):
        made = list(source.captions(split))
        assert len(made) == 5 * count
        assert len({caption.image_id for caption in made}) == count
        looks = {(caption.image_id, source.picture(caption).tobytes()) for caption in made[:50]}
        assert len(looks) == 10
    of = Scene.from_json(made[0].scene)
    assert (source.picture(made[0]) == draw(of, side=64, seed=of.seed)).all()
    first = [(state(caption.text).things[0][0], caption.scene["things"][0][0])
             for caption in source.captions("train")]  # fmt: skip
    assert all(said == left for said, left in first)
    assert len(list(source.captions("train", each=2))) == 40


def test_more_nouns_than_there_are_is_a_clear_error():
    with pytest.raises(ValueError, match="the world has 336 nouns, 1000 were asked for"):
        world_benchmark(experiment(nouns=1000))
