import math
import subprocess
import sys
import tracemalloc
from itertools import product

import numpy as np
import pandas
import pytest
import scipy.stats
import statsmodels.formula.api as smf
from statsmodels.nonparametric.smoothers_lowess import lowess

from slipform_core.statistics import (
    Estimate,
    clustered_bootstrap,
    equivalent,
    holm,
    loess,
    mixed_model,
    models,
    over_seeds,
    paired_bootstrap,
    permutation_p_value,
    seeds_p_value,
    spearman,
)

pytestmark = pytest.mark.filterwarnings("error")


def rng(seed=0):
    return np.random.default_rng(seed)


def exact_percentiles(values, level, draws):
    """Of a finite distribution, whose steps must be 5 standard errors of draws away from both tails."""
    steps = np.cumsum([np.mean(np.isclose(values, at)) for at in np.unique(np.round(values, 9))])
    for tail in ((1 - level) / 2, (1 + level) / 2):
        assert np.abs(steps - tail).min() > 5 * math.sqrt(0.25 / draws)
    return np.quantile(values, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")


def resampled_items(clusters, draws, seed):
    """The items of each resample, cluster after drawn cluster, from the numbers that the bootstrap draws."""
    labels = np.unique(clusters)
    for row in rng(seed).integers(0, len(labels), (draws, len(labels))):
        yield np.concatenate([np.flatnonzero(clusters == labels[at]) for at in row])


def null_frame(seed, effect=0.0, groups=100, each=8):
    """Outcomes 1 + .5 x with normal noise of variance 1 and group effects of a given deviation."""
    random, group = rng(seed), np.repeat(np.arange(groups), each)
    x = random.normal(size=groups * each)
    shift = effect * random.normal(size=groups)[group]
    return pandas.DataFrame({"y": 1 + 0.5 * x + shift + random.normal(size=len(x)), "x": x, "scene": group})


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_seeds_are_scipys_t_test(level):
    values = rng().normal(0.3, 1, 6)
    test = scipy.stats.ttest_1samp(values, 0)
    assert over_seeds(values, level)[1:] == pytest.approx(tuple(test.confidence_interval(level)))
    assert over_seeds(values).value == pytest.approx(values.mean())
    assert seeds_p_value(values) == pytest.approx(test.pvalue)


def test_the_t_interval_covers_with_three_seeds():
    trials = [over_seeds(values, 0.8) for values in rng().normal(0.3, 1, (1000, 3))]
    covered = sum(trial.low <= 0.3 <= trial.high for trial in trials)
    assert scipy.stats.binom.ppf(1e-4, 1000, 0.8) <= covered <= scipy.stats.binom.ppf(1 - 1e-4, 1000, 0.8)


def test_equal_seeds_have_no_spread():
    """The mean of three .1 rounds to another number, whose spread about them is not 0."""
    assert over_seeds([0.1] * 3) == (0.1, 0.1, 0.1)
    assert seeds_p_value([0.1] * 3) == seeds_p_value([-2, -2]) == 0
    assert seeds_p_value([0, 0]) == 1


def test_the_paired_bootstrap_has_the_exact_percentiles():
    left, right = np.array([1.0, 1.0, 3.0, 0.5]), np.array([1.0, 0.0, 0.0, 0.0])
    every = np.array([np.mean(pick) for pick in product(left - right, repeat=4)])
    found = paired_bootstrap(left, right, rng=rng(), draws=20_000, level=0.7)
    assert found.value == pytest.approx(4.5 / 4)
    assert found[1:] == pytest.approx(exact_percentiles(every, 0.7, 20_000))


def test_the_paired_bootstrap_draws_whole_clusters():
    left, clusters = np.array([0.0, 1.0, 4.0, -1.0, 3.0, 3.0]), np.array([7, -2, 7, 9, -2, -2])
    groups = [left[clusters == label] for label in (-2, 7, 9)]
    every = np.array([np.concatenate(pick).mean() for pick in product(groups, repeat=3)])
    found = paired_bootstrap(left, 0 * left, clusters=clusters, rng=rng(), draws=20_000, level=0.6)
    assert found[1:] == pytest.approx(exact_percentiles(every, 0.6, 20_000))
    names = np.array(["b", "a", "b", "c", "a", "a"])
    assert paired_bootstrap(left, 0 * left, clusters=names, rng=rng(), draws=20_000, level=0.6) == found


def test_items_repeated_in_clusters_are_the_items_themselves():
    left, right = rng().random((2, 50)) < 0.6
    once = paired_bootstrap(left, right, rng=rng(1))
    copies = paired_bootstrap(
        np.repeat(left, 3), np.repeat(right, 3), clusters=np.repeat(np.arange(50), 3), rng=rng(1)
    )
    assert once == pytest.approx(copies)


def test_the_paired_bootstrap_is_normal_for_many_items_and_scipys():
    """A percentile's standard error is sqrt(p (1 - p) / draws) / density: .0191 at .025 of 20,000 draws."""
    left, right = rng().normal(size=(2, 2000))
    found = paired_bootstrap(left, right, rng=rng(1), draws=20_000)
    stderr = np.std(left - right) / math.sqrt(2000)
    assert found.value == pytest.approx(np.mean(left - right))
    assert (np.array(found[1:]) - found.value) / stderr == pytest.approx([-1.96, 1.96], abs=5 * 0.0191)
    other = scipy.stats.bootstrap(
        (left - right,), np.mean, method="percentile", n_resamples=4000, batch=100, rng=rng(2)
    ).confidence_interval
    assert found[1:] == pytest.approx(tuple(other), abs=5 * stderr * 0.0191 * math.sqrt(1 + 5))


def test_only_clusters_cover_where_items_of_a_scene_are_alike():
    """60 scenes of 5 items that share most of their noise: the truth is 0."""
    covered, ignored, scenes = 0, 0, np.repeat(np.arange(60), 5)
    for seed in range(200):
        random = rng(seed)
        left = 2 * random.normal(size=60)[scenes] + random.normal(size=300)
        inside = paired_bootstrap(left, 0 * left, clusters=scenes, rng=random, draws=400)
        outside = paired_bootstrap(left, 0 * left, rng=random, draws=400)
        covered += inside.low <= 0 <= inside.high
        ignored += outside.low <= 0 <= outside.high
    # Percentiles of 60 means forgo Student's t and n - 1: .94 at best.
    assert scipy.stats.binom.ppf(1e-4, 200, 0.94) <= covered <= scipy.stats.binom.ppf(1 - 1e-4, 200, 0.95)
    assert ignored < scipy.stats.binom.ppf(1e-4, 200, 0.94)


def test_many_items_take_little_memory():
    values = rng().random(100_000)
    tracemalloc.start()
    try:
        paired_bootstrap(values, values[::-1], rng=rng(), draws=100)
        permutation_p_value(values, values[::-1], rng=rng(), draws=100)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 25e6  # all the draws at once would be 80 MB


def test_the_clustered_bootstrap_is_the_slow_loop():
    """Two arms of two subsets that have some scenes in common."""
    random = rng(3)
    scenes = {"easy": random.integers(0, 30, 80), "hard": random.integers(20, 50, 40)}
    columns = {(arm, kind): (random.random(len(c)) < 0.5, c) for arm in "ab" for kind, c in scenes.items()}
    labels = np.unique(np.concatenate(list(scenes.values())))

    def macro(means):
        return sum(means["a", kind] - means["b", kind] for kind in scenes) / 2

    slow = []
    for row in rng(4).integers(0, len(labels), (100, len(labels))):
        drawn = labels[row].tolist()
        means = {}
        for name, (outcomes, clusters) in columns.items():
            weights = [drawn.count(cluster) for cluster in clusters]
            means[name] = np.average(outcomes, weights=weights)
        slow.append(macro(means))
    found = clustered_bootstrap(columns, macro, rng=rng(4), draws=100, level=0.8)
    assert found[1:] == pytest.approx(np.quantile(slow, [0.1, 0.9]))
    assert found.value == pytest.approx(macro({name: np.mean(right) for name, (right, _) in columns.items()}))


def test_one_clustered_column_is_the_paired_bootstrap():
    left, scenes = rng().normal(size=90), rng(1).integers(0, 20, 90)
    column = {"gap": (left, scenes)}
    assert clustered_bootstrap(column, lambda means: means["gap"], rng=rng(2)) == pytest.approx(
        paired_bootstrap(left, np.zeros(90), clusters=scenes, rng=rng(2))
    )


def test_a_draw_that_leaves_a_column_empty_is_made_again():
    """Scene 2 alone has `rare`, and 8 draws of 27 are without it."""
    columns = {"all": ([0, 1, 5], [1, 2, 3]), "rare": ([10.0], [2])}
    every = [np.mean(pick) + 10 for pick in product([0, 1, 5], repeat=3) if 1 in pick]
    found = clustered_bootstrap(columns, lambda m: m["all"] + m["rare"], rng=rng(), draws=20_000, level=0.6)
    assert found[1:] == pytest.approx(exact_percentiles(np.array(every), 0.6, 20_000))
    apart = {str(scene): ([1], [scene]) for scene in range(20)}
    with pytest.raises(ValueError, match="of 500 resamples 0 define the statistic"):
        clustered_bootstrap(apart, lambda means: means["3"], rng=rng(), draws=50)


def test_permutation_is_scipys_exact_test():
    left, right = rng().normal(0.5, 1, (2, 9)) * [[1], [0.3]]
    exact = scipy.stats.permutation_test(
        (left, right),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        vectorized=True,
    ).pvalue
    found = permutation_p_value(left, right, rng=rng(), draws=20_000)
    assert found == pytest.approx(exact, abs=5 * math.sqrt(exact * (1 - exact) / 20_000))
    grouped = permutation_p_value(left, right, clusters=[4, 4, 4, 4, 1, 1, 1, 1, 1], rng=rng(), draws=20_000)
    assert grouped == pytest.approx(0.5, abs=5 * math.sqrt(0.25 / 20_000))  # 2 of 4, all alike in sign


def test_permutation_counts_the_observed_and_ties():
    """.3 + .1 + .2 - .6 + .7 is .7 but for rounding, as are other signs of them."""
    assert permutation_p_value(np.ones(60, bool), np.zeros(60, bool), rng=rng(), draws=99) == 1 / 100
    assert permutation_p_value([1, 0, 1], [1, 0, 1], rng=rng(), draws=99) == 1
    tied = permutation_p_value([0.3, 0.1, 0.2, 0, 0.7], [0, 0, 0, 0.6, 0], rng=rng(), draws=4000)
    every = [
        sum(s * d for s, d in zip(signs, (3, 1, 2, -6, 7), strict=True))
        for signs in product((1, -1), repeat=5)
    ]
    exact = np.mean(np.abs(every) >= 7)
    assert tied == pytest.approx(exact, abs=5 * math.sqrt(exact * (1 - exact) / 4000))


def test_permutation_rejects_a_null_at_its_level():
    found = [
        permutation_p_value(*rng(seed).normal(size=(2, 30)), rng=rng(seed), draws=199) for seed in range(400)
    ]
    rejected = np.count_nonzero(np.array(found) <= 0.1)
    assert scipy.stats.binom.ppf(1e-4, 400, 0.1) <= rejected <= scipy.stats.binom.ppf(1 - 1e-4, 400, 0.1)


def test_holm_steps_down():
    """.01 x 4; .02 x 3; then .03 x 2 = .06 stays .06, and .04 x 1 is lifted to it."""
    given = {"d": 0.04, "a": 0.01, "c": 0.03, "b": 0.02}
    adjusted = holm(given)
    assert list(adjusted) == list(given)
    assert adjusted == pytest.approx({"a": 0.04, "b": 0.06, "c": 0.06, "d": 0.06})
    assert holm({"x": 0.7, "y": 0.6}) == {"x": 1, "y": 1} and holm({}) == {}
    for wrong in (math.nan, 1.1):
        with pytest.raises(ValueError, match="the p value of 'b' is"):
            holm({"a": 0.1, "b": wrong})


def test_equivalence_needs_the_whole_interval():
    assert equivalent(Estimate(0.0, -0.01, 0.015), 0.02)
    assert not equivalent(Estimate(0.0, -0.03, 0.015), 0.02) and not equivalent(
        Estimate(0, -0.01, 0.03), 0.02
    )
    assert not equivalent(Estimate(0.0, -0.02, 0.0), 0.02)
    with pytest.raises(ValueError, match="bound = 0 is not above 0"):
        equivalent(Estimate(0, 0, 0), 0)


@pytest.mark.parametrize("clustered", [False, True])
def test_spearman_is_scipys_on_every_resample(clustered):
    x, y = rng().integers(0, 6, (2, 60))
    y += x
    clusters = rng(1).integers(0, 15, 60) if clustered else None
    found = spearman(x, y, clusters=clusters, rng=rng(2), draws=100, level=0.9)
    picks = resampled_items(np.arange(60) if clusters is None else clusters, 100, 2)
    slow = [scipy.stats.spearmanr(x[items], y[items]).statistic for items in picks]
    assert found.value == pytest.approx(scipy.stats.spearmanr(x, y).statistic)
    assert found[1:] == pytest.approx(np.quantile(slow, [0.05, 0.95]))


def test_spearman_passes_over_resamples_without_a_spread():
    """(4/5)^5 of the resamples lack the one item that differs; in the others the order is perfect."""
    assert spearman([0, 0, 0, 0, 1], [2, 2, 2, 2, 3], rng=rng()) == pytest.approx((1, 1, 1))
    with pytest.raises(ValueError, match="y is 3.0 everywhere"):
        spearman([1, 2], [3, 3], rng=rng())


def test_loess_follows_a_straight_line():
    x = rng().uniform(1, 5, 80)
    curve = loess(x, 3 - 2 * x, frac=0.4, at=[4.5, 1.5, 3], rng=rng(1), draws=50)
    for line in (curve.value, curve.low, curve.high):
        assert line == pytest.approx([-6, 0, -3], abs=1e-9)
    assert curve.at.tolist() == [4.5, 1.5, 3]


@pytest.mark.parametrize("clustered", [False, True])
def test_loess_is_statsmodels_on_every_resample(clustered):
    x, at = rng().uniform(1, 5, 120), np.linspace(1.5, 4.5, 7)
    y = np.sin(x) + rng(1).normal(size=120)
    clusters = rng(2).integers(0, 25, 120) if clustered else None
    curve = loess(x, y, frac=0.6, at=at, clusters=clusters, rng=rng(3), draws=40, level=0.8)
    picks = resampled_items(np.arange(120) if clusters is None else clusters, 40, 3)
    slow = [lowess(y[items], x[items], frac=0.6, it=0, xvals=at) for items in picks]
    assert curve.value == pytest.approx(lowess(y, x, frac=0.6, it=0, xvals=at))
    assert np.stack([curve.low, curve.high]) == pytest.approx(np.quantile(slow, [0.1, 0.9], axis=0))


def test_loess_keeps_rare_outcomes():
    """Robust iterations, statsmodels' default, make the curve of a rate of a tenth 0."""
    rare, x = np.arange(500) % 10 == 0, rng().uniform(0, 1, 500)
    curve = loess(x, rare, frac=1, at=[0.5], rng=rng(), draws=20)
    assert 0.05 < curve.value[0] < 0.15


def test_loess_names_its_mistakes():
    x = np.repeat([1.0, 2, 3, 4], 25)
    with pytest.raises(ValueError, match="x has 2 distinct values, a curve needs 3"):
        loess([1, 1, 2], [1, 2, 3], frac=0.5, at=[1], rng=rng())
    with pytest.raises(ValueError, match=r"all items near 2.0 share one x: frac = 0.2 is too small"):
        loess(x, x, frac=0.2, at=[2], rng=rng())
    with pytest.raises(ValueError, match=r"frac = 0 is not within"):
        loess(x, x, frac=0, at=[2], rng=rng())
    with pytest.raises(ValueError, match=r"at is 0.5..2.0, outside x, 1.0..4.0"):
        loess(x, x, frac=0.5, at=[2, 0.5], rng=rng())


def test_a_mixed_model_of_balanced_groups_is_the_analysis_of_variance():
    """With x centred in each group its slope is the one within groups; the variances are mean squares."""
    frame = null_frame(0, effect=1.0, groups=20, each=6)
    frame["x"] -= frame.groupby("scene").x.transform("mean")
    means = frame.groupby("scene").y.mean()
    within = frame.y - means[frame.scene].to_numpy()
    slope = (frame.x @ within) / (frame.x @ frame.x)
    residual = ((within - slope * frame.x) ** 2).sum() / (120 - 20 - 1)
    between = 6 * means.var(ddof=1)
    fit = mixed_model(frame, "y ~ x", "scene")
    assert fit.residual_variance == pytest.approx(residual, rel=1e-4)  # the optimiser's tolerance
    assert fit.group_variance == pytest.approx((between - residual) / 6, rel=1e-3)
    half = 1.959964 * math.sqrt(residual / (frame.x @ frame.x))
    found = fit.coefficients["x"]
    assert [found["estimate"], found["low"], found["high"]] == pytest.approx(
        [slope, slope - half, slope + half], rel=1e-4
    )
    assert found["p"] == pytest.approx(2 * scipy.stats.norm.sf(1.959964 * slope / half), rel=1e-2)
    spread = fit.coefficients["Intercept"]["high"] - fit.coefficients["Intercept"]["low"]
    assert spread == pytest.approx(2 * 1.959964 * math.sqrt(between / 120), rel=1e-3)
    assert (fit.observations, fit.groups, fit.converged, fit.boundary) == (120, 20, True, False)


def test_a_mixed_model_finds_a_planted_effect():
    frame = null_frame(1, effect=2.0)
    frame["pos"] = np.where(rng(5).random(800) < 0.5, "noun", "verb")
    frame.loc[frame.pos == "verb", "y"] += 0.7
    fit = mixed_model(frame, "y ~ x + C(pos) + np.log(x + 9)", "scene", level=1 - 1e-4)
    planted = fit.coefficients["C(pos)[T.verb]"]
    assert planted["low"] < 0.7 < planted["high"] and planted["p"] < 1e-6
    assert fit.group_variance == pytest.approx(4, rel=4 * math.sqrt(2 / 99))
    assert fit.residual_variance == pytest.approx(1, rel=4 * math.sqrt(2 / 700))


def test_without_a_group_effect_a_mixed_model_is_least_squares(monkeypatch):
    frame = null_frame(0)
    fit, plain = mixed_model(frame, "y ~ x", "scene"), smf.ols("y ~ x", frame).fit()
    assert fit.boundary and fit.converged and fit.group_variance < 1e-6
    assert fit.residual_variance == pytest.approx(plain.scale, rel=1e-6)
    for name, value in plain.params.items():
        found = fit.coefficients[name]
        assert found["estimate"] == pytest.approx(value, rel=1e-6)
        assert (found["high"] - found["low"]) / (2 * 1.959964) == pytest.approx(plain.bse[name], rel=1e-4)
    monkeypatch.setattr(models, "OPTIMISERS", ("lbfgs", "cg", "powell"))
    assert mixed_model(frame, "y ~ x", "scene") == fit
    monkeypatch.setattr(models, "OPTIMISERS", ("lbfgs", "cg"))
    with pytest.raises(
        ValueError, match=r"no optimiser converges \(lbfgs: Singular matrix; cg: not converged\)$"
    ):
        mixed_model(frame, "y ~ x", "scene")


def test_a_mixed_model_names_its_mistakes():
    frame = null_frame(0, groups=4)
    frame["twice"], frame["exact"], frame["gap"], frame["one"] = 2 * frame.x, 2 * frame.x, frame.x, 1
    frame.loc[3, "gap"] = math.nan
    for formula, groups, message in (
        ("y ~ wordiness + x", "scene", "name 'wordiness' is not defined; the columns are y, x, scene, "),
        ("y ~ frame", "scene", "name 'frame' is not defined"),
        ("y ~ (x", "scene", r"Unmatched '\('; the columns are y, "),
        ("y ~ x", "scenes", "groups = 'scenes' is none of the columns y, x, scene, "),
        ("y ~ x + gap", "scene", "NaN in gap"),
        ("y ~ x + twice", "scene", "Intercept, x, twice depend linearly on each other"),
        ("exact ~ x", "scene", "the outcome has no residual"),
        ("y ~ x", "one", "one has 1 groups"),
    ):
        with pytest.raises(ValueError, match=message) as caught:
            mixed_model(frame, formula, groups)
        assert "\n" not in str(caught.value)


def test_mistakes_are_named():
    two = [0.0, 1.0]
    for call, message in (
        (lambda: over_seeds([0.5]), "n = 1 seeds"),
        (lambda: over_seeds(two, level=95), "level = 95 is not within"),
        (lambda: seeds_p_value([0.5, math.nan]), "values is nan at 1"),
        (lambda: paired_bootstrap(two, [1], rng=rng()), "left has 2 values and right 1"),
        (lambda: paired_bootstrap([], [], rng=rng()), r"left is float64 \(0,\)"),
        (lambda: paired_bootstrap(two, [math.inf, 0], rng=rng()), "right is inf at 0"),
        (lambda: paired_bootstrap(two, two, rng=rng(), draws=0), "draws = 0"),
        (lambda: paired_bootstrap(two, two, clusters=[1], rng=rng()), r"clusters are int64 \(1,\)"),
        (lambda: paired_bootstrap(two, two, clusters=[1, math.nan], rng=rng()), "clusters are float64"),
        (lambda: paired_bootstrap(two, two, clusters=[1, 1], rng=rng()), "1 to draw from"),
        (lambda: permutation_p_value(two, [1], rng=rng()), "left has 2 values and right 1"),
        (lambda: clustered_bootstrap({"hc": (two, [1])}, sum, rng=rng()), r"clusters of hc are int64 \(1,\)"),
        (
            lambda: clustered_bootstrap({"hc": (two, [1, 2])}, lambda m: math.nan, rng=rng()),
            "the plain means is nan",
        ),
        (lambda: spearman([1, 2, 3], [1, 2], rng=rng()), "x has 3 values and y 2"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_the_room_is_light():
    heavy = ("torch", "scipy", "statsmodels", "pandas")
    code = f"import sys, slipform_core.statistics; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
