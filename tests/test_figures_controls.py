"""Differences of arms, their figures, colours and batches, against loops and numbers done by hand."""

from itertools import product
from types import SimpleNamespace

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import t

from slipform_core.figures import batch, controls, effects, gains
from slipform_core.statistics import Estimate

matplotlib.use("Agg")

SEEDS = (101, 102, 103)
SCORES = {
    ("a", "macro"): [0.50, 0.52, 0.57],
    ("b", "macro"): [0.49, 0.49, 0.52],
    ("a", "objects"): [0.90, 0.80, 0.70],
    ("b", "objects"): [0.80, 0.90, 0.75],
}
REFERENCE = SimpleNamespace(seeds=SEEDS, scores=lambda arm, measure: np.array(SCORES[arm, measure]))


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def effect(value: float, half: float, by_seed: dict | None = None, planned: bool = False) -> effects.Effect:
    return effects.Effect(Estimate(value, value - half, value + half), by_seed or {}, planned)


def test_an_effect_is_paired_by_seed_and_planned_only_where_the_plan_has_it() -> None:
    panels = {"macro": ["macro"], "objects": ["objects"], "both": ["macro", "objects"]}
    planned = {("a", "b", "macro"), ("b", "a", "objects")}
    found = effects.effects(REFERENCE, {"a − b": ("a", "b")}, panels, planned)
    assert [found[title]["a − b"].planned for title in panels] == [True, False, False]
    by_hand = {
        title: [
            sum(SCORES["a", m][i] - SCORES["b", m][i] for m in measures) / len(measures) for i in range(3)
        ]
        for title, measures in panels.items()
    }
    for title, values in by_hand.items():
        one = found[title]["a − b"]
        assert one.by_seed == pytest.approx(dict(zip(SEEDS, values, strict=True)))
        half = t.ppf(0.975, 2) * np.std(values, ddof=1) / 3**0.5
        expected = (np.mean(values), np.mean(values) - half, np.mean(values) + half)
        assert tuple(one.estimate) == pytest.approx(expected)


def test_a_change_of_differences_is_paired_by_seed_whatever_their_order() -> None:
    late = effect(0, 0, {1: 0.05, 2: 0.02})
    early = effect(0, 0, {2: -0.01, 1: 0.01})
    assert effects.change(late, early).by_seed == pytest.approx({1: 0.04, 2: 0.03})
    with pytest.raises(KeyError):
        effects.change(late, effect(0, 0, {1: 0.01}))


def test_differences_are_shown_in_points_with_sign() -> None:
    assert effect(0.0123, 0.02).shown() == "+1.2 (−0.8 to +3.2)"
    assert effects.points(-0.0001) == "+0.0"
    assert [effect(*sides).excludes_zero for sides in ((0.02, 0.01), (0.01, 0.02), (-0.02, 0.01))] == [
        True,
        False,
        True,
    ]


