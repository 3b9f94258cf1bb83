"""Evaluation against slow loops; ties, NaN, chance, and each picture and text encoded once."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from statsmodels.stats.contingency_tables import mcnemar
from torch.nn.functional import normalize

from slipform_core.benchmarks import Benchmark, Items
from slipform_core.evaluation import RECALLS, averages, embed, evaluate, scores, zero_shot_accuracy
from slipform_core.metrics import macro_average, macro_of
from slipform_core.records import Score

WIDTH = 16
RULE = {"sugarcrepe": "pairs", "scpp": "scpp", "winoground": "winoground"}
RETRIEVAL = "retrieval/world"
SUBSETS = {"sugarcrepe/replace_obj": (2, 2), "sugarcrepe/swap_obj": (2, 2)}  # pictures, captions of an item
SUBSETS |= {"scpp/swap_obj": (1, 3), "winoground/swap_obj": (2, 2)}


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

    def some(count: int, each: int) -> np.ndarray:
        return np.array([rng.choice(count, each, replace=False) for _ in range(items)])

    subsets = {
        name: Items(
            some(pictures, one),
            some(texts, other),
            np.arange(items),
            RULE[name.split("/")[0]],
        )
        for name, (one, other) in SUBSETS.items()
    }
    queries = rng.permutation(texts)[: texts - 3]
    retrieval = (queries, rng.choice(np.arange(0, pictures * 2 // 3), len(queries)))
    return Benchmark("world", pixels, tuple(str(i) for i in range(texts)), subsets, retrieval)


def score_table(scores: list[Score]) -> dict[tuple[str, str], float]:
    """("benchmark/subset", metric) -> value."""
    assert len({(score.benchmark, score.subset, score.metric) for score in scores}) == len(scores)
    return {(f"{score.benchmark}/{score.subset}", score.metric): score.value for score in scores}


def slow_pair(clip: Lookup, pictures, captions) -> tuple[dict[str, bool], list[bool]]:
    """Which of the metrics an item of two pictures and two captions has, and which of its comparisons tie."""
    s = [[float(clip.images[p].double() @ clip.texts[c].double()) for c in captions] for p in pictures]
    text, image = s[0][0] > s[0][1] and s[1][1] > s[1][0], s[0][0] > s[1][0] and s[1][1] > s[0][1]
    right = {"i2t": s[0][0] > s[0][1], "t2i": s[0][0] > s[1][0], "group": text and image}
    ties = [s[0][0] == s[0][1], s[1][1] == s[1][0], s[0][0] == s[1][0], s[1][1] == s[0][1]]
    return right | {"text": text, "image": image}, ties


def slow_triple(clip: Lookup, picture, captions) -> tuple[dict[str, bool], list[bool]]:
    one, two, foil = (float(clip.images[picture].double() @ clip.texts[c].double()) for c in captions)
    p1, p2, n = (clip.texts[c].double() for c in captions)
    same, far, further = float(p1 @ p2), float(p1 @ n), float(p2 @ n)
    right = {"itt": one > foil and two > foil, "tot": same > far and same > further}
    return right, [one == foil, two == foil, same == far, same == further]


METRICS = {"sugarcrepe": ("i2t", "t2i", "group"), "scpp": ("itt", "tot")}
METRICS |= {"winoground": ("text", "image", "group")}


def slow_items(clip: Lookup, name: str, items: Items) -> tuple[dict[str, list[bool]], float]:
    """Outcomes by metric, and the share of ties: of i2t's comparison for sugarcrepe, else of all four."""
    kind = name.split("/")[0]
    found, tied = {metric: [] for metric in METRICS[kind]}, []
    for pictures, captions in zip(items.pictures, items.captions, strict=True):
        slow = (
            slow_triple(clip, *pictures, captions) if kind == "scpp" else slow_pair(clip, pictures, captions)
        )
        for metric in found:
            found[metric].append(slow[0][metric])
        tied += slow[1][:1] if kind == "sugarcrepe" else slow[1]
    return found, sum(tied) / len(tied)


def slow_precision(row: list[tuple[float, bool]]) -> float:
    """Down the ranking, negatives first among equals, the mean of the precision at each positive."""
    hits, total = 0, 0.0
    for place, (_, own) in enumerate(sorted(row, key=lambda pair: (-pair[0], pair[1])), 1):
        hits += own
        total += own * hits / place
    return total / hits


