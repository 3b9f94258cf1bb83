"""Checks of what was measured, on both sides of each threshold, against hand-worked seeds."""

from collections.abc import Mapping
from typing import Any

import pytest

from slipform_core import claims, comparisons
from slipform_core.claims import measured

NOTHING = claims.Evidence({}, None)
NOT_TESTABLE = "not testable at this scale"


def evidence(*runs: Mapping[str, Any]) -> claims.Evidence:
    """A reference run of these seeds, and no run beside it."""
    return claims.Evidence({}, comparisons.Reference(dict(enumerate(runs, 101))))


def verdict(outcome: claims.Outcome) -> str:
    return outcome.verdict


def scores(**arms: float) -> dict[str, float]:
    return {f"composition:{arm}/macro/value": value for arm, value in arms.items()}


def family(**contrasts: str) -> comparisons.Family:
    """Contrasts against `rest`, each with its expected sign."""
    return comparisons.Family(
        about="",
        measure="macro",
        contrasts={
            arm: comparisons.Contrast(left=arm, right="rest", expected=sign, why="")
            for arm, sign in contrasts.items()
        },
    )


@pytest.mark.parametrize(
    ("sign", "shift", "wanted"),
    [
        ("+", 0.05, "holds"),
        ("+", -0.05, "does not hold"),
        ("-", -0.05, "holds"),
        ("+", 0.002, NOT_TESTABLE),
    ],
)
def test_a_planned_contrast_is_paired_by_seed(sign: str, shift: float, wanted: str) -> None:
    # Seeds differ by far more than arms: unpaired, nothing could be told.
    runs = [
        scores(rest=base, left=base + shift + noise)
        for base, noise in ((0.2, 0.01), (0.5, 0.0), (0.8, -0.01))
    ]
    assert verdict(measured.planned(evidence(*runs), family=family(left=sign), contrast="left")) == wanted


def test_a_planned_contrast_is_corrected_with_its_whole_family() -> None:
    # t = .05 / (.01 / sqrt(3)) = 8.66 with 2 degrees of freedom: p = .0131, and four times that is over .05.
    runs = [scores(rest=0.5, left=0.55 + e, **dict.fromkeys("abc", 0.5 + e)) for e in (-0.01, 0.0, 0.01)]
    alone, among = family(left="+"), family(left="+", a="+", b="+", c="+")
    one = measured.planned(evidence(*runs), family=alone, contrast="left")
    assert (one.verdict, one.basis) == ("holds", "the reference run, 3 seeds")
    assert one.ours == "left − rest: +5.00 (+2.52 to +7.48) points, p = 0.013 after Holm"
    other = measured.planned(evidence(*runs), family=among, contrast="left")
    assert other.verdict == NOT_TESTABLE and other.ours.endswith("p = 0.052 after Holm")


@pytest.mark.parametrize(
    ("reported", "said"),
    [
        ((12.0, 11.0), "; the reported difference, +1.00, lies inside this interval"),
        ((1.0, 9.5), "; the reported difference, −8.50, lies outside this interval"),
    ],
)
def test_a_reported_difference_is_set_beside_the_interval(reported: tuple[float, float], said: str) -> None:
    # The interval is 1.00 (-0.24 to +2.24) points.
    runs = [scores(rest=0.5, left=0.5 + shift) for shift in (0.005, 0.010, 0.015)]
    given = {"family": family(left="+"), "contrast": "left"}
    assert measured.planned(evidence(*runs), **given, reported=reported).ours.endswith(said)
    assert "reported" not in measured.planned(evidence(*runs), **given).ours


def test_a_contrast_that_was_not_planned_is_refused() -> None:
    with pytest.raises(ValueError, match="'right' was planned; there are: left"):
        measured.planned(NOTHING, family=family(left="+"), contrast="right")


@pytest.mark.parametrize(("score", "wanted"), [(0.59, "holds"), (0.41, "holds"), (0.62, "does not hold")])
def test_near_chance_is_on_both_sides_in_one_run(score: float, wanted: str) -> None:
    found = measured.near(claims.Evidence({"s": score}, None), value="s", chance=0.5, within=0.1)
    assert (found.verdict, found.basis) == (wanted, "this run, one seed")


