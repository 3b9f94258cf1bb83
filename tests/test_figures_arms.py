"""Columns, gains and figures of arms, on results that are made up here, against sums by hand."""

import base64
from collections.abc import Iterator

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

from slipform_core import metrics, outcomes, statistics
from slipform_core.figures import arms
from slipform_core.outcomes import Outcomes
from slipform_core.results import MissingResult, Result
from slipform_core.statistics import Estimate

ARMS = ("base", "plain", "hc_info_nce", "hc_cement")
SETTINGS = {
    "hc_info_nce": {"negatives": "hc", "loss": "info_nce"},
    "hc_matched": {"negatives": "hc_matched", "loss": "info_nce"},
    "wo_cement": {"negatives": "wo", "loss": "cement"},
    "swap_other": {"negatives": "swap", "loss": "some_loss"},
}


@pytest.fixture(autouse=True)
def no_screen() -> Iterator[None]:
    matplotlib.use("Agg")
    yield
    plt.close("all")


def result(seed: int) -> Result:
    """Scores of every column of Table 2, and a kind that is in none."""
    rng = np.random.default_rng(seed)
    names = [name for column in arms.TABLE_2.values() for name in column if name != "macro"]
    values: dict = {}
    for arm in ARMS:
        tree = values[arm] = {"macro": {"value": float(rng.uniform()), "stderr": 0.0123}}
        for name in [*names, "sugarcrepe/swap_rel/i2t"]:
            benchmark, subset, metric = name.split("/")
            score = {"value": float(rng.uniform()), "count": 100, "stderr": 0.02}
            tree.setdefault(benchmark, {}).setdefault(subset, {})[metric] = score
    return Result("composition", "mini", values, {})


def estimate(value: float, half: float) -> Estimate:
    return Estimate(value, value - half, value + half)


def test_the_columns_of_table_2_give_the_macro_average_by_the_papers_rule() -> None:
    file = result(1)
    names = ["SugarCrepe", "SugarCrepe++ ITT", "SugarCrepe++ TOT"]
    names += [f"Winoground {metric}" for metric in ("text", "image", "group")]
    assert list(arms.TABLE_2) == [*names, "macro"]
    assert [len(of) for of in arms.TABLE_2.values()] == [7, 5, 5, 2, 2, 2, 1]
    columns = [arms.column(file, "plain", arms.TABLE_2[name]) for name in names]
    scores = file.values["plain"]
    seven = [
        scores["sugarcrepe"][kind]["i2t"]["value"] for kind in scores["sugarcrepe"] if kind != "swap_rel"
    ]
    assert columns[0] == pytest.approx(sum(seven) / 7)
    text = [scores["winoground"][kind]["text"]["value"] for kind in ("swap_obj", "swap_att")]
    assert columns[3] == pytest.approx(sum(text) / 2)
    scored = {
        f"{benchmark}/{subset}/{metric}": score["value"]
        for benchmark in ("sugarcrepe", "scpp", "winoground")
        for subset, by_metric in scores[benchmark].items()
        for metric, score in by_metric.items()
    }
    assert metrics.macro_average(*columns) == pytest.approx(metrics.macro_of(scored))


def test_chance_is_what_random_similarities_get() -> None:
    """The rate of every metric on 200,000 random items, whose standard error is at most .0011."""
    rng = np.random.default_rng(0)
    four = metrics.winoground(rng.normal(size=(200_000, 2, 2)))
    triples = metrics.scpp(rng.normal(size=(200_000, 3)), rng.normal(size=(200_000, 3)))
    pairs = metrics.caption_choice(rng.normal(size=(200_000, 2)))
    found = {"i2t": pairs, "t2i": pairs, "itt": triples.i2t, "tot": triples.tot} | four._asdict()
    assert {name: right.mean() for name, right in found.items()} == pytest.approx(arms.CHANCE, abs=0.005)


def test_gains_are_paired_by_seed_and_in_points() -> None:
    seeds = [result(seed) for seed in (1, 2, 3)]
    columns = {"both": ["macro", "sugarcrepe/swap_rel/i2t"]}
    found = arms.gains(seeds, ["hc_cement"], "plain", columns)["hc_cement"]["both"]
    apart = []
    for file in seeds:
        sides = [
            (file[f"{arm}/macro/value"] + file[f"{arm}/sugarcrepe/swap_rel/i2t/value"]) / 2
            for arm in ("hc_cement", "plain")
        ]
        apart.append(100 * (sides[0] - sides[1]))
    half = 4.302653 * np.std(apart, ddof=1) / np.sqrt(3)  # Student's t, two degrees of freedom, 95 %
    assert found == pytest.approx((np.mean(apart), np.mean(apart) - half, np.mean(apart) + half), rel=1e-5)
    with pytest.raises(MissingResult, match="add_rel"):
        arms.gains(seeds, ["plain"], "base", {"none": ["sugarcrepe/add_rel/i2t"]})


