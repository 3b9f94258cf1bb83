"""Tables: numbers from results as a reader wants to see them."""

import pandas as pd

from slipform_core import tables


def test_scores_stand_in_percent_with_their_standard_error() -> None:
    scores = {
        "base": {"swap_obj": {"value": 0.5, "stderr": 0.0158}},
        "plain": {"swap_obj": {"value": 1, "stderr": 0}},
    }
    assert tables.percent(scores).to_dict() == {
        "base": {"swap_obj": "50.0 ± 1.6"},
        "plain": {"swap_obj": "100.0 ± 0.0"},
    }


def test_whole_columns_have_no_decimals_and_nothing_is_a_dash() -> None:
    table = pd.DataFrame({"steps": [1200, 3], "share": [0.51234, None]})
    assert tables.shown(table, 2).values.tolist() == [["1,200", "0.51"], ["3", "–"]]