def test_a_forest_has_points_in_percent_filled_where_planned_and_a_dot_a_seed() -> None:
    rows = {"first": effect(0.02, 0.01, {1: 0.01, 2: 0.03}, planned=True), "second": effect(-0.01, 0.02)}
    rows["third"] = effects.Effect(Estimate(0.01, 0.0, 0.05), {})
    figure = effects.forest({"macro": rows, "objects": rows, "more": rows}, what="l − r", source="a run")
    assert [axes.get_title(loc="left") or axes.get_title() for axes in figure.axes[:3]] == [
        "macro",
        "objects",
        "more",
    ]
    assert not figure.axes[3].get_visible()
    axes = figure.axes[0]
    means = {tuple(np.ravel(bars.lines[0].get_xydata())): bars.lines[0] for bars in axes.containers}
    assert sorted(means) == [(-1.0, 1.0), (1.0, 2.0), (2.0, 0.0)]
    faces = {place: line.get_markerfacecolor() == line.get_color() for (_, place), line in means.items()}
    assert faces == {0.0: True, 1.0: False, 2.0: False}
    ends = [np.ravel(bars.lines[2][0].get_segments()[0][:, 0]) for bars in axes.containers]
    assert sorted(map(tuple, np.round(ends, 9).tolist())) == [(-3.0, 1.0), (0.0, 5.0), (1.0, 3.0)]
    dots = [line.get_xdata() for line in axes.lines if line.get_label() == "one seed"]
    assert [list(xs) for xs in dots] == [[1.0, 3.0]]
    assert [text.get_text() for text in figure.legends[0].texts] == ["one seed", "planned", "exploratory"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["first", "second", "third"]
    assert axes.yaxis_inverted()


def test_a_heatmap_has_arms_down_kinds_across_and_frames_what_excludes_zero() -> None:
    found = {
        "obj": {"hc": effect(0.02, 0.01), "lc": effect(-0.123, 0.2)},
        "att": {"hc": effect(0.001, 0.01), "lc": effect(-0.04, 0.01)},
        "rel": {"hc": effect(0.0, 0.01), "lc": effect(0.0, 0.01)},
    }
    (axes,) = effects.heatmap(found, full=10, source="a run").axes
    texts = {text.get_position(): text.get_text() for text in axes.texts}
    assert texts == {
        (0, 0): "+2.0",
        (1, 0): "+0.1",
        (2, 0): "+0.0",
        (0, 1): "−12",
        (1, 1): "−4.0",
        (2, 1): "+0.0",
    }
    middles = {(round(p.get_x() + p.get_width() / 2), round(p.get_y() + 0.44)) for p in axes.patches}
    assert middles == {(0, 0), (1, 1)}
    assert axes.images[0].get_clim() == (-10, 10)
    assert np.asarray(axes.images[0].get_array()) == pytest.approx(np.array([[2, 0.1, 0], [-12.3, -4, 0]]))


def test_matched_sets_are_means_over_seeds_and_a_kind_that_a_set_lacks_is_none_of_it() -> None:
    def side(count: int, similarity: float, **kinds: int) -> dict:
        return {"count": count, "kinds": kinds, "similarity": similarity}

    one = {"hc": {"before": side(4, 0.9, NOUN=3, ADJ=1), "after": side(1000, 0.8, ADJ=1000)}}
    two = {"hc": {"before": side(8, 0.7, NOUN=2, ADJ=6), "after": side(2000, 0.9, ADJ=2000)}}
    table = controls.matched_sets([one, two])
    assert table.loc[("hc", "before")].to_dict() == {
        "records": "6",
        "ADJ": "50.0 %",
        "NOUN": "50.0 %",
        "cos(t, t')": "0.800",
    }
    assert list(table.loc[("hc", "after")]) == ["1,500", "100.0 %", "0.0 %", "0.850"]


def test_the_margin_is_the_scaled_tanh_and_a_narrow_one_a_step() -> None:
    words = {"red": 4.24, "blue": 3.76, "dog": 4.85, "edge": 1.0}
    found = gains.margins(words, low=-1, high=3, midpoint=3.5, width=0.2)
    assert found == pytest.approx({w: 1 + 2 * np.tanh((c - 3.5) / 0.4) for w, c in words.items()})
    paper = gains.margins(words, low=-2, high=2, midpoint=4, width=0.15)
    assert round(paper["red"], 2) == 1.33 and paper["blue"] == pytest.approx(-paper["red"])
    assert gains.margins(words, low=-2, high=2, midpoint=4, width=1e-6) == {
        "red": 2.0,
        "blue": -2.0,
        "dog": 2.0,
        "edge": -2.0,
    }


MARGIN = {"red": 1.33, "blue": -1.33, "green": 0.46, "black": -1.33, "white": -0.7, "pink": -0.46}


def coloured(slope: float, spread: float = 0.004):
    """Made-up gains: a shift a seed, the slope, and noise of a fixed generator."""
    rng = np.random.default_rng(1)
    shift = rng.normal(0, 0.02, 5)
    found = {word: slope * m + shift + rng.normal(0, spread, 5) for word, m in MARGIN.items()}
    return gains.gains(found, MARGIN, range(5))


def test_a_planted_slope_over_the_margin_is_found_and_none_is_not() -> None:
    for planted in (0.02, 0.0):
        table = coloured(planted)
        found = gains.slope(table)
        fit = found.coefficients["margin"]
        assert (found.groups, found.observations) == (5, 30)
        assert fit["low"] < planted < fit["high"]
        assert (fit["low"] > 0) == (planted > 0)
        # Within seeds, so that shifts of a seed do not count: by least squares with a dummy a seed.
        wide = table.pivot(index="seed", columns="word", values="gain")
        x = np.array([MARGIN[word] for word in wide.columns])
        y = wide.to_numpy() - wide.to_numpy().mean(1, keepdims=True)
        within = (y @ (x - x.mean())).sum() / (5 * ((x - x.mean()) ** 2).sum())
        assert fit["estimate"] == pytest.approx(within, abs=1e-6)


def test_gains_leave_out_a_word_that_a_seed_lacks() -> None:
    found = {"red": np.array([0.1, np.nan, 0.2]), "blue": np.array([0.05, 0.0, np.nan])}
    table = gains.gains(found, MARGIN, SEEDS)
    assert table.to_dict("records") == [
        {"word": "red", "seed": 101, "margin": 1.33, "gain": 0.1},
        {"word": "red", "seed": 103, "margin": 1.33, "gain": 0.2},
        {"word": "blue", "seed": 101, "margin": -1.33, "gain": 0.05},
        {"word": "blue", "seed": 102, "margin": -1.33, "gain": 0.0},
    ]
    with pytest.raises(ValueError, match="n = 1 seeds"):
        gains.between(table, "red", "blue")
    assert gains.between(coloured(0.02, spread=1e-9), "red", "blue").estimate.value == pytest.approx(0.0532)


def test_slopes_say_the_interval_or_why_there_is_none() -> None:
    flat = gains.gains({word: np.zeros(3) for word in MARGIN}, MARGIN, SEEDS)
    table = gains.slopes({"steep": coloured(0.02), "flat": flat}, "red", "blue")
    assert table.loc["steep"].iloc[0].endswith("excludes zero")
    assert table.loc["flat"].iloc[0].startswith("none: ")
    assert table.loc["flat"].iloc[1] == "+0.0 (+0.0 to +0.0)"


def test_a_scatter_has_each_word_near_its_margin_in_its_colour() -> None:
    swatches = {word: (10 * place, 20, 30) for place, word in enumerate(MARGIN)}
    figure = gains.scatter({"one": coloured(0.02), "other": coloured(0.0)}, swatches, source="a run")
    assert len(figure.axes) == 2
    texts = {text.get_text(): text.xy[0] for text in figure.axes[0].texts}
    assert texts == pytest.approx(MARGIN, abs=2 * gains.APART)
    assert texts["blue"] != texts["black"]
    faces = {bars.lines[0].get_color()[0] for bars in figure.axes[0].containers}
    assert faces == {10 * place / 255 for place in range(len(MARGIN))}


RUNS = [
    {
        "gradients:shares/hc": shares,
        "gradients:shares": {"hc": shares},
        "training:a/pictures": 960,
        "training:a/steps": 30,
        "training:a_half/pictures": 960,
        "training:a_half/steps": 60,
        "composition:a/macro/value": score,
        "composition:a_half/macro/value": score - 0.1,
    }
    for share, score in ((0.2, 0.7), (0.3, 0.8), (0.4, 0.75))
    for shares in [{"info_nce": {"32": {"mean": share, "stderr": 0.01}, "8": {"mean": 0.6, "stderr": 0.02}}}]
]


def test_shares_are_over_batches_in_a_run_and_over_seeds_in_several() -> None:
    one = batch.shares_in_run(RUNS[0], "hc")["info_nce"]
    assert list(one.index) == [8, 32]
    assert list(one.loc[32]) == pytest.approx([0.2, 0.2 - 0.0196, 0.2 + 0.0196])
    several = batch.shares_over_seeds(RUNS, "hc")["info_nce"]
    half = t.ppf(0.975, 2) * 0.1 / 3**0.5
    assert list(several.loc[32]) == pytest.approx([0.3, 0.3 - half, 0.3 + half])
    assert list(several.loc[8]) == pytest.approx([0.6, 0.6, 0.6])


def test_a_run_without_such_negatives_has_no_shares() -> None:
    assert batch.shares_in_run(RUNS[0], "swap") == {}


def test_scores_are_in_percent_at_the_pictures_of_a_step() -> None:
    curve = batch.scores_by_batch(RUNS, {"info_nce": ["a_half", "a"]}, "macro")["info_nce"]
    assert curve["mean"].to_dict() == pytest.approx({16: 65.0, 32: 75.0})
    assert (curve["low"] < curve["mean"]).all() and (curve["mean"] < curve["high"]).all()


@pytest.mark.parametrize("band", [True, False])
def test_curves_are_drawn_at_their_sizes_in_their_arms_colours(band: bool) -> None:
    axes = plt.figure().subplots()
    curve = batch.shares_over_seeds(RUNS, "hc")["info_nce"]
    batch.draw(axes, {"info_nce": curve, "hc_cement": curve + 0.1}, source="a run", band=band)
    handles, labels = axes.get_legend_handles_labels()
    assert labels == ["info_nce, a run", "hc_cement, a run"]
    lines = handles if band else [bars.lines[0] for bars in handles]
    assert [line.get_color() for line in lines] == ["#d55e00", "#009e73"]
    for line, lift in zip(lines, (0, 0.1), strict=True):
        assert list(line.get_ydata()) == pytest.approx([0.6 + lift, 0.3 + lift])
        assert list(line.get_xdata()) == pytest.approx([8, 32], rel=0.0 if band else 0.05)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["8", "32"]


def test_the_surface_has_midpoints_across_widths_down_and_no_cell_picked_out() -> None:
    found = {
        (midpoint, width): effect(midpoint / 100, width / 50)
        for midpoint, width in product((4.5, 3.5, 4), (0.15, 0.5))
    }
    (axes,) = batch.surface({"macro": found}, full=5, source="a run").axes
    texts = {text.get_position(): text.get_text() for text in axes.texts}
    assert texts[0, 0] == "+3.5\n+3.2 to +3.8"
    assert texts[2, 1] == "+4.5\n+3.5 to +5.5"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["3.5", "4", "4.5"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0.15", "0.5"]
    assert not axes.patches


def test_the_surface_is_of_the_arms_whose_words_read_their_own_concreteness() -> None:
    def arm(negatives: str, kind: str | None, concreteness: str | None = None) -> dict:
        margin = kind and {"kind": kind, "midpoint": 4.0, "width": 0.15}
        return {"negatives": negatives, "margin": margin, "concreteness": concreteness}

    arms = {
        "plain": arm("wo", None),
        "mean": arm("wo", "mean"),
        "reversed": arm("wo", "reversed"),
        "other": arm("hc", "fermi_dirac"),
        "shuffled": arm("wo", "fermi_dirac", "shuffled"),
        "cement": arm("wo", "fermi_dirac"),
    }
    assert batch.margins_of(arms, "wo") == {(4.0, 0.15): "cement"}
    assert batch.margins_of(dict(reversed(arms.items())), "wo") == {(4.0, 0.15): "cement"}
