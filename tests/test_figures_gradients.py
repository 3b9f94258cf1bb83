"""The figures of the gradient imbalance show the numbers that they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from slipform_core.figures import gradients

MARGIN = {"low": -2, "high": 2, "midpoint": 4, "width": 0.15}
BINS = [1.0, 2.0, 3.0, 4.0, 5.0]
MEASURED = {
    "pictures": 64,
    "bins": BINS,
    "count": [7, 8, 30, 40],
    "quartiles": {
        "info_nce": [[0.1, 0.1, 0.1], [0.1, 0.2, 0.3], [0.2, 0.3, 0.4], [0.1, 0.2, 0.3]],
        "hc_cement": [[0.1, 0.1, 0.1], [0.01, 0.02, 0.03], [0.1, 0.2, 0.3], [0.5, 0.6, 0.7]],
    },
}


def test_one_axis_of_concreteness_has_words_margin_and_shares() -> None:
    figure = gradients.over_concreteness(
        {"hc": [0, 1, 1, 2], "any": [1, 1, 1, 1]},
        BINS,
        MARGIN,
        MEASURED,
        logit_scale=20.0,
        margined="hc_cement",
    )
    words, curve, shares = figure.axes
    assert [patch.get_data().values.tolist() for patch in words.patches] == [[0, 25, 25, 50], [25] * 4]
    line = curve.lines[0]
    at = dict(zip(np.round(line.get_xdata(), 2), line.get_ydata(), strict=True))
    assert [at[c] for c in (3.0, 3.85, 4.0, 5.0)] == pytest.approx([-1.99492, -0.92423, 0, 1.99492], abs=1e-5)
    (cosine,) = curve.child_axes
    figure.canvas.draw()
    assert cosine.get_ylim() == pytest.approx(tuple(m / 20 for m in curve.get_ylim()))
    plain, lifted = shares.lines
    assert plain.get_xdata().tolist() == lifted.get_xdata().tolist() == [2.5, 3.5, 4.5]
    assert lifted.get_ydata().tolist() == [0.02, 0.2, 0.6]
    plt.close(figure)


def test_a_bin_with_few_pairs_has_no_quartiles_shown() -> None:
    few = MEASURED | {"count": [7, 7, 7, 7]}
    figure = gradients.over_concreteness(
        {"hc": [0, 1, 1, 2]}, BINS, MARGIN, few, logit_scale=20.0, margined="hc_cement"
    )
    assert not figure.axes[2].lines
    plt.close(figure)


def test_objectives_with_the_same_shares_are_one_row_and_the_least_comes_first() -> None:
    def curve(*means: float) -> dict:
        return {"16": {"mean": means[1], "stderr": 0}, "8": {"mean": means[0], "stderr": 0}}

    frame = gradients.by_objective(
        {
            "tsvlc": curve(0.8, 0.7),
            "dcl": curve(0.30001, 0.1),
            "info_nce": curve(0.3, 0.1),
            "clic": curve(0.3, 0.2),
        }
    )
    assert list(frame.index) == ["dcl, info_nce", "clic", "tsvlc"] and list(frame.columns) == [8, 16]
    figure = gradients.objectives({"base": frame, "arm": frame.iloc[:2]})
    texts = {text.get_position(): text.get_text() for text in figure.axes[0].texts}
    assert texts[0, 0] == "0.30" and texts[1, 2] == "0.70" and len(figure.axes[1].texts) == 4
    plt.close(figure)


@pytest.mark.parametrize("points", [1, 3])
def test_a_budget_is_half_the_positives_and_each_mean_holds_over_its_steps(points: int) -> None:
    own = [0.1, 0.2, 0.3][:points]
    log = {"every": 10, "steps": 10 * points - 5, "curves": {"budget": own}}
    figure = gradients.budgets({"arm": log})
    areas = [area.get_paths()[0] for area in figure.axes[0].collections]
    assert len(areas) == 3
    bottom, top = areas[1].vertices[:, 1].min(), areas[1].vertices[:, 1].max()
    assert (bottom, top) == pytest.approx((0.5, 0.5 + own[-1]))
    assert areas[2].vertices[:, 1].max() == pytest.approx(1)
    assert areas[0].vertices[:, 0].min() == 0 and areas[0].vertices[:, 0].max() == 10 * points - 5
    plt.close(figure)
