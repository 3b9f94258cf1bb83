"""The world's benchmark as a whole: subsets, pictures and texts once, retrieval, other sizes, the source."""

from collections import Counter

import numpy as np
import pytest
from world_items import ADDED, KINDS, TRIPLES, experiment, pictured, still_benchmark, still_views
from world_oracle import see, state, still, true

from slipform_core.benchmarks import BENCHMARKS, world_benchmark
from slipform_core.emoji_world import Scene, World, draw
from slipform_core.sources import WorldSource

SUBSETS = {f"sugarcrepe/{kind}" for kind in KINDS} | {f"scpp/{kind}" for kind in TRIPLES}
SUBSETS |= {"winoground/swap_obj", "winoground/swap_att"}

quiet = pytest.fixture(scope="module")(still_benchmark)
views = pytest.fixture(scope="module")(still_views)


def test_it_is_registered_with_the_kinds_of_sugarcrepe_and_what_is_made_of_them(quiet):
    assert BENCHMARKS["world"] is world_benchmark
    assert quiet.name == "world"
    assert set(quiet.subsets) == SUBSETS
    for name, items in quiet.subsets.items():
        shape = (1, 3) if name.startswith("scpp") else (2, 2)
        count = len(items.captions)
        assert (items.pictures.shape, items.captions.shape) == ((count, shape[0]), (count, shape[1])), name
        assert items.clusters.shape == (count,) == (len(items.words),)
        assert 30 < count <= 60


def test_the_swaps_are_winogrounds_pairs_too(quiet):
    for kind in ("swap_obj", "swap_att"):
        one, other = quiet.subsets[f"sugarcrepe/{kind}"], quiet.subsets[f"winoground/{kind}"]
        for part in ("pictures", "captions", "clusters"):
            assert (getattr(one, part) == getattr(other, part)).all()
        assert one.words == other.words


def test_the_scene_of_an_item_is_the_one_of_its_picture():
    benchmark, of = world_benchmark(experiment()), World(88, 0.3)
    for items in benchmark.subsets.values():
        assert (np.diff(items.clusters) > 0).all()
        for index, [picture, *_] in list(zip(items.clusters, items.pictures, strict=True))[::7]:
            scene = of.scene("test", int(index), seed=5)
            assert (draw(scene, side=64, seed=scene.seed) == benchmark.pictures[picture]).all()


def test_scenes_are_those_of_the_test_split():
    benchmark, of = world_benchmark(experiment()), World(88, 0.3)
    scenes = [of.scene("test", index, seed=5) for index in range(80)]
    drawn = {draw(scene, side=64, seed=scene.seed).tobytes() for scene in scenes}
    for items in benchmark.subsets.values():
        own = [benchmark.pictures[index].tobytes() for index in items.pictures[:, 0]]
        assert set(own) <= drawn
        assert len(set(own)) == len(own)
        assert not {benchmark.pictures[index].tobytes() for index in items.pictures[:, 1:].ravel()} & drawn


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
    queries, owners = quiet.retrieval
    assert len(queries) == len(owners) == 100
    assert set(Counter(owners.tolist()).values()) == {5} and len(set(owners)) == 20
    for row, owner in zip(queries, owners, strict=True):
        assert true(quiet.texts[row], views[owner])


def test_it_is_a_function_of_the_experiment():
    one, same = world_benchmark(experiment()), world_benchmark(experiment())
    other = world_benchmark(experiment(three_objects=0.31))
    assert one.texts == same.texts and (one.pictures == same.pictures).all()
    for name, items in one.subsets.items():
        assert (items.captions == same.subsets[name].captions).all()
        assert (items.pictures == same.subsets[name].pictures).all()
        assert (items.clusters == same.subsets[name].clusters).all() and items.words == same.subsets[
            name
        ].words
    assert one.texts != other.texts


@pytest.mark.parametrize(("nouns", "side", "three"), [(12, 64, 0.0), (12, 128, 1.0), (336, 128, 0.3)])
def test_other_sizes_of_the_world_work(monkeypatch, nouns, side, three):
    still(monkeypatch)
    benchmark = world_benchmark(experiment(nouns=nouns, side=side, three_objects=three, test_scenes=25))
    assert benchmark.pictures.shape[1:] == (side, side, 3) and benchmark.pictures.dtype == np.uint8
    of_pairs = ("replace_rel", "swap_rel", "add_obj")  # of scenes of two things
    assert set(benchmark.subsets) == {name for name in SUBSETS if three < 1 or not name.endswith(of_pairs)}
    for kind in KINDS & {name.split("/")[1] for name in benchmark.subsets}:
        for pictures, (own, foil) in list(pictured(benchmark, kind))[:4]:
            picture, edited = (see(benchmark.pictures[index]) for index in pictures)
            assert true(own, picture) and true(foil, edited)
            assert not true(foil, picture) and true(own, edited) == (kind in ADDED)


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
