"""A benchmark without some pictures, against one that never had them."""

from dataclasses import replace

import numpy as np
import pytest

from slipform_core.benchmarks import Benchmark, Items, Photo, without
from slipform_core.evaluation import score
from slipform_core.mistakes import Mistake

LOST = (1, 4)


def made(kept: list[int]) -> Benchmark:
    """Of six pictures those that are kept: an item of each and its neighbour, two captions of each."""
    place = {picture: number for number, picture in enumerate(kept)}
    rows = [n for n in range(6) if n in place and (n + 1) % 6 in place]
    pairs = Items(
        np.array([[place[n], place[(n + 1) % 6]] for n in rows]),
        np.array([[n, (n + 1) % 6] for n in rows]),
        np.array(rows),
        "winoground",
        tuple(f"w{n}" for n in rows),
    )
    texts = np.array([text for text in range(12) if text % 6 in place])
    owners = np.array([place[text % 6] for text in texts])
    pictures = tuple(Photo(f"{n}.png") for n in kept)
    return Benchmark("own", pictures, tuple(f"t{n}" for n in range(12)), {"own/all": pairs}, (texts, owners))


def test_it_is_the_benchmark_that_never_had_them() -> None:
    rows = [n for n in range(6) if n not in LOST]
    whole, expected = made(list(range(6))), made(rows)
    found = without(whole, {f"{n}.png" for n in LOST}, "damaged")
    kept = [text for text in range(12) if text % 6 in rows]
    assert found.pictures == expected.pictures and found.texts == tuple(f"t{n}" for n in kept)
    assert found.subsets["own/all"].words == expected.subsets["own/all"].words == ("w2", "w5")
    assert found.subsets["own/all"].clusters.tolist() == [2, 5]
    # Of six items four show a lost picture; two captions each go with the two.
    assert found.left_out == {"damaged": 4 + 4} and not whole.left_out
    rng = np.random.default_rng(0)
    images, texts = rng.normal(size=(6, 8))[rows], rng.normal(size=(12, 8))
    one, other = score(found, images, texts[kept]).outcomes, score(expected, images, texts).outcomes
    assert one.keys() == other.keys()
    for key, by_metric in other.items():
        for metric, right in by_metric.items():
            assert one[key][metric].tolist() == right.tolist()


def test_what_only_a_lost_item_asked_for_is_not_encoded() -> None:
    found = without(replace(made(list(range(6))), retrieval=None), {"2.png", "4.png"}, "damaged")
    assert [photo.place for photo in found.pictures] == ["0.png", "1.png", "5.png"]
    assert found.texts == ("t0", "t1", "t5") and found.retrieval is None
    assert found.subsets["own/all"].pictures.tolist() == [[0, 1], [2, 0]]


def test_nothing_lost_is_the_same_and_nothing_left_a_mistake() -> None:
    whole = made(list(range(6)))
    assert without(whole, {"other.png"}, "damaged") is whole
    with pytest.raises(Mistake, match="benchmark own: nothing is left, 18 items: damaged"):
        without(whole, {f"{n}.png" for n in range(6)}, "damaged")
