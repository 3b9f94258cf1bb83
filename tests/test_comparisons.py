"""The plan as it is read, and its rule on both sides of each of its thresholds."""

from pathlib import Path

import pytest

from slipform_core import comparisons
from slipform_core.statistics import Estimate

PLAN = Path(__file__).parent.parent / "book" / "plan.yml"


def difference(value: float, half: float) -> comparisons.Difference:
    return comparisons.Difference(Estimate(value, value - half, value + half), {}, p=0)


def test_the_plan_has_its_families_and_each_contrast_its_sides_and_sign() -> None:
    plan = comparisons.load_plan(PLAN)
    assert list(plan) == ["macro", "objects", "attributes", "batch", "order"]
    assert plan["macro"].triples["cement"] == ("hc_cement", "hc_info_nce", "macro")
    assert plan["attributes"].triples["hc_lc"][2] == "sugarcrepe/replace_att/i2t"
    assert plan["attributes"].contrasts["hc_lc"].expected == "-"
    assert plan["batch"].contrasts["cement_large"].expected is None


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("expected: +", "expected: more", "expected"),
        ("left: a", "lefts: a", "left"),
        ("measure: m", "", "measure"),
    ],
)
def test_a_malformed_plan_is_refused(old: str, new: str, words: str, tmp_path: Path) -> None:
    text = "f:\n  about: x\n  measure: m\n  contrasts:\n    c: {left: a, right: b, expected: +, why: w}\n"
    (tmp_path / "plan.yml").write_text(text)
    assert comparisons.load_plan(tmp_path / "plan.yml")["f"].contrasts["c"].expected == "+"
    for malformed in (text.replace(old, new), ""):
        (tmp_path / "plan.yml").write_text(malformed)
        with pytest.raises(ValueError, match=words if malformed else "dictionary") as caught:
            comparisons.load_plan(tmp_path / "plan.yml")
        assert str(caught.value).startswith(f"{tmp_path / 'plan.yml'}: ")


@pytest.mark.parametrize(
    ("value", "half", "p", "expected", "verdict"),
    [
        (0.03, 0.02, 0.049, "+", "holds"),
        (0.03, 0.02, 0.05, "+", "not testable at this scale"),
        (-0.03, 0.02, 0.049, "+", "does not hold"),
        (-0.03, 0.02, 0.049, "-", "holds"),
        (0.03, 0.02, 0.049, "-", "does not hold"),
        (0.03, 0.02, 0.049, None, "holds"),
        (-0.03, 0.02, 0.049, None, "holds"),
        (0.03, 0.02, 0.06, None, "not testable at this scale"),
        # Within a point of zero: nothing where the sign is open, but a small effect is an effect.
        (0.001, 0.0089, 0.3, "+", "does not hold"),
        (0.001, 0.0091, 0.3, "+", "not testable at this scale"),
        (-0.001, 0.0091, 0.3, "+", "not testable at this scale"),
        (0.001, 0.0089, 0.3, None, "does not hold"),
        (0.005, 0.001, 0.001, "+", "holds"),
        (-0.005, 0.001, 0.001, "+", "does not hold"),
    ],
)
def test_the_rule_decides_by_corrected_p_then_sign_then_width(
    value: float, half: float, p: float, expected: str | None, verdict: str
) -> None:
    assert comparisons.verdict(difference(value, half), p, expected) == verdict