@pytest.mark.parametrize(
    ("mean", "wanted"),
    [(0.57, "holds"), (0.43, "holds"), (0.58, NOT_TESTABLE), (0.42, NOT_TESTABLE), (0.62, NOT_TESTABLE)]
    + [(0.63, "does not hold"), (0.37, "does not hold")],
)
def test_near_chance_is_of_the_whole_interval_over_seeds(mean: float, wanted: str) -> None:
    # The interval's half-width is 4.303 * .01 / sqrt(3) = .0248.
    runs = [{"s": mean + e} for e in (-0.01, 0.0, 0.01)]
    assert verdict(measured.near(evidence(*runs), value="s", chance=0.5, within=0.1)) == wanted


@pytest.mark.parametrize(
    ("a", "b", "wanted"),
    [
        (0.03, 0.03, "holds"),
        (0.03, 0.02, NOT_TESTABLE),
        (0.03, -0.02, NOT_TESTABLE),
        (0.03, -0.03, "does not hold"),
    ],
)
def test_above_is_of_every_interval_and_not_above_of_any(a: float, b: float, wanted: str) -> None:
    runs = [
        {"low": base, "a": base + a + e, "b": base + b + e} for base, e in ((1, -0.01), (3, 0.0), (2, 0.01))
    ]
    found = measured.above(evidence(*runs), pairs={"a": ["a", "low"], "b": ["b", "low"]})
    assert verdict(found) == wanted


RISING, FALLING = {"x": [1, 2, 3, 4], "y": [0, 5, 6, 9]}, {"x": [1, 2, 3, 4], "y": [9, 6, 5, 0]}
MOSTLY = {"x": [1, 2, 3, 4], "y": [5, 0, 6, 9]}


@pytest.mark.parametrize(
    ("runs", "wanted"),
    [
        ([RISING, MOSTLY, RISING], "holds"),
        ([FALLING, FALLING, FALLING], "does not hold"),
        ([RISING, FALLING, RISING], NOT_TESTABLE),
    ],
)
def test_correlation_is_of_ranks_in_each_seed(runs: list[dict], wanted: str) -> None:
    found = measured.correlates(evidence(*runs), y="y", x="x")
    assert verdict(found) == wanted
    if MOSTLY in runs:  # Spearman's of one exchange of neighbours among four: 1 - 6 * 2 / (4 * 15) = .8
        assert "correlation: +0.933" in found.ours


@pytest.mark.parametrize(
    ("seeds", "wanted"),
    [
        ([[1, 4, 5, 5], [1, 5, 5, 5], [2, 5, 5, 4]], "holds"),
        ([[5, 1, 1, 2], [4, 1, 1, 1], [5, 2, 1, 1]], "does not hold"),
        ([[1, 5, 5, 5], [5, 1, 1, 1], [1, 2, 3, 4]], NOT_TESTABLE),
    ],
)
def test_left_skewed_has_its_tail_on_the_left(seeds: list[list[int]], wanted: str) -> None:
    found = measured.left_skewed(evidence(*({"c": values} for values in seeds)), values="c")
    assert verdict(found) == wanted


def shares(falls: dict[str, float], stays: dict[str, float]) -> dict[str, Any]:
    series = {"gradients:a": falls, "gradients:b": stays}
    return {path: {size: {"mean": mean} for size, mean in means.items()} for path, means in series.items()}


def judged_share(given: claims.Evidence) -> str:
    return verdict(measured.share_falls(given, falls="gradients:a", stays="gradients:b"))


HOLDS = shares({"32": 0.5, "64": 0.4, "128": 0.3}, {"32": 0.7, "64": 0.6, "128": 0.6})
RISES = shares({"32": 0.5, "64": 0.3, "128": 0.4}, {"32": 0.7, "64": 0.6, "128": 0.6})


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (HOLDS, "holds"),
        (RISES, "does not hold"),
        (shares({"32": 0.5, "64": 0.4, "128": 0.3}, {"32": 0.7, "64": 0.4, "128": 0.6}), "does not hold"),
        (shares({"128": 0.3, "32": 0.5}, {"128": 0.4, "32": 0.6}), "holds"),
        (shares({"128": 0.3, "32": 0.3}, {"128": 0.4, "32": 0.6}), "does not hold"),
    ],
)
def test_the_share_falls_at_every_step_and_stays_below(given: dict, wanted: str) -> None:
    assert judged_share(claims.Evidence(given, None)) == wanted


@pytest.mark.parametrize(
    ("runs", "wanted"),
    [([HOLDS, HOLDS], "holds"), ([HOLDS, RISES], NOT_TESTABLE), ([RISES, RISES], "does not hold")],
)
def test_the_share_falls_in_every_seed_or_in_none(runs: list[dict], wanted: str) -> None:
    # This run, which says otherwise, has no part in it.
    assert judged_share(claims.Evidence(RISES, evidence(*runs).reference)) == wanted