def slow_retrieval(clip: Lookup, given: Benchmark) -> dict[str, float]:
    """Found at k: fewer than k wrong candidates score at least as high as the best right one."""
    links = list(zip(*(part.tolist() for part in given.retrieval), strict=True))
    candidates, found = sorted({owner for _, owner in links}), {}
    ranks: dict[str, list[int]] = {"t2i": [], "i2t": []}
    precisions: dict[str, list[float]] = {"t2i": [], "i2t": []}
    ties: dict[str, list[bool]] = {"t2i": [], "i2t": []}
    wrong: dict[str, list[int]] = {"t2i": [], "i2t": []}
    for text, owner in links:
        row = {picture: float(clip.texts[text] @ clip.images[picture]) for picture in candidates}
        ranks["t2i"].append(sum(row[p] >= row[owner] for p in candidates if p != owner))
        precisions["t2i"].append(slow_precision([(row[p], p == owner) for p in candidates]))
        ties["t2i"].append(max(row[p] for p in candidates if p != owner) == row[owner])
        wrong["t2i"].append(len(candidates) - 1)
    for picture in candidates:
        row = [(float(clip.texts[text] @ clip.images[picture]), owner == picture) for text, owner in links]
        best = max(value for value, own in row if own)
        ranks["i2t"].append(sum(value >= best for value, own in row if not own))
        precisions["i2t"].append(slow_precision(row))
        ties["i2t"].append(max(value for value, own in row if not own) == best)
        wrong["i2t"].append(sum(not own for _, own in row))
    for way, places in ranks.items():
        found[f"{way}_map"] = sum(precisions[way]) / len(places)
        found[f"{way}_ties"] = sum(ties[way]) / len(places)
        for k in (k for k in RECALLS if k == 1 or k <= min(wrong[way])):
            found[f"{way}_r{k}"] = sum(place < k for place in places) / len(places)
    return found


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_scores_are_those_of_the_item_by_item_loop(batch: int) -> None:
    given = benchmark(pictures=30, texts=50, items=40)
    clip = Lookup(unit(30, 1), unit(50, 2))
    evaluation = evaluate(clip, given, batch=batch)
    expected = {(RETRIEVAL, metric): value for metric, value in slow_retrieval(clip, given).items()}
    for name, items in given.subsets.items():
        found, tied = slow_items(clip, name, items)
        assert {metric: right.tolist() for metric, right in evaluation.outcomes[name].items()} == found
        assert all(right.dtype == bool for right in evaluation.outcomes[name].values())
        expected |= {(name, metric): np.mean(right) for metric, right in found.items()} | {
            (name, "ties"): tied
        }
    assert score_table(evaluation.scores) == pytest.approx(expected)
    assert all(
        0 < value < 0.7 for (name, metric), value in expected.items() if metric in ("group", "itt", "tot")
    )
    assert 0 < expected[RETRIEVAL, "t2i_r5"] < 1


def test_each_score_has_its_count_and_standard_error() -> None:
    given = benchmark(pictures=30, texts=50, items=40)
    candidates = len(set(given.retrieval[1].tolist()))
    counts = {"t2i": len(given.retrieval[0]), "i2t": candidates}
    evaluation = evaluate(Lookup(unit(30, 1), unit(50, 2)), given, batch=16)
    for score in evaluation.scores:
        spread = math.sqrt(score.value * (1 - score.value) / score.count)
        if score.metric.startswith("t2i_r"):  # the captions of a picture are one observation
            right = evaluation.outcomes[RETRIEVAL][score.metric]
            own = [right[given.retrieval[1] == picture] for picture in set(given.retrieval[1].tolist())]
            spread = math.sqrt(sum((part - right.mean()).sum() ** 2 for part in own)) / len(right)
        # an average precision is no proportion; of values in 0..1 those of 0 and 1 spread most
        assert score.stderr == pytest.approx(spread) or score.stderr > 0 and "map" in score.metric
        if score.benchmark == "retrieval":
            assert (score.subset, score.count) == ("world", counts[score.metric[:3]])
        else:
            of_all = score.metric == "ties" and score.benchmark != "sugarcrepe"
            assert score.count == (4 * 40 if of_all else 40)


