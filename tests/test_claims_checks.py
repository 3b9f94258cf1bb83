"""Checks that need no run, on both sides of each threshold, against hand-worked cases."""

from typing import Any

import pytest

from slipform_core import claims
from slipform_core.claims import algebra, arithmetic, words


def verdict(outcome: claims.Outcome) -> str:
    return outcome.verdict


COLUMNS = [
    60,
    30,
    60,
    10,
    20,
    30,
]  # their mean 35; SugarCrepe 60, SugarCrepe++ 45, Winoground 20: their mean 41.67


@pytest.mark.parametrize(
    ("check", "arguments", "wanted"),
    [
        (arithmetic.mean_of_columns, {"rows": {"a": {"columns": COLUMNS, "average": 35.1}}}, "holds"),
        (arithmetic.mean_of_columns, {"rows": {"a": {"columns": COLUMNS, "average": 35.3}}}, "does not hold"),
        (arithmetic.macro_average, {"rows": {"a": {"columns": COLUMNS, "average": 41.8}}}, "holds"),
        (arithmetic.macro_average, {"rows": {"a": {"columns": COLUMNS, "average": 41.4}}}, "does not hold"),
        (arithmetic.differences, {"rows": {"a": [3, 1, 2.1], "b": [3, 1, 1.9]}}, "holds"),
        (arithmetic.differences, {"rows": {"a": [3, 1, 2.1], "b": [3, 1, 1.7]}}, "does not hold"),
        (arithmetic.differences, {"rows": {"a": [1, 3, 2]}}, "does not hold"),
        (arithmetic.ratios, {"rows": {"a": [[6, 2], 3, 4.1]}}, "holds"),
        (arithmetic.ratios, {"rows": {"a": [[6, 2], 3, 4.1], "b": [[6], 3, 2.3]}}, "does not hold"),
        (arithmetic.gain, {"left": 11, "right": 10, "reported": 10.1}, "holds"),
        (arithmetic.gain, {"left": 11, "right": 10, "reported": 9.7}, "does not hold"),
        (arithmetic.gain, {"left": 10, "right": 11, "reported": 10}, "does not hold"),
        (arithmetic.close, {"left": 1, "right": 1.1}, "holds"),
        (arithmetic.close, {"left": 1.3, "right": 1}, "does not hold"),
        # One of 400 items, right in one of three columns of one of three benchmarks: .25 / 9 points.
        (arithmetic.item_moves_macro, {"items": 1, "reported": 11.2}, "holds"),
        (arithmetic.item_moves_macro, {"items": 1, "reported": 10.8}, "does not hold"),
    ],
)
def test_reported_numbers_may_lie_a_fifth_away(check: Any, arguments: dict, wanted: str) -> None:
    assert verdict(check(**arguments, within=0.2)) == wanted


@pytest.mark.parametrize(
    ("pairs", "wanted"),
    [
        ({"a": [2, 1], "b": [[1, 2], 1.4]}, "holds"),
        ({"a": [2, 1], "b": [[1, 2], 1.6]}, "does not hold"),
        ({"a": [1, 1]}, "does not hold"),
        ({"a": [1, [0, 3]]}, "does not hold"),
    ],
)
def test_greater_means_strictly_in_every_pair_and_a_list_is_its_mean(pairs: dict, wanted: str) -> None:
    assert verdict(arithmetic.greater(pairs=pairs)) == wanted


@pytest.mark.parametrize(
    ("pairs", "wanted"),
    [({"a": [1, 1.3], "b": [2, 1]}, "holds"), ({"a": [1, 1.1], "b": [2, 1]}, "does not hold")],
)
def test_different_means_every_pair_is_apart(pairs: dict, wanted: str) -> None:
    assert verdict(arithmetic.different(pairs=pairs, beyond=0.2)) == wanted


def test_another_steepness_is_another_margin() -> None:
    reported = {4.15: 0.92423}
    curve = {"low": -2, "high": 2, "midpoint": 4, "reported": reported, "within": 0.00001}
    assert verdict(algebra.margin_curve(**curve, width=0.15)) == "holds"
    assert verdict(algebra.margin_curve(**curve, width=0.1501)) == "does not hold"


