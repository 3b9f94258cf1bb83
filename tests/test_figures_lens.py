"""Tables of what `slipform eval` found."""

import pytest

from slipform_core.figures import lens
from slipform_core.results import Result


def scored(count, value=None, **more):
    return {"count": count, "value": value, "stderr": None if value is None else 0.01} | more


def result(name, odds):
    trend = {"odds_ratio": odds, "low": odds / 2, "high": odds * 2, "p": 0.0312}
    strata = {
        "bands": [scored(0, low=1.0, high=4.0), scored(1200, 0.75, low=4.0, high=4.5)],
        "unrated": scored(3, 0.5),
        "roles": {"object": scored(7, 1.0), "relation": scored(0)},
        "trend": {"all": trend, "object": {"reason": "all are right"}},
    }
    return Result(name, "eval", {"benchmarks": {"mine": {"lens": {"mine/i2t": strata}}}}, {})


FOUND = {"one": result("one", 1.5), "other": result("other", 0.5)}


def test_bands_leave_out_what_has_no_items():
    table = lens.bands(FOUND, "mine")
    assert list(table.index) == ["c from 4 to 4.5", "c unknown", "object"]
    assert table.loc["c from 4 to 4.5"].tolist() == ["1,200", "75.0 ± 1.0", "75.0 ± 1.0"]


def test_trends_have_their_interval_or_the_reason():
    table = lens.trends(FOUND, "mine")
    assert table.loc["all"].tolist() == ["1.50 [0.75, 3.00], p = 0.031", "0.50 [0.25, 1.00], p = 0.031"]
    assert table.loc["object", "one"] == "all are right"


@pytest.mark.parametrize("table", [lens.cost, lens.blind])
def test_what_was_not_measured_says_so(table):
    assert "not measured yet" in table(None).to_string()


def test_cost_and_baselines_are_what_was_measured():
    ratio = {"median": 6.0, "lowest": 5.0, "highest": 7.0}
    measured = {
        "values": {"texts": 11844, "faster": ratio, "blind": {"SugarCrepe": {"shorter": [0.445, 0.674]}}}
    }
    assert lens.cost(measured)[""].to_dict() == {
        "texts": "11,844",
        "times faster than the loop": "6.00 (5.00 to 7.00)",
    }
    assert lens.blind(measured).loc["shorter", "SugarCrepe"] == "44.5 / 67.4"
