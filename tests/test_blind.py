"""Blind baselines against loops over the texts, draws of ties written out, and published numbers."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
import tiny_qwen
from real_data import DATA, needs_data
from test_fluency import slow

from slipform_core.benchmarks import Benchmark, Items
from slipform_core.evaluation.blind import BLIND, blind, credit, language_model
from slipform_core.metrics import SEVEN, SUBSETS

WORDS, CHARACTERS, PLAINER = BLIND


def made(captions, rule: str, texts: tuple[str, ...]) -> Benchmark:
    captions = np.array(captions)
    items = Items(np.zeros((len(captions), 1), dtype=int), captions, np.arange(len(captions)), rule)
    return Benchmark("made", (), texts, {"made/all": items})


def read(folder: str, subsets, fields) -> dict[str, list[list[str]]]:
    """The captions of each item by subset, straight from the files."""
    found = {}
    for subset in subsets:
        rows = json.loads((DATA / folder / f"{subset}.json").read_text())
        rows = rows.values() if isinstance(rows, dict) else rows
        found[subset] = [[row[field] for field in fields] for row in rows]
    return found


def benchmark_of(name: str, rows: dict[str, list[list[str]]], rule: str) -> Benchmark:
    numbers: dict[str, int] = {}
    subsets = {}
    for subset, captions in rows.items():
        table = np.array([[numbers.setdefault(text, len(numbers)) for text in row] for row in captions])
        items = Items(np.zeros((len(table), 1), dtype=int), table, np.arange(len(table)), rule)
        subsets[f"{name}/{subset}"] = items
    return Benchmark(name, (), tuple(numbers), subsets)


def pooled(scores, metric: str, subsets=SEVEN) -> tuple[float, int]:
    rows = [score for score in scores if score.metric == metric and score.subset in subsets]
    total = sum(score.count for score in rows)
    return 100 * sum(score.value * score.count for score in rows) / total, total


@pytest.fixture(scope="module")
def sugarcrepe():
    return read("sugarcrepe", SEVEN, ("caption", "negative_caption"))


@needs_data
def test_on_all_of_sugarcrepe_they_are_what_is_published(sugarcrepe):
    scores = blind(benchmark_of("sugarcrepe", sugarcrepe, "choice"))
    assert len(scores) == (7 + 1) * 3 * 2
    assert pooled(scores, f"i2t, {WORDS}, strict") == (pytest.approx(44.5, abs=0.05), 7511)
    assert pooled(scores, f"i2t, {WORDS}, ties at half")[0] == pytest.approx(67.4, abs=0.05)
    assert pooled(scores, f"i2t, {WORDS}, strict", SEVEN[:2])[0] == pytest.approx(98, abs=0.5)
    assert pooled(scores, f"i2t, {CHARACTERS}, strict")[0] == pytest.approx(65.9, abs=0.05)
    assert pooled(scores, f"i2t, {PLAINER}, ties at half")[0] == pytest.approx(64.8, abs=0.05)
    rows = [row for rows in sugarcrepe.values() for row in rows]
    fewer = sum(len(own.split()) < len(other.split()) for own, other in rows)
    assert pooled(scores, f"i2t, {WORDS}, strict")[0] == pytest.approx(100 * fewer / 7511)


@needs_data
def test_on_all_of_sugarcrepe_pp_the_negative_must_be_the_longest():
    rows = read("scpp", SUBSETS["scpp"], ("caption", "caption2", "negative_caption"))
    scores = blind(benchmark_of("scpp", rows, "scpp"))
    for subset, captions in rows.items():
        lengths = [[len(text.split()) for text in row] for row in captions]
        right = sum(one < last and two < last for one, two, last in lengths)
        score = next(s for s in scores if (s.subset, s.metric) == (subset, f"itt, {WORDS}, strict"))
        assert (score.value, score.count) == (pytest.approx(right / len(captions)), len(captions))
    assert pooled(scores, f"itt, {WORDS}, strict")[1] == 4757


def drawn(values, rule: str) -> float:
    """How often an item is right if equal scores are put in a random order, by all orders."""
    places, right = range(len(values)), []
    for order in itertools.permutations(places):
        best_first = sorted(places, key=lambda k: (-values[k], order[k]))
        right.append(best_first[-1] == len(values) - 1 if rule == "scpp" else best_first[0] == 0)
    return sum(right) / len(right)


@pytest.mark.parametrize(("rule", "each"), [("choice", 2), ("choice", 5), ("pairs", 2), ("scpp", 3)])
def test_a_tie_is_worth_what_a_draw_would_win_and_strictly_nothing(rule, each):
    rng = np.random.default_rng(0)
    captions = np.array([rng.choice(40, each, replace=False) for _ in range(300)])
    values = rng.integers(0, 4, 40).astype(float)
    benchmark = made(captions, rule, tuple(map(str, range(40))))
    expected = [drawn(values[row].tolist(), rule) for row in captions]
    assert credit(benchmark.subsets["made/all"], values).tolist() == pytest.approx(expected)
    strict, half = blind(benchmark, {"made up": lambda texts: values})
    assert strict.value == pytest.approx(np.mean(np.array(expected) == 1))
    assert half.value == pytest.approx(np.mean(expected))
    assert strict.stderr == pytest.approx(np.sqrt(strict.value * (1 - strict.value) / 300))
    assert half.stderr == pytest.approx(np.std(expected) / np.sqrt(300))
    metric = "itt" if rule == "scpp" else "i2t"
    assert [s.metric for s in (strict, half)] == [
        f"{metric}, made up, strict",
        f"{metric}, made up, ties at half",
    ]
    constant = blind(benchmark, {"constant": lambda texts: [1.0] * len(texts)})
    assert [score.value for score in constant] == [0, pytest.approx(1 / each)]


def test_what_has_no_blind_answer_is_left_out_and_texts_are_scored_once():
    benchmark = made([[0, 1]], "winoground", ("a", "b"))
    assert blind(benchmark) == []
    asked = []

    def baseline(texts):
        asked.extend(texts)
        return list(map(len, texts))

    both = made([[0, 1], [1, 0], [0, 2]], "choice", ("aaa", "bb", "c"))
    subsets = both.subsets | {"made/more": both.subsets["made/all"], "made/w": benchmark.subsets["made/all"]}
    scores = blind(Benchmark("made", (), both.texts, subsets), {"longer": baseline})
    assert asked == ["aaa", "bb", "c"]
    assert [(score.subset, score.value, score.count) for score in scores[::2]] == [
        ("all", pytest.approx(2 / 3), 3),
        ("more", pytest.approx(2 / 3), 3),
        ("micro", pytest.approx(2 / 3), 6),
    ]


def test_all_items_together_are_of_as_many_observations_as_there_are_pictures():
    texts = tuple(map(str, range(40)))
    values, rng = np.arange(40.0), np.random.default_rng(0)
    one, other = (
        made(rng.integers(0, 40, (size, 2)), "choice", texts).subsets["made/all"] for size in (30, 50)
    )
    one, other = (replace(items, clusters=rng.integers(0, 9, len(items))) for items in (one, other))
    subsets = {"made/one": one, "made/other": other}
    scores = blind(Benchmark("made", (), texts, subsets), {"number": lambda texts: values})
    *_, strict, half = scores
    assert (strict.subset, strict.count) == ("micro", 80)
    for score, tie in ((strict, 0.0), (half, 0.5)):
        won = [
            (1.0 if own > foil else tie if own == foil else 0.0, cluster)
            for items in (one, other)
            for (own, foil), cluster in zip(items.captions.tolist(), items.clusters.tolist(), strict=True)
        ]
        mean = sum(value for value, _ in won) / 80
        apart = [sum(value - mean for value, cluster in won if cluster == picture) for picture in range(9)]
        assert score.value == pytest.approx(mean)
        assert score.stderr == pytest.approx(sum(each**2 for each in apart) ** 0.5 / 80)


def test_a_negative_that_is_the_caption_itself_ties():
    benchmark = made([[0, 0], [1, 2], [1, 1]], "choice", ("a", "bb", "c"))
    strict, half = blind(benchmark, {"longer": lambda texts: list(map(len, texts))})
    assert (strict.value, half.value) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    padded = made([[0, 0, 0], [1, 2, 2]], "choice", ("a", "bb", "bb ")).subsets["made/all"]
    assert credit(padded, np.ones(3)).tolist() == [0.5, 0.5]
    assert padded.repeated.tolist() == [[False, False, True]] * 2


def test_a_score_that_is_nan_is_named():
    with pytest.raises(ValueError, match="odd is NaN for 'bb'"):
        blind(made([[0, 1]], "choice", ("a", "bb")), {"odd": lambda texts: [0.0, float("nan")]})


def test_words_and_characters_are_counted_as_said():
    texts = ["  A well-known  dog.\n", "a dog runs", "A dog"]
    assert BLIND[WORDS](texts) == [-len(text.split()) for text in texts] == [-3, -3, -2]
    assert BLIND[CHARACTERS](texts) == [-18, -10, -5]
    assert BLIND[PLAINER]([*texts, "A dog.", "a dog.", "", "a dog. "]) == [0, 0, -1, -2, -1, 0, 0]


def test_a_language_model_prefers_the_text_with_the_higher_sum_of_log_probabilities(tmp_path):
    folder = tiny_qwen.write(tmp_path / "tiny-qwen")
    texts = ("A dog runs in the park", "A dog", "The old man and a café near a street", "a red car")
    expected = np.array([slow(folder, text) for text in texts])
    assert language_model(folder)(texts) == pytest.approx(expected.tolist(), abs=1e-3)
    pairs = list(itertools.permutations(range(4), 2))
    strict, half = blind(made(pairs, "choice", texts), {"language model": language_model(folder)})
    assert strict.value == half.value == 0.5
    first, _ = blind(made([[1, 2], [1, 0]], "choice", texts), {"language model": language_model(folder)})
    assert first.value == np.mean([expected[1] > expected[2], expected[1] > expected[0]])