def test_the_step_is_one_only_where_the_width_is_small_and_exp_overflows_only_there() -> None:
    step = {"half": 2, "midpoint": 4, "beyond": 0.05}
    assert verdict(algebra.margin_is_step(**step, width=0.001, within=1e-12)) == "holds"
    assert verdict(algebra.margin_is_step(**step, width=0.15, within=1e-12)) == "does not hold"
    assert verdict(algebra.margin_is_step(**step, width=0.15, within=4)) == "does not hold"


@pytest.mark.parametrize(
    ("check", "arguments"),
    [
        (algebra.positive_gradient, {}),
        (algebra.share_without_positive, {"shift": 3}),
        (algebra.share_with_margin, {"margins": [-1, 2]}),
        (algebra.easy_with_margin, {"margins": [-1, 2]}),
        (algebra.margin_is_copies, {"copies": [2, 5]}),
        (algebra.margin_limits, {}),
    ],
)
def test_identities_hold_for_other_sizes_and_seeds(check: Any, arguments: dict) -> None:
    for seed, columns in ((3, 4), (4, 200)):
        example = {"seed": seed, "rows": 20, "columns": columns}
        assert verdict(check(**example, **arguments, within=1e-8)) == "holds"


@pytest.mark.parametrize(
    ("name", "wrong", "check", "arguments"),
    [
        ("_new_share", lambda share, m: share, algebra.share_with_margin, {"margins": [1]}),
        ("_with_margin", lambda logits, m: logits, algebra.easy_with_margin, {"margins": [1]}),
        ("_with_margin", lambda logits, m: logits, algebra.margin_is_copies, {"copies": [2]}),
        ("_with_margin", lambda logits, m: logits, algebra.margin_limits, {}),
        (
            "_shares",
            lambda logits: algebra._softmax(logits)[:, 1],
            algebra.share_without_positive,
            {"shift": 1},
        ),
        ("_softmax", lambda logits: logits**2, algebra.positive_gradient, {}),
    ],
)
def test_another_algebra_does_not_hold(
    name: str, wrong: Any, check: Any, arguments: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(algebra, name, wrong)
    assert verdict(check(seed=1, rows=9, columns=8, **arguments, within=1e-3)) == "does not hold"


def test_values_of_tanh_and_of_shares_are_compared() -> None:
    assert verdict(algebra.margin_is_tanh(half=2, midpoint=4, width=0.15, within=1e-12)) == "holds"
    assert verdict(algebra.margin_is_tanh(half=2, midpoint=4, width=0.15, within=1e-17)) == "does not hold"
    assert verdict(algebra.share_values(share=0.5, reported={0: 0.5}, within=0)) == "holds"
    assert verdict(algebra.share_values(share=0.5, reported={0: 0.5, 1: 0.7}, within=0.01)) == "does not hold"


@pytest.mark.parametrize(
    ("check", "arguments", "wanted"),
    [
        (words.missing_word, {"word": "dog"}, "does not hold"),
        (words.missing_word, {"word": "xyzzy"}, "holds"),
        (words.on_scale, {"low": 1, "high": 5}, "holds"),
        (words.on_scale, {"low": 1.1, "high": 5}, "does not hold"),
        (words.on_scale, {"low": 1, "high": 4.9}, "does not hold"),
        (words.same_norms, {"names": ["glasgow", "glasgow"]}, "holds"),
        (words.same_norms, {"names": ["brysbaert", "muraki"]}, "does not hold"),
        (words.concrete_unseen, {"words": ["thunder"], "concrete": 4, "seen": 2.5}, "holds"),
        (words.concrete_unseen, {"words": ["thunder", "smoke"], "concrete": 4, "seen": 2.5}, "does not hold"),
        (words.concrete_unseen, {"words": ["thunder", "smell"], "concrete": 4, "seen": 2.5}, "does not hold"),
    ],
)
def test_the_norms_decide_of_words(check: Any, arguments: dict, wanted: str) -> None:
    assert verdict(check(**arguments)) == wanted


@pytest.mark.parametrize(
    ("reported", "wanted"),
    [
        ({"red": [4.24, 1.33]}, "holds"),
        ({"red": [4.24, 1.34]}, "does not hold"),
        ({"red": [4.25, 1.33]}, "does not hold"),
        ({"red": [4.24, 1.33], "blue": [3.76, 1.33]}, "does not hold"),
    ],
)
def test_a_word_has_its_concreteness_and_its_margin(reported: dict, wanted: str) -> None:
    found = words.word_margins(half=2, midpoint=4, width=0.15, reported=reported, within=0.005)
    assert verdict(found) == wanted