def test_the_table_over_seeds_has_a_row_an_arm_with_the_columns_in_order() -> None:
    seeds = [result(seed) for seed in (1, 2)]
    table = arms.seeds_table(seeds, ["hc_cement", "base"], arms.TABLE_2)
    assert list(table.index) == ["hc_cement", "base"]
    assert list(table) == list(arms.TABLE_2)
    macros = [file["base/macro/value"] for file in seeds]
    mean, low, high = statistics.over_seeds(macros)
    text = f"{100 * mean:.1f} ({100 * low:.1f} to {100 * high:.1f})".replace("-", "−")
    assert table.loc["base", "macro"] == text


def test_a_runs_standard_errors_are_those_of_scenes_not_of_items() -> None:
    """Two kinds that are right in the same scenes: the mean of both is no surer than one of them."""
    rng = np.random.default_rng(5)
    right = rng.uniform(size=400) < 0.7
    names = ["sugarcrepe/replace_obj/i2t", "sugarcrepe/replace_att/i2t"]
    about = outcomes.items(np.arange(400), ["word"] * 400, 400)
    packed = base64.b64encode(np.packbits(right).tobytes()).decode()
    given = Outcomes(
        {
            "scenes": 400,
            "items": {name.rpartition("/")[0]: about for name in names},
            "arms": {"base": {name.rpartition("/")[0]: {"i2t": packed} for name in names}},
        }
    )
    score = {"i2t": {"value": float(right.mean()), "count": 400, "stderr": 0.0456}}
    values = {"base": {"sugarcrepe": {"replace_obj": score, "replace_att": score}}}
    columns = {"mean": names, "one": names[:1]}
    table = arms.run_table(Result("composition", "mini", values, {}), given, columns, rng=rng, draws=4000)
    rate = right.mean()
    assert table.loc["base", "one"] == f"{100 * rate:.1f} ± 4.6"
    value, stderr = map(float, table.loc["base", "mean"].split(" ± "))
    assert value == pytest.approx(100 * rate, abs=0.05)
    # The bootstrap's own noise is a few per cent; items taken as independent would give 0.7 of this.
    assert stderr == pytest.approx(100 * np.sqrt(rate * (1 - rate) / 400), rel=0.08)


def test_numbers_are_percent_and_a_zero_has_no_minus() -> None:
    assert arms.spread(Estimate(0.8314, 0.82, 0.842)) == "83.1 (82.0 to 84.2)"
    assert arms.spread(Estimate(-0.0001, -0.02, 0.0199), "+z.1f") == "+0.0 (−2.0 to +2.0)"
    assert arms.around({"value": 0.5, "stderr": 0.01}) == pytest.approx((50, 48.04, 51.96))


def test_subsets_are_named_by_kind_or_by_kind_and_metric() -> None:
    file = result(1)
    assert arms.subsets(file, "winoground", "text") == {
        "swap_obj": ["winoground/swap_obj/text"],
        "swap_att": ["winoground/swap_att/text"],
    }
    assert list(arms.subsets(file, "winoground", "text", "group")) == [
        "swap_obj text",
        "swap_att text",
        "swap_obj group",
        "swap_att group",
    ]


def test_sides_count_each_arm_once_where_its_intervals_lie() -> None:
    gained = {
        "costs": {"macro": estimate(2, 1), "recall": estimate(-2, 1)},
        "wins": {"macro": estimate(2, 1), "recall": estimate(2, 1)},
        "open": {"macro": estimate(0.5, 1), "recall": estimate(-2, 1)},
        "touches": {"macro": estimate(1, 1), "recall": estimate(-1, 1)},
    }
    table = arms.sides(gained)
    assert (table.index.name, table.columns.name) == ("recall", "macro")
    assert list(table.index) == list(table) == ["above", "open", "below"]
    assert table.to_numpy().tolist() == [[1, 0, 0], [0, 1, 0], [1, 1, 0]]


