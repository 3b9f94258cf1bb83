"""Coarsened exact matching against a slow count of every stratum, and what it is for: equal distributions."""

import json
from bisect import bisect_right
from collections import Counter

import numpy as np
import pytest

from slipform_core.matching import balance, match


def sets_of(seed: int, sizes: dict[str, int]) -> dict:
    """Sets that differ in kinds and in similarity: the further along, the fewer nouns and the more alike."""
    rng, sets = np.random.default_rng(seed), {}
    for at, (name, size) in enumerate(sizes.items()):
        shares = [0.8 - 0.3 * at, 0.1 + 0.2 * at, 0.1 + 0.1 * at]
        kinds = rng.choice(["NOUN", "ADJ", "ADP"], size, p=shares).tolist()
        sets[name] = (kinds, rng.normal(0.6 + 0.1 * at, 0.15, size))
    return sets


def stratum_counts(sets: dict, rows: dict, bins: int) -> dict[str, Counter]:
    """How many of `rows` of each set are in each stratum; edges by hand, linear between order statistics."""
    pooled = sorted(float(value) for _, similarity in sets.values() for value in similarity)
    edges = []
    for k in range(1, bins):
        below, part = divmod(k * (len(pooled) - 1) / bins, 1)
        low, high = pooled[int(below)], pooled[min(int(below) + 1, len(pooled) - 1)]
        edges.append(low + part * (high - low))
    return {
        name: Counter((sets[name][0][row], bisect_right(edges, sets[name][1][row])) for row in rows[name])
        for name in sets
    }


SIZES = {"hc": 300, "lc": 180, "wo": 240}


@pytest.mark.parametrize("bins", [1, 2, 5, 40])
def test_each_stratum_keeps_what_its_smallest_set_has(bins: int) -> None:
    sets = sets_of(0, SIZES)
    chosen = match(sets, bins=bins, rng=np.random.default_rng(1))
    before = stratum_counts(sets, {name: range(size) for name, size in SIZES.items()}, bins)
    after = stratum_counts(sets, chosen, bins)
    smallest = before["hc"] & before["lc"] & before["wo"]
    assert after["hc"] == after["lc"] == after["wo"] == smallest
    assert 0 < smallest.total() < 180
    assert len(set().union(*before.values())) == pytest.approx(3 * bins, abs=bins)


def test_indices_are_sorted_and_none_comes_twice() -> None:
    for rows in match(sets_of(0, SIZES), bins=5, rng=np.random.default_rng(1)).values():
        assert (np.diff(rows) > 0).all() and rows.dtype.kind == "i"


def test_matched_sets_have_the_same_kinds_and_nearly_the_same_similarity() -> None:
    sets = sets_of(3, {"hc": 4000, "lc": 4000, "wo": 4000})
    page = balance(sets, match(sets, bins=20, rng=np.random.default_rng(1)))
    before, after = ([page[name][when] for name in sets] for when in ("before", "after"))
    assert after[0]["kinds"] == after[1]["kinds"] == after[2]["kinds"] != before[0]["kinds"]
    # Means differed by .1 a set; within one of 20 bins of a spread of .17 they differ by about a hundredth.
    assert max(one["similarity"] for one in before) - min(one["similarity"] for one in before) > 0.15
    assert max(one["similarity"] for one in after) - min(one["similarity"] for one in after) < 0.01


def test_every_record_of_a_stratum_is_as_likely_to_be_kept() -> None:
    sets = {"many": (["NOUN"] * 12, np.zeros(12)), "few": (["NOUN"] * 3, np.zeros(3))}
    rng = np.random.default_rng(2)
    drawn = [match(sets, bins=4, rng=rng) for _ in range(500)]
    counts = np.bincount(np.concatenate([rows["many"] for rows in drawn]), minlength=12)
    # 500 draws of a quarter: 125 each, five standard deviations of 9.7.
    assert (np.abs(counts - 125) < 5 * np.sqrt(500 * 3 / 16)).all()
    assert all(rows["few"].tolist() == [0, 1, 2] for rows in drawn)


def test_the_same_seed_keeps_the_same_records() -> None:
    first, again, other = (
        match(sets_of(0, SIZES), bins=5, rng=np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert all((first[name] == again[name]).all() for name in SIZES)
    assert any((first[name] != other[name]).any() for name in SIZES)


def test_balance_by_hand_as_plain_values() -> None:
    sets = {
        "hc": (["NOUN", "ADJ", "NOUN"], np.array([0.5, 0.9, 0.7])),
        "lc": (["ADJ", "ADJ"], np.array([0.8, 0.4])),
    }
    page = balance(sets, {"hc": np.array([1]), "lc": np.array([0])})
    assert page == {
        "hc": {
            "before": {"count": 3, "kinds": {"ADJ": 1, "NOUN": 2}, "similarity": 0.7},
            "after": {"count": 1, "kinds": {"ADJ": 1}, "similarity": 0.9},
        },
        "lc": {
            "before": {"count": 2, "kinds": {"ADJ": 2}, "similarity": 0.6},
            "after": {"count": 1, "kinds": {"ADJ": 1}, "similarity": 0.8},
        },
    }
    assert json.loads(json.dumps(page)) == page


ALIKE = (["NOUN"], np.array([0.5]))
REFUSED = {
    "no kind in common": ({"hc": ALIKE, "lc": (["ADJ"], np.array([0.5]))}, 2, "hc, lc share no"),
    "no bin in common": ({"hc": ALIKE, "lc": (["NOUN"], np.array([0.9]))}, 2, "hc, lc share no"),
    "one is empty": ({"hc": ALIKE, "lc": ([], np.array([]))}, 2, "hc, lc share no"),
    "all are empty": ({"hc": ([], np.array([])), "lc": ([], np.array([]))}, 2, "hc, lc are empty"),
    "lengths differ": ({"hc": ALIKE, "lc": (["NOUN"], np.zeros(2))}, 2, r"lc has 1 kinds .* \(2,\)"),
    "NaN": ({"hc": ALIKE, "lc": (["NOUN"], np.array([np.nan]))}, 2, "lc has a similarity that is NaN"),
    "no bins": ({"hc": ALIKE}, 0, "bins = 0"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_matched_is_named(case: str) -> None:
    sets, bins, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        match(sets, bins=bins, rng=np.random.default_rng(0))
