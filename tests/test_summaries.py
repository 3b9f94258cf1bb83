"""Macro averages of an outcomes file against a plain loop, and a world too small to have one."""

import numpy as np
import pytest

from slipform_core import outcomes, summaries
from slipform_core.metrics import COLUMNS, SUBSETS

RNG = np.random.default_rng(4)
SCENES = 60


def given(without: str = "") -> dict:
    """Two arms' random outcomes, an item a scene in each subset, fewer in some."""
    subsets = {f"{name}/{kind}": COLUMNS[name] for name, kinds in SUBSETS.items() for kind in kinds}
    scenes = {key: np.arange(SCENES - 5 * place % 40) for place, key in enumerate(subsets)}
    about = {key: outcomes.items(rows, ["w"] * len(rows), SCENES) for key, rows in scenes.items()}
    arms = {
        arm: {
            key: {metric: outcomes.pack(RNG.random(len(scenes[key])) < 0.6) for metric in metrics}
            for key, metrics in subsets.items()
            if not key.startswith(without or "-")
        }
        for arm in ("base", "plain")
    }
    return {"scenes": SCENES, "items": about, "arms": arms}


def test_the_macro_average_is_that_of_the_columns_with_an_error_from_scenes() -> None:
    values = given()
    found, read = summaries.macros(values, seed=1), outcomes.Outcomes(values)
    for arm in ("base", "plain"):
        columns = [
            [read.right(arm, f"{name}/{kind}/{metric}").mean() for kind in SUBSETS[name]]
            for name, metrics in COLUMNS.items()
            for metric in metrics
        ]
        crepe, itt, tot, text, image, group = (sum(column) / len(column) for column in columns)
        assert found[arm]["value"] == pytest.approx(
            (crepe + (itt + tot) / 2 + (text + image + group) / 3) / 3
        )
        # The columns are independent here: the variance of the macro is the sum of theirs, weights squared.
        weights = {"sugarcrepe": 1 / 3, "scpp": 1 / 6, "winoground": 1 / 9}
        variance = sum(
            (weights[name] / len(SUBSETS[name])) ** 2 * right.var() / len(right)
            for name, metrics in COLUMNS.items()
            for kind in SUBSETS[name]
            for metric in metrics
            if len(right := read.right(arm, f"{name}/{kind}/{metric}"))
        )
        # 1,000 draws give a percentile interval's width to about 5 %; thrice that.
        assert found[arm]["stderr"] == pytest.approx(variance**0.5, rel=0.15)
        assert found[arm]["count"] == SCENES


def test_a_world_without_the_items_of_a_column_has_no_macro_average() -> None:
    assert summaries.macros(given(without="winoground"), seed=1) == {}