def test_every_arm_has_a_look_of_its_own_and_main_arms_keep_theirs() -> None:
    few = arms.looks(["plain", "mine"])
    many = arms.looks([*arms.MAIN, *(f"arm_{number}" for number in range(22))])
    assert few["plain"] == many["plain"]
    assert len(set(many.values())) == 29
    with pytest.raises(ValueError, match="36 arms for 35 looks: arm_0"):
        arms.looks([f"arm_{number}" for number in range(36)])


def test_intervals_put_each_estimate_at_its_row_with_both_ends() -> None:
    _, axes = plt.subplots()
    series = {
        "plain": {"first": Estimate(1, 0.5, 3), "second": estimate(2, 1)},
        "base": {"second": estimate(5, 0.25)},
    }
    arms.intervals(axes, series, arms.looks(list(series)))
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["first", "second"]
    assert axes.yaxis_inverted()
    points, bars = {}, {}
    for container in axes.containers:
        line, _, (ends,) = container.lines
        points[container.get_label()] = line.get_xydata()
        bars[container.get_label()] = [segment[:, 0].tolist() for segment in ends.get_segments()]
    assert points["plain"][:, 0].tolist() == [1, 2]
    assert bars == {"plain": [[0.5, 3], [1, 3]], "base": [[4.75, 5.25]]}
    nearest = {name: [labels[round(height)] for height in of[:, 1]] for name, of in points.items()}
    assert nearest == {"plain": ["first", "second"], "base": ["second"]}
    assert points["plain"][1, 1] != points["base"][0, 1]


def test_the_trade_off_shows_every_arm_and_names_those_asked_for() -> None:
    figure, axes = plt.subplots()
    gained = {arm: {"x": estimate(n, 0.5), "y": estimate(-n, 0.25)} for n, arm in enumerate(SETTINGS)}
    arms.trade_off(axes, gained, SETTINGS, ["wo_cement", "not_trained"])
    found = [tuple(container.lines[0].get_xydata()[0]) for container in axes.containers]
    assert found == [(n, -n) for n in range(4)]
    _, names = axes.get_legend_handles_labels()
    assert names == ["concrete words, InfoNCE", "any words, a margin", "exchanged words, another objective"]
    assert [text.get_text() for text in axes.texts] == ["wo_cement"]
    across, up = axes.containers[0].lines[2]
    assert across.get_segments()[0].tolist() == [[-0.5, 0], [0.5, 0]]
    assert up.get_segments()[0].tolist() == [[0, -0.25], [0, 0.25]]
    figure.canvas.draw()


def test_panels_share_rows_and_have_one_legend(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf()))
    rows = {"a": estimate(1, 2), "b": estimate(2, 1)}
    arms.panels(
        {"one": {"plain": rows, "base": rows}, "two": {"hc_cement": rows}}, arms.looks(arms.MAIN), "T"
    )
    (figure,) = shown
    assert [axes.get_title() for axes in figure.axes] == ["one", "two"]
    assert [text.get_text() for text in figure.legends[0].texts] == ["plain", "base", "hc_cement"]


def test_objectives_are_shown_against_info_nce_on_the_same_negatives(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf()))
    plain = {"negatives": None, "loss": "info_nce"}
    settings = SETTINGS | {"plain": plain, "hc_cement": {"negatives": "hc", "loss": "cement"}}
    settings |= {name: {"negatives": "hc", "loss": "some_loss"} for name in ("hc_other", "hc_not_run")}
    seeds = []
    for seed in range(3):
        one, other = result(seed), result(100 + seed)
        values = one.values | dict.fromkeys(("swap_other", "hc_other"), other.values["plain"])
        seeds.append(Result("composition", "mini", values, {"config": {"arms": settings}}))
    arms.objectives(seeds)
    (figure,) = shown
    assert [axes.get_title() for axes in figure.axes] == ["macro", "SugarCrepe", "SugarCrepe++ ITT"]
    rows = ["plain", "hc_cement", "hc_other"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == rows
    for axes in figure.axes:
        drawn = axes.containers[0].lines[0].get_xdata()
        for value, arm in zip(drawn, rows, strict=True):
            of = arms.TABLE_2[axes.get_title()]
            apart = [arms.column(one, arm, of) - arms.column(one, "hc_info_nce", of) for one in seeds]
            assert value == pytest.approx(100 * sum(apart) / 3)