def test_outcomes_of_retrieval_are_in_the_order_of_its_texts_and_of_their_pictures() -> None:
    owners = np.array([7, 7, 2, 2, 9, 9])  # 2 and 9 alike: neither is found first
    images, texts = torch.eye(WIDTH)[:10], torch.eye(WIDTH)[owners]
    images[2] = texts[2] = texts[3] = images[9]
    given = replace(benchmark(10, 6, items=1), subsets={}, retrieval=(np.arange(6), owners))
    found = evaluate(Lookup(images, texts), given, batch=4).outcomes[RETRIEVAL]
    assert set(found) == {"t2i_r1", "i2t_r1"}  # among two and four wrong ones, any model is right within 5
    assert found["t2i_r1"].tolist() == [True, True, False, False, False, False]
    assert found["i2t_r1"].tolist() == [True, False, False]


def test_of_several_captions_the_own_one_beats_all(monkeypatch) -> None:
    """As ARO's order: five captions of a picture; in blocks of items, as at once."""
    rng = np.random.default_rng(0)
    captions = np.array([rng.choice(50, 5, replace=False) for _ in range(200)])
    items = Items(rng.integers(30, size=(200, 1)), captions, np.arange(200), "choice")
    clip, texts = Lookup(unit(30, 1), unit(50, 2)), unit(50, 2)
    texts[25:] = texts[:25]  # exact ties
    clip.texts = texts
    given = replace(benchmark(30, 50, items=1), subsets={"aro/order": items}, retrieval=None)
    slow = []
    for [picture], options in zip(items.pictures, items.captions, strict=True):
        own, *others = (float(clip.images[picture].double() @ texts[c].double()) for c in options)
        slow.append(all(own > other for other in others))
    for cells in (1, 700, 1 << 24):
        monkeypatch.setattr(scores, "CELLS", cells)
        evaluation = evaluate(clip, given, batch=16)
        assert evaluation.outcomes["aro/order"]["i2t"].tolist() == slow
        assert [score.metric for score in evaluation.scores] == ["i2t", "ties"]
    assert 0 < sum(slow) < 80 and evaluation.scores[1].value > 0


def test_a_pictures_ties_are_one_observation() -> None:
    """Of ten pictures each has four items; all four comparisons of the items of two of them tie."""
    images, texts = unit(10, 1), unit(40, 2)
    texts[:16:2] = texts[1:16:2]
    images[2:4] = images[:1]
    images[1], images[3] = images[0], images[2]
    own = np.arange(40) // 4
    others = np.where(own < 4, own ^ 1, (own + 1) % 10)
    captions = np.stack([np.arange(40), np.arange(40) ^ 1], axis=1)
    for rule, pictures in (("winoground", np.stack([own, others], axis=1)), ("choice", own[:, None])):
        items = Items(pictures, captions, own, rule)
        given = replace(benchmark(10, 40, items=1), subsets={f"{rule}/all": items}, retrieval=None)
        *_, ties = evaluate(Lookup(images, texts), given, batch=16).scores
        assert (ties.metric, ties.count) == ("ties", 160 if rule == "winoground" else 40)
        assert ties.value == 0.4
        assert ties.stderr == pytest.approx(math.sqrt(0.4 * 0.6 / 10))


def test_an_unknown_rule_is_refused() -> None:
    given = benchmark(pictures=30, texts=50, items=4)
    items = replace(given.subsets["sugarcrepe/swap_obj"], rule="best")
    given = replace(given, subsets={"aro/swap": items})
    with pytest.raises(ValueError, match="unknown rule 'best'; the rules are: choice, pairs, scpp"):
        evaluate(Lookup(unit(30, 1), unit(50, 2)), given, batch=8)


def macro(scores):
    return macro_of({f"{score.benchmark}/{score.subset}/{score.metric}": score.value for score in scores})


def test_the_macro_average_is_the_papers_of_the_means_of_subsets() -> None:
    given = benchmark(pictures=30, texts=50, items=40)
    scores = evaluate(Lookup(unit(30, 1), unit(50, 2)), given, batch=16).scores
    table = score_table(scores)
    sugarcrepe = (table["sugarcrepe/replace_obj", "i2t"] + table["sugarcrepe/swap_obj", "i2t"]) / 2
    others = [table["scpp/swap_obj", metric] for metric in METRICS["scpp"]]
    others += [table["winoground/swap_obj", metric] for metric in METRICS["winoground"]]
    assert macro(scores) == pytest.approx(macro_average(sugarcrepe, *others))
    assert macro([score for score in scores if score.benchmark != "scpp"]) is None


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
    scores = score_table(evaluate(clip, shared, batch=2).scores)
    assert scores == pytest.approx(
        {(RETRIEVAL, metric): value for metric, value in slow_retrieval(clip, shared).items()}
    )
    assert scores[RETRIEVAL, "t2i_r1"] < 1 and (RETRIEVAL, "t2i_r5") not in scores


