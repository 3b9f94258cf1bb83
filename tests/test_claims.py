"""Verdicts against hand-worked ones, the ledger's form, and reading a run's results."""

from pathlib import Path

import pytest

from slipform_core import claims, results, tables

LEDGER = Path(__file__).parent.parent / "book" / "claims.yml"
CLAIMS = claims.load(LEDGER)
ARITHMETIC = {
    "macro-six": "does not hold",
    "macro-three": "holds",
    "static-margin": "does not hold",
    "sugarcrepe-degla": "does not hold",
    "karpathy-train": "does not hold",
    "out-of-vocabulary": "does not hold",
    "margin": "holds",
    "best-macro": "needs paper scale",
}


def score(value: float, stderr: float) -> dict[str, float]:
    return {"value": value, "count": 100, "stderr": stderr}


def test_the_ledger_has_ten_claims_with_names_of_their_own() -> None:
    assert len(CLAIMS) >= 10
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)


@pytest.mark.parametrize(("name", "verdict"), ARITHMETIC.items())
def test_what_arithmetic_decides_needs_no_run(name: str, verdict: str) -> None:
    claim = next(claim for claim in CLAIMS if claim.id == name)
    assert claims.judge(claim, {}).verdict == verdict


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("macro-six", "CLIP 37.85; NegCLIP 42.15; Slipform 43.08"),
        ("macro-three", "CLIP 47.89; NegCLIP 53.15; Slipform 54.19"),
        ("sugarcrepe-degla", "6.23 apart"),
        ("karpathy-train", "31,287 apart"),
        ("out-of-vocabulary", "transformer is in the table: 3.75"),
        ("margin", "m(3) = -1.99492, m(4) = +0.00000, m(5) = +1.99492"),
    ],
)
def test_our_value_is_shown(name: str, words: str) -> None:
    claim = next(claim for claim in CLAIMS if claim.id == name)
    assert words in claims.judge(claim, {}).ours


def test_another_steepness_is_another_margin() -> None:
    reported = {4.15: 0.92423}
    curve = {"low": -2, "high": 2, "midpoint": 4, "reported": reported}
    assert claims.margin_curve({}, **curve, width=0.15).verdict == "holds"
    assert claims.margin_curve({}, **curve, width=0.16).verdict == "does not hold"


@pytest.mark.parametrize(
    ("falls", "stays", "verdict"),
    [
        ({"32": 0.5, "64": 0.4, "128": 0.3}, {"32": 0.7, "64": 0.6, "128": 0.6}, "holds"),
        ({"32": 0.5, "64": 0.3, "128": 0.4}, {"32": 0.7, "64": 0.6, "128": 0.6}, "does not hold"),
        ({"32": 0.5, "64": 0.4, "128": 0.3}, {"32": 0.7, "64": 0.4, "128": 0.6}, "does not hold"),
        ({"128": 0.3, "32": 0.5}, {"128": 0.4, "32": 0.6}, "holds"),
        ({"128": 0.3, "32": 0.3}, {"128": 0.4, "32": 0.6}, "does not hold"),
    ],
)
def test_the_share_falls_at_every_step_and_stays_below(falls: dict, stays: dict, verdict: str) -> None:
    shares = {
        reference: {size: {"mean": share} for size, share in series.items()}
        for reference, series in {"gradients:a": falls, "gradients:b": stays}.items()
    }
    assert claims.share_falls(shares, falls="gradients:a", stays="gradients:b").verdict == verdict


@pytest.mark.parametrize(("value", "verdict"), [(0.59, "holds"), (0.41, "holds"), (0.62, "does not hold")])
def test_near_chance_is_on_both_sides(value: float, verdict: str) -> None:
    assert claims.near({"s": score(value, 0)}, score="s", chance=0.5, within=0.1).verdict == verdict


@pytest.mark.parametrize(
    ("left", "verdict"),
    [(0.81, "holds"), (0.79, "not testable at this scale"), (0.61, "not testable at this scale")]
    + [(0.59, "does not hold")],
)
def test_better_means_by_two_standard_errors_of_the_difference(left: float, verdict: str) -> None:
    # The errors .03 and .04 make one of .05, so that the difference must exceed .1.
    scores = {"left": score(left, 0.03), "right": score(0.7, 0.04)}
    assert claims.better(scores, left="left", right="right").verdict == verdict


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("check: {name: grater}", "no check 'grater'; checks: mean_of_columns"),
        ("stated_by: the paper", "'authors' or 'secondary summary'"),
        ("verdict: holds", "verdict"),
    ],
)
def test_a_malformed_claim_is_refused(change: str, words: str, tmp_path: Path) -> None:
    row = {
        "id": "x",
        "statement": "s",
        "stated_by": "authors",
        "reported": "'1'",
        "check": "{name: paper_scale}",
    }
    name, _, value = change.partition(": ")
    lines = [f"{key}: {text}" for key, text in (row | {name: value}).items()]
    (tmp_path / "claims.yml").write_text("- " + "\n  ".join(lines))
    with pytest.raises(ValueError, match=words):
        claims.load(tmp_path / "claims.yml")


def test_a_run_gives_values_by_reference_and_names_what_it_has(tmp_path: Path) -> None:
    with pytest.raises(results.MissingResult, match="it holds: none"):
        tables.open_run(tmp_path)
    values = {"base": {"swap_obj": score(0.5, 0.05)}}
    results.write(tmp_path / "results", results.Result("composition", "smoke", values, {}))
    run = tables.open_run(tmp_path)
    assert run["composition:base/swap_obj/value"] == 0.5
    for reference, words in {
        "composition:base/swap_att/value": "'swap_att' is not among swap_obj",
        "gradients:hc": "there are: composition",
        "composition": "experiment:path",
    }.items():
        with pytest.raises(results.MissingResult, match=words):
            run[reference]
    results.write(tmp_path / "results", results.Result("composition", "mini", values, {}))
    with pytest.raises(results.MissingResult, match="mini, smoke"):
        tables.open_run(tmp_path)
