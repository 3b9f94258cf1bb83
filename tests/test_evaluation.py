"""Evaluation against slow loops; ties, NaN, chance, and each picture and text encoded once."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from slipform_core.benchmarks import Benchmark, Items
from slipform_core.evaluation import RECALLS, embed, evaluate

WIDTH = 16


class Lookup:
    """A model whose features are rows of two tables, found by a picture's pixel value and a text's number."""

    def __init__(self, images: torch.Tensor, texts: torch.Tensor):
        self.images, self.texts = images, texts
        self.seen: dict[str, list[int]] = {"picture": [], "text": []}

    def tokenize(self, texts) -> torch.Tensor:
        return torch.tensor([[int(text)] for text in texts])

    def encode_image(self, pictures: np.ndarray) -> torch.Tensor:
        assert not torch.is_grad_enabled()
        rows = pictures[:, 0, 0, 0].tolist()
        self.seen["picture"] += rows
        return self.images[rows]

    def encode_text(self, tokens: torch.Tensor) -> torch.Tensor:
        rows = tokens[:, 0].tolist()
        self.seen["text"] += rows
        return self.texts[rows]


def unit(count: int, seed: int) -> torch.Tensor:
    return normalize(torch.randn(count, WIDTH, generator=torch.Generator().manual_seed(seed)), dim=-1)


def benchmark(pictures: int, texts: int, items: int, seed: int = 0) -> Benchmark:
    """Random items; for retrieval, the texts are shared out to two thirds of the pictures, some to none."""
    rng = np.random.default_rng(seed)
    pixels = np.tile(np.arange(pictures, dtype=np.uint8)[:, None, None, None], (1, 2, 2, 3))

    def pairs(count: int) -> np.ndarray:
        return np.array([rng.choice(count, 2, replace=False) for _ in range(items)])

    subsets = {name: Items(pairs(pictures), pairs(texts)) for name in ("replace", "swap")}
    queries = rng.permutation(texts)[: texts - 3]
    retrieval = (queries, rng.choice(np.arange(0, pictures * 2 // 3), len(queries)))
    return Benchmark("world", pixels, tuple(str(i) for i in range(texts)), subsets, retrieval)


def score_table(scores) -> dict[tuple[str, str], float]:
    assert len({(score.subset, score.metric) for score in scores}) == len(scores)
    return {(score.subset, score.metric): score.value for score in scores}


def slow_items(clip: Lookup, items: Items) -> dict[str, float]:
    right = {"i2t": 0, "t2i": 0, "group": 0, "ties": 0}
    for (p0, p1), (c0, c1) in zip(items.pictures, items.captions, strict=True):
        s = [[float(clip.images[p].double() @ clip.texts[c].double()) for c in (c0, c1)] for p in (p0, p1)]
        right["i2t"] += s[0][0] > s[0][1]
        right["t2i"] += s[0][0] > s[1][0]
        text, image = s[0][0] > s[0][1] and s[1][1] > s[1][0], s[0][0] > s[1][0] and s[1][1] > s[0][1]
        right["group"] += text and image
        right["ties"] += s[0][0] == s[0][1]
    return {metric: count / len(items.captions) for metric, count in right.items()}


def slow_retrieval(clip: Lookup, given: Benchmark) -> dict[str, float]:
    """Found at k: fewer than k wrong candidates score at least as high as the best right one."""
    links = list(zip(*(part.tolist() for part in given.retrieval), strict=True))
    candidates, found = sorted({owner for _, owner in links}), {}
    ranks: dict[str, list[int]] = {"t2i": [], "i2t": []}
    for text, owner in links:
        row = {picture: float(clip.texts[text] @ clip.images[picture]) for picture in candidates}
        ranks["t2i"].append(sum(row[p] >= row[owner] for p in candidates if p != owner))
    for picture in candidates:
        row = [(float(clip.texts[text] @ clip.images[picture]), owner == picture) for text, owner in links]
        best = max(value for value, own in row if own)
        ranks["i2t"].append(sum(value >= best for value, own in row if not own))
    for way, places in ranks.items():
        for k in RECALLS:
            found[f"{way}_r{k}"] = sum(place < k for place in places) / len(places)
    return found


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_scores_are_those_of_the_item_by_item_loop(batch: int) -> None:
    given = benchmark(pictures=30, texts=50, items=40)
    clip = Lookup(unit(30, 1), unit(50, 2))
    scores = evaluate(clip, given, batch=batch)
    expected = {
        (subset, metric): value
        for subset, items in given.subsets.items()
        for metric, value in slow_items(clip, items).items()
    } | {("retrieval", metric): value for metric, value in slow_retrieval(clip, given).items()}
    assert score_table(scores) == pytest.approx(expected)
    assert 0 < expected["swap", "group"] < 0.5 and 0 < expected["retrieval", "t2i_r5"] < 1
    for score in scores:
        candidates = len(set(given.retrieval[1].tolist()))
        counts = {"t2i": len(given.retrieval[0]), "i2t": candidates}
        assert score.benchmark == "world"
        assert score.count == (counts[score.metric[:3]] if score.subset == "retrieval" else 40)
        spread = 0 if score.metric == "ties" else math.sqrt(score.value * (1 - score.value) / score.count)
        assert score.stderr == pytest.approx(spread)


def test_each_picture_and_text_is_encoded_once() -> None:
    given, clip = benchmark(30, 50, items=40), Lookup(unit(30, 1), unit(50, 2))
    evaluate(clip, given, batch=8)
    assert clip.seen == {"picture": list(range(30)), "text": list(range(50))}


def test_a_caption_that_two_pictures_share_counts_for_both() -> None:
    images = torch.eye(WIDTH)[:3]
    texts = normalize(torch.eye(WIDTH)[:4] + torch.eye(WIDTH)[[0, 0, 1, 2]], dim=-1)
    pixels = benchmark(3, 4, items=1).pictures
    # Text 0 is a caption of pictures 0 and 1: as a query of picture 1 it finds picture 0 first.
    shared = Benchmark(
        "world", pixels, ("0", "1", "2", "3"), {}, (np.array([0, 1, 0, 2, 3]), np.array([0, 0, 1, 1, 2]))
    )
    clip = Lookup(images, texts)
    scores = score_table(evaluate(clip, shared, batch=2))
    assert scores == pytest.approx(
        {("retrieval", metric): value for metric, value in slow_retrieval(clip, shared).items()}
    )
    assert scores["retrieval", "t2i_r1"] < 1 == scores["retrieval", "t2i_r5"]


def test_a_perfect_model_scores_one() -> None:
    given = benchmark(pictures=12, texts=12, items=1)
    diagonal = np.stack([np.arange(0, 12, 2), np.arange(1, 12, 2)], axis=1)
    given = replace(
        given, subsets={"swap": Items(diagonal, diagonal)}, retrieval=(np.arange(12), np.arange(12))
    )
    table = score_table(evaluate(Lookup(torch.eye(12), torch.eye(12)), given, batch=5))
    assert table.pop(("swap", "ties")) == 0
    assert set(table.values()) == {1.0} and len(table) == 9


@pytest.mark.parametrize("collapsed", ["images", "texts", "both"])
def test_a_collapsed_model_scores_nothing(collapsed: str) -> None:
    given = benchmark(pictures=30, texts=50, items=40)
    images, texts = unit(30, 1), unit(50, 2)
    if collapsed in ("images", "both"):
        images = images[:1].expand(30, -1)
    if collapsed in ("texts", "both"):
        texts = texts[:1].expand(50, -1)
    table = score_table(evaluate(Lookup(images, texts), given, batch=16))
    for subset in given.subsets:
        assert table[subset, "group"] == 0
        if collapsed != "images":
            assert table[subset, "i2t"] == 0 and table[subset, "ties"] == 1
        if collapsed != "texts":
            assert table[subset, "t2i"] == 0
    if collapsed == "both":
        assert {value for (subset, _), value in table.items() if subset == "retrieval"} == {0.0}


@pytest.mark.parametrize("broken", ["images", "texts"])
def test_a_model_that_gives_nan_is_an_error(broken: str) -> None:
    tables = {"images": unit(30, 1), "texts": unit(50, 2)}
    tables[broken][3] = math.nan
    given = benchmark(pictures=30, texts=50, items=40)
    retrieved = given.retrieval[1 if broken == "images" else 0]
    assert any(
        3 in getattr(items, kind) for items in given.subsets.values() for kind in ("pictures", "captions")
    )
    with pytest.raises(ValueError, match="NaN"):
        evaluate(Lookup(**tables), given, batch=16)
    assert 3 in retrieved
    with pytest.raises(ValueError, match="NaN"):
        evaluate(Lookup(**tables), replace(given, subsets={}), batch=16)


def test_a_random_model_is_near_chance() -> None:
    given = benchmark(pictures=200, texts=240, items=2000)
    clip = Lookup(unit(200, 1), unit(240, 2))
    scores = evaluate(clip, given, batch=64)
    # Of the 24 orders of an item's four scores, four are right for the group.
    chance = {"i2t": 1 / 2, "t2i": 1 / 2, "group": 1 / 6, "ties": 0}
    for score in scores:
        if score.subset == "retrieval":
            continue
        # Items share pictures and texts, so that they are not independent: four standard errors, doubled.
        assert abs(score.value - chance[score.metric]) <= 8 * math.sqrt(0.25 / score.count) * (
            score.metric != "ties"
        )
    table = score_table(scores)
    candidates = len(set(given.retrieval[1].tolist()))
    assert abs(table["retrieval", "t2i_r10"] - 10 / candidates) < 5 * math.sqrt(0.1 / 237)


def test_features_of_a_narrow_type_are_widened_before_they_are_compared() -> None:
    given = benchmark(pictures=30, texts=50, items=40)
    images, texts = embed(Lookup(unit(30, 1).bfloat16(), unit(50, 2).bfloat16()), given, batch=16)
    assert images.dtype == texts.dtype == np.float32
    assert images.shape == (30, WIDTH) and texts.shape == (50, WIDTH)