def test_a_perfect_model_scores_one() -> None:
    given = benchmark(pictures=12, texts=12, items=1)
    # Six items of two pictures; a caption's paraphrase, text 12 + i, has the same features.
    own, scenes = np.arange(12).reshape(6, 2), np.arange(6)
    triples = np.stack([own[:, 0], own[:, 0] + 12, own[:, 1]], axis=1)
    pairs = Items(own, own, scenes, "pairs")
    subsets = {
        "sugarcrepe/swap_obj": pairs,
        "scpp/swap_obj": Items(own[:, :1], triples, scenes, "scpp"),
    }
    given = replace(
        given,
        texts=tuple(str(i) for i in range(24)),
        subsets=subsets | {"winoground/swap_obj": replace(pairs, rule="winoground")},
        retrieval=(np.arange(12), np.arange(12)),
    )
    evaluation = evaluate(Lookup(torch.eye(12), torch.eye(12).repeat(2, 1)), given, batch=5)
    table = score_table(evaluation.scores)
    assert [table.pop((subset, "ties")) for subset in given.subsets] == [0, 0, 0]
    assert [table.pop((RETRIEVAL, f"{way}_ties")) for way in ("t2i", "i2t")] == [0, 0]
    assert set(table.values()) == {1.0} and len(table) == 3 + 2 + 3 + 8
    assert macro(evaluation.scores) == 1


@pytest.mark.parametrize("collapsed", ["images", "texts", "both"])
def test_a_collapsed_model_scores_nothing(collapsed: str) -> None:
    given = benchmark(pictures=30, texts=50, items=40)
    images, texts = unit(30, 1), unit(50, 2)
    if collapsed in ("images", "both"):
        images = images[:1].expand(30, -1)
    if collapsed in ("texts", "both"):
        texts = texts[:1].expand(50, -1)
    table = score_table(evaluate(Lookup(images, texts), given, batch=16).scores)
    nothing = {"images": {"t2i", "image", "group"}, "texts": {"i2t", "text", "group", "itt", "tot"}}
    nothing["both"] = nothing["images"] | nothing["texts"]
    by_metric = [(metric, value) for (subset, metric), value in table.items() if subset != RETRIEVAL]
    assert nothing[collapsed] <= {metric for metric, _ in by_metric}
    assert {value for metric, value in by_metric if metric in nothing[collapsed]} == {0.0}
    # Two of Winoground's four comparisons of an item are between captions, and all of SugarCrepe++'s.
    half, whole = (0.5 if collapsed != "both" else 1), (collapsed != "images")
    ties = {"sugarcrepe": whole, "winoground": half, "scpp": whole}
    for subset in given.subsets:
        assert table[subset, "ties"] == ties[subset.split("/")[0]]
    if collapsed == "both":
        recalls = {metric for subset, metric in table if subset == RETRIEVAL and "_r" in metric}
        assert {table[RETRIEVAL, metric] for metric in recalls} == {0.0}
        assert table[RETRIEVAL, "t2i_ties"] == table[RETRIEVAL, "i2t_ties"] == 1


def test_a_bag_of_words_gets_no_swap_right_though_it_knows_the_paraphrase() -> None:
    """The swapped caption has the same features as the caption, the paraphrase nearly so."""
    texts = unit(3, 2)
    texts[1], texts[2] = normalize(texts[0] + 0.01 * texts[1], dim=-1), texts[0]
    items = Items(np.zeros((1, 1), int), np.array([[0, 1, 2]]), np.zeros(1, int), "scpp")
    given = replace(benchmark(3, 3, items=1), subsets={"scpp/swap_obj": items})
    given = replace(given, retrieval=(np.arange(1), np.arange(1)))
    table = score_table(evaluate(Lookup(unit(3, 1), texts), given, batch=4).scores)
    assert table["scpp/swap_obj", "itt"] == table["scpp/swap_obj", "tot"] == 0
    assert table["scpp/swap_obj", "ties"] == 0.5  # P1 and N at the picture; P2 to both of them


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
    scores = evaluate(clip, given, batch=64).scores
    # Of the 24 orders of Winoground's four scores, six are right for text, four for the group; of three
    # scores the foil's is the lowest in a third of the orders, and the paraphrases' cosine the highest.
    chance = {"i2t": 1 / 2, "t2i": 1 / 2, "text": 1 / 4, "image": 1 / 4, "group": 1 / 6, "ties": 0}
    chance |= {"itt": 1 / 3, "tot": 1 / 3}
    for score in scores:
        if score.benchmark == "retrieval":
            continue
        # Items share pictures and texts, so that they are not independent: four standard errors, doubled.
        allowed = 8 * math.sqrt(0.25 / score.count) * (score.metric != "ties")
        assert abs(score.value - chance[score.metric]) <= allowed, score
    table = score_table(scores)
    candidates = len(set(given.retrieval[1].tolist()))
    assert abs(table[RETRIEVAL, "t2i_r10"] - 10 / candidates) < 5 * math.sqrt(0.1 / 237)


