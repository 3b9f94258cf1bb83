"""Warnings of scores that chance explains."""

import numpy as np

from slipform_core import evaluation
from slipform_core.benchmarks import Benchmark, Items, Photo
from slipform_core.evaluation.chance import chance_warning
from slipform_core.metrics import SEVEN
from slipform_core.records import Score


def items(captions: int, rule: str = "choice") -> Items:
    return Items(np.zeros((1, 1), dtype=int), np.arange(captions)[None], np.zeros(1, dtype=int), rule)


SUBSETS = dict.fromkeys(("own/all", *(f"sugarcrepe/{name}" for name in SEVEN)), items(2))
SUBSETS |= dict.fromkeys((f"scpp/{name}" for name in SEVEN), items(3, "scpp")) | {"aro/order": items(5)}


def made(name: str, metric: str, value: float, count: int = 400) -> Score:
    return Score(*name.split("/"), metric, value, count, float(np.sqrt(value * (1 - value) / count)))


def test_a_score_that_chance_explains_gets_a_line():
    scores = [
        made("retrieval/coco", "t2i_r1", 0.0019, 5000),
        made("retrieval/coco", "i2t_r1", 0.0021, 1000),
        made("retrieval/coco", "t2i_r5", 0.0019, 5000),
        made("sugarcrepe/swap_obj", "i2t", 0.54),
        made("sugarcrepe/swap_att", "i2t", 0.56),
        made("sugarcrepe/add_obj", "i2t", 0.0),
        made("sugarcrepe/add_obj", "ties", 0.0),
        made("scpp/swap_obj", "itt", 0.37),
        made("scpp/swap_att", "itt", 0.39),
        made("scpp/swap_att", "tot", 0.33),
        made("aro/order", "i2t", 0.22),
        made("winoground/all", "text", 0.25),
    ]
    lines = chance_warning(scores, SUBSETS)
    assert [line.split(":")[0] for line in lines] == [
        "retrieval/coco t2i_r1 is 0.19%, chance 0.10%",
        "sugarcrepe/swap_obj i2t is 54.00%, chance 50.00%",
        "sugarcrepe/add_obj i2t is 0.00%, chance 50.00%",
        "scpp/swap_obj itt is 37.00%, chance 33.33%",
        "aro/order i2t is 22.00%, chance 20.00%",
    ]
    assert all("loaded wrongly (activation, preprocessing, tokenizer)" in line for line in lines)
    assert chance_warning([], SUBSETS) == []
    tied = [*scores[:2], made("retrieval/coco", "t2i_ties", 1.0, 5000)]
    assert chance_warning(tied, SUBSETS) == [
        "retrieval/coco t2i_r1 is 0.19%, chance 0.10%: 100% of the comparisons are ties"
    ]
    of_one = [Score("own", "all", "i2t", value, 200, float("nan")) for value in (0.5, 0.51)]
    assert [len(chance_warning([each], SUBSETS)) for each in of_one] == [1, 0]


def test_chance_on_few_items_accuses_no_model() -> None:
    scores = [Score("own", "all", "i2t", 0.75, count, 0.15) for count in (8, 800)]
    few, many = (chance_warning([each], SUBSETS)[0] for each in scores)
    assert few.endswith("8 are too few to tell") and "loaded wrongly" in many


def test_a_random_model_is_warned_of_and_a_good_one_is_not():
    rng = np.random.default_rng(0)
    captions = np.stack([np.arange(200), np.roll(np.arange(200), 1)], 1)
    every = Items(np.arange(200)[:, None], captions, np.arange(200), "choice")
    retrieval = np.arange(200), np.arange(200)
    benchmark = Benchmark(
        "own", [Photo("")] * 200, tuple(map(str, range(200))), {"own/all": every}, retrieval
    )

    def unit(seed: int) -> np.ndarray:
        vectors = np.random.default_rng(seed).normal(size=(200, 64))
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    lines = chance_warning(evaluation.score(benchmark, unit(0), unit(1)).scores, benchmark.subsets)
    assert any(line.startswith("own/all i2t") for line in lines)
    collapsed = chance_warning(
        evaluation.score(benchmark, unit(0)[:1].repeat(200, 0), unit(1)[:1].repeat(200, 0)).scores,
        benchmark.subsets,
    )
    assert [line.split(" is")[0] for line in collapsed] == [
        "own/all i2t", "retrieval/own t2i_r1", "retrieval/own i2t_r1"]  # fmt: skip
    good = unit(0) + 0.05 * rng.normal(size=(200, 64))
    assert chance_warning(evaluation.score(benchmark, unit(0), good).scores, benchmark.subsets) == []