def test_features_of_a_narrow_type_are_widened_before_they_are_compared() -> None:
    given = benchmark(pictures=30, texts=50, items=40)
    images, texts = embed(
        Lookup(unit(30, 1).bfloat16(), unit(50, 2).bfloat16()), given.pictures, given.texts, batch=16
    )
    assert images.dtype == texts.dtype == np.float32
    assert images.shape == (30, WIDTH) and texts.shape == (50, WIDTH)


def test_zero_shot_accuracy_counts_the_pictures_whose_nearest_prompt_is_right() -> None:
    clip = Lookup(torch.eye(WIDTH)[:4], torch.eye(WIDTH)[[0, 1, 2, 2]])
    pixels = benchmark(4, 4, items=1).pictures
    right = np.zeros((4, 4), dtype=bool)
    # Picture 0 is like prompt 0; 1 is like 1, not like 0; 2 is as like 3 as the right 2; 3 like none.
    right[[0, 0, 1, 2, 3], [0, 3, 0, 2, 1]] = True
    assert zero_shot_accuracy(clip, pixels, ["0", "1", "2", "3"], right, batch=3) == 0.25
    right[2, 3] = True
    assert zero_shot_accuracy(clip, pixels, ["0", "1", "2", "3"], right, batch=2) == 0.5


def test_two_models_are_compared_on_pictures_of_classes() -> None:
    rng = np.random.default_rng(0)
    one, other = (rng.random(60) < share for share in (0.8, 0.5))
    found = averages.differences_of_pictures({"top1": one}, {"top1": other}, np.random.default_rng(0))
    table = [[(one & other).sum(), (one & ~other).sum()], [(~one & other).sum(), (~one & ~other).sum()]]
    assert found["top1"]["mcnemar"] == pytest.approx(mcnemar(table).pvalue)
    apart = one.astype(float) - other
    assert found["top1"]["value"] == pytest.approx(apart.mean())
    # The bootstrap's spread of a mean is its standard error; 1,000 draws know it to a few percent.
    width = found["top1"]["high"] - found["top1"]["low"]
    assert width == pytest.approx(2 * 1.96 * apart.std() / len(apart) ** 0.5, rel=0.15)


def test_two_models_are_compared_on_subsets_on_averages_and_on_retrieval() -> None:
    given = benchmark(pictures=30, texts=50, items=200)
    pairs = [each for name, each in given.subsets.items() if "scpp" not in name]
    subsets = {f"own/{number}": replace(each, rule="pairs") for number, each in enumerate(pairs)}
    given = replace(given, name="own", subsets=subsets)
    one, other = (evaluate(Lookup(unit(30, seed), unit(50, 9)), given, batch=16) for seed in (1, 2))
    found = averages.differences(given, one, other, np.random.default_rng(0), draws=200)
    assert set(found) == {"0", "1", "2", "micro", "macro-3", "retrieval"}
    for name, key in (("1", "own/1"), ("retrieval", "retrieval/own")):
        for metric, compared in found[name].items():
            left, right = one.outcomes[key][metric], other.outcomes[key][metric]
            assert compared["value"] == pytest.approx(left.mean() - right.mean())
            assert compared["low"] <= compared["value"] <= compared["high"]
            wins, losses = (left & ~right).sum(), (right & ~left).sum()
            assert (compared["only_left"], compared["only_right"]) == (wins, losses)
            expected = mcnemar([[0, wins], [losses, 0]], exact=True).pvalue
            assert compared["mcnemar"] == pytest.approx(expected)
