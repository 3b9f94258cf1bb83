"""What the pages of words draw: the margin, the world's words, the survey's frame, correlations, fits."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.colors import to_rgb

from slipform_core import figures, statistics
from slipform_core.concreteness import Norms, extract_keywords_batch
from slipform_core.figures import concretebatch, effects, regressions, survey, words
from slipform_core.loss.margins import fermi_dirac_margin
from slipform_core.results import Result

SETTINGS = {"low": -2.0, "high": 2.0, "midpoint": 4.0, "width": 0.15}


WORDS = {
    "dog": (4.85, "NOUN"),
    "small": (3.2, "ADJ"),
    "red": (4.24, "ADJ"),
    "blue": (3.76, "ADJ"),
    "under": (3.45, "ADP"),
    "strange": (2.0, "ADJ"),
    "picture": (4.52, "NOUN"),
}


def columns(scenes: int, each: int, seed: int) -> dict[str, list]:
    """A survey in which gaps rise with c by 0.1 a point, and more for words of the part of speech NOUN."""
    rng = np.random.default_rng(seed)
    word = [str(one) for one in rng.choice(list(WORDS), scenes * each)]
    c, pos = (np.array(side) for side in zip(*(WORDS[one] for one in word), strict=True))
    scene, count = np.repeat(np.arange(scenes), each), len(word)
    gap = 0.1 * c - 0.4 + 0.2 * (pos == "NOUN") + rng.normal(0, 0.02, scenes)[scene]
    gap += rng.normal(0, 0.05, count)
    numbers = {name: rng.uniform(0.5, 1, count) for name in ("text_similarity", "image_similarity")}
    numbers |= {name: rng.uniform(0, 1, count) for name in ("own", "edited")}
    numbers |= {"concreteness": c, "scene": scene, "gap_i2t": gap, "gap_t2i": -gap, "pos": pos}
    numbers |= {"length": rng.integers(8, 19, count), "frequency": rng.integers(0, 900, count)}
    return {"word": word} | {name: values.tolist() for name, values in numbers.items()}


def run(seed: int, scale: float, scenes: int = 60) -> SimpleNamespace:
    files = {
        "survey": Result("survey", "mini", columns(scenes, 3, seed), {"config": {"seed": seed}}),
        "training": Result("training", "mini", {"base": {"last": {"scale": scale}}}, {}),
    }
    return SimpleNamespace(profile="mini", result=files.__getitem__)


def test_the_margin_is_the_one_of_the_loss() -> None:
    c = np.linspace(1, 5, 101).reshape(1, 101)
    settings = {"low": -1.0, "high": 3.0, "midpoint": 3.5, "width": 0.4}
    expected = fermi_dirac_margin(**settings)(torch.from_numpy(c)).numpy()
    np.testing.assert_allclose(words.margin(c, **settings), expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(words.margin([4.24, 3.76], **SETTINGS), [1.33, -1.33], atol=0.005)


def test_words_of_the_world_have_the_concreteness_that_the_pipeline_reads() -> None:
    norms = Norms.load("brysbaert")
    found = words.world_words(60, norms).set_index("word")
    captions = [
        "A strange picture of a small red dog.",
        "The huge dog remains to the left of a blue cup.",
        "A dog hangs beneath a tiny cup on the grass.",
        "A dog is next to a cup.",
    ]
    read = {
        keyword.text.lower().split()[0]: keyword.concreteness
        for keywords in extract_keywords_batch(captions, norms)
        for keyword in keywords
    }
    shared = sorted(set(read) & set(found.index))
    assert {"strange", "picture", "remains", "hangs", "left", "beneath", "next", "grass"} <= set(shared)
    assert {word: found["c"][word] for word in shared} == {word: read[word] for word in shared}


def test_each_word_of_the_world_is_there_once_and_moods_media_and_verbs_show_nothing() -> None:
    found = words.world_words(60, Norms.load("brysbaert"))
    assert found["word"].is_unique
    kinds = {"noun", "colour", "place", "size", "relation", "mood", "medium", "verb"}
    assert set(found["kind"]) == kinds
    assert (found["kind"] == "noun").sum() == 60
    assert set(found[~found["visible"]]["kind"]) == {"mood", "medium", "verb"}
    assert set(found[~found["visible"]]["word"]) == words.invisible_words()


def test_figure_2_has_every_word_and_the_margin_of_red_and_blue() -> None:
    found = words.world_words(60, Norms.load("brysbaert"))
    figure = words.draw(found, SETTINGS, scale=20)
    above, below = figure.axes[:2]
    texts = " ".join(text.get_text() for text in above.texts)
    assert "red (4.24, +1.33)" in texts
    assert "blue (3.76, −1.33)" in texts
    drawn = sorted(float(line.get_xdata()[0]) for line in below.lines if line.get_marker() == "o")
    np.testing.assert_allclose(drawn, sorted(found["c"]))
    hollow = [
        line
        for line in below.lines
        if line.get_marker() == "o" and line.get_markerfacecolor() != line.get_color()
    ]
    assert len(hollow) == len(words.invisible_words())
    figure.canvas.draw()
    low, high = above.child_axes[0].get_ylim()  # of cosines
    np.testing.assert_allclose((20 * low, 20 * high), above.get_ylim())


def test_scenes_of_two_seeds_are_apart_and_gaps_are_in_each_bases_logits() -> None:
    runs = {7: run(7, scale=10.0), 9: run(9, scale=30.0)}
    frame = survey.survey(runs)
    for seed, one in runs.items():
        own = frame[frame["seed"] == seed]
        raw = one.result("survey").values
        np.testing.assert_allclose(own["logit_i2t"], np.multiply(raw["gap_i2t"], {7: 10, 9: 30}[seed]))
        np.testing.assert_array_equal(own["right_t2i"], np.array(raw["gap_t2i"]) > 0)
        np.testing.assert_allclose(own["text_distance"], 1 - np.array(raw["text_similarity"]))
        scenes = list(zip(own["scene"], raw["scene"], strict=True))
        assert len(set(scenes)) == len(set(own["scene"])) == len(set(raw["scene"]))
    assert not set(frame[frame["seed"] == 7]["scene"]) & set(frame[frame["seed"] == 9]["scene"])
    assert set(frame[~frame["visible"]]["word"]) == {"strange", "picture"}


def test_a_pooled_curve_draws_whole_scenes() -> None:
    frame = survey.survey({7: run(7, 10.0, 30), 9: run(9, 10.0, 30)})
    found = survey.curve(frame, "logit_i2t", rng=np.random.default_rng(0), draws=20)
    labels = frame["seed"].astype(str) + "/" + np.repeat(np.tile(np.arange(30), 2), 3).astype(str)
    expected = statistics.loess(
        frame["concreteness"],
        frame["logit_i2t"],
        frac=2 / 3,
        at=found.at,
        clusters=np.unique(labels, return_inverse=True)[1],
        rng=np.random.default_rng(0),
        draws=20,
    )
    np.testing.assert_allclose(found.value, expected.value)
    assert (found.at[0], found.at[-1]) == (2.0, 4.85)
    # The order in which clusters are numbered is another draw of the same bootstrap: widths agree roughly.
    ratio = (found.high - found.low).mean() / (expected.high - expected.low).mean()
    assert 0.7 < ratio < 1.4


def test_correlations_are_scipys_and_their_map_has_each_pair_twice() -> None:
    from scipy.stats import spearmanr

    frame = survey.survey({7: run(7, 10.0)})
    names = {"concreteness": "c", "own": "own", "gap_i2t": "gap I2T"}
    found = survey.correlations(frame, list(names), rng=np.random.default_rng(0), draws=20)
    assert len(found) == 3
    for (one, other), estimate in found.items():
        assert estimate.value == pytest.approx(spearmanr(frame[one], frame[other]).statistic)
        assert estimate.low < estimate.value < estimate.high
    axes = survey.correlation_map(found, names, "a run").axes[0]
    shown = [text.get_text() for text in axes.texts]
    assert sorted(filter(None, shown)) == sorted(2 * [effects.signed(of.value, 2) for of in found.values()])
    table = survey.correlation_table({"a run": found}, names)
    assert table["a run"]["c, own"] == survey.spread(found["own", "concreteness"])


@pytest.fixture(scope="module")
def fitted() -> list[regressions.Regression]:
    seeds = survey.survey({7: run(7, 10.0), 9: run(9, 10.0)})
    return regressions.fits(
        {
            "reference run of mini, 2 seeds": seeds,
            "your run of mini, one seed": survey.survey({5: run(5, 10.0)}),
        }
    )


def test_the_planned_regression_finds_the_effect_that_was_put_in(fitted) -> None:
    assert list(dict.fromkeys(one.of for one in fitted)) == ["seed 7", "seed 9", "all seeds", "your run"]
    assert len(fitted) == 4 * 4
    for one in fitted:
        found = one.fit.coefficients["concreteness"]
        truth = {"logit_i2t": 1.0, "logit_t2i": -1.0}[one.gap]  # 0.1 a point, at a scale of 10
        assert found["low"] < truth < found["high"] or abs(found["estimate"] - truth) < 0.3
        assert ("C(seed)[T.9]" in one.fit.coefficients) == (one.of == "all seeds")
        assert {"text_distance", "log_frequency", "length"} <= one.fit.coefficients.keys()


def test_words_without_a_referent_are_left_out_of_one_half(fitted) -> None:
    frame = survey.survey({5: run(5, 10.0)})
    sizes = {one.words: one.fit.observations for one in fitted if one.of == "your run"}
    assert sizes == {survey.ALL: len(frame), survey.VISIBLE: int(frame["visible"].sum())}


def test_coefficients_are_drawn_and_tabled_as_they_were_fitted(fitted) -> None:
    figure = regressions.coefficients(fitted, "concreteness", "a source")
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == [
        "seed 7",
        "seed 9",
        "all seeds",
        "your run",
    ]
    one = next(
        one
        for one in fitted
        if one.of == "all seeds" and one.words == survey.VISIBLE and one.gap == "logit_t2i"
    )
    drawn = [x for line in figure.axes[1].lines for x in line.get_xdata()]
    assert one.fit.coefficients["concreteness"]["estimate"] in drawn
    table = regressions.table(fitted, "all seeds")
    cell = table[regressions.GAPS["logit_t2i"], survey.VISIBLE]
    value, low, high = (
        float(number.replace("−", "-")) for number in re.findall(r"[+−][\d.]+", cell["concreteness"])
    )
    fit = one.fit.coefficients["concreteness"]
    np.testing.assert_allclose((value, low, high), (fit["estimate"], fit["low"], fit["high"]), atol=0.005)
    assert cell["records"] == f"{one.fit.observations}"


def test_a_regression_that_cannot_be_fitted_says_why_and_is_no_point() -> None:
    given = columns(20, 3, 1) | {"length": [12] * 60}
    files = {"survey": Result("survey", "mini", given, {}), "training": run(1, 10.0).result("training")}
    frame = survey.survey({1: SimpleNamespace(result=files.__getitem__)})
    found = regressions.fits({"your run of mini, one seed": frame})
    assert all(one.fit is None and "depend linearly" in one.fault for one in found)
    assert "not fitted" in regressions.table(found, "your run").index
    regressions.coefficients(found, "concreteness", "a source").canvas.draw()


def judged(**counts: tuple[int, int]) -> dict:
    return {name: {"all": {"count": of[0]}, "abstract": {"count": of[1]}} for name, of in counts.items()}


def test_table_1_has_rows_only_where_every_source_has_records() -> None:
    reported = SimpleNamespace(
        rows={"hc": {}, "c < 3": {}}, columns=["i2t", "t2i"], stated=lambda row, column: (row, column)
    )
    seeds = [judged(hc=(9, 0), wo=(9, 2), lc=(8, 3)), judged(hc=(9, 0), wo=(9, 1), lc=(8, 0))]
    rows = concretebatch.table_1([*seeds, judged(hc=(7, 0))], reported)
    assert {path.rpartition("/")[0] for _, path in rows.values()} == {
        "judged:hc/all",
        "judged:wo/all",
        "judged:wo/abstract",
        "judged:lc/all",
    }
    stated = {label: said for label, (said, _) in rows.items() if said}
    assert list(stated.values()) == [("hc", "i2t"), ("hc", "t2i"), ("c < 3", "i2t"), ("c < 3", "t2i")]
    assert not any(said for said, _ in concretebatch.table_1([judged(lc=(8, 3))], reported).values())
    counts = concretebatch.counts({"seeds": seeds, "yours": [judged(hc=(7, 0))]})
    assert counts["seeds"]["lc, abstract words"] == "8"
    assert counts["seeds"]["wo, any words, c < 3 alone"] == "2"
    assert counts["yours"]["wo, any words"] == "–"


def test_a_histogram_is_of_shares_of_all_seeds_together() -> None:
    seeds = [
        {"hc": {"all": {"count": 3, "histogram": [1, 2]}}},
        {"hc": {"all": {"count": 1, "histogram": [1, 0]}}},
    ]
    figure = concretebatch.histograms({"seeds": seeds, "none": [{"hc": {"all": {"count": 0}}}]}, [1, 3, 5])
    (stairs,) = figure.axes[0].patches
    np.testing.assert_allclose(stairs.get_data().values, [0.5, 0.5])
    assert not figure.axes[1].patches


def blind(value: float, **weights: float) -> dict:
    probe = {"pair": {"value": value, "stderr": 0.01}, "words": [list(item) for item in weights.items()]}
    return {"negatives": {"hc": probe}, "benchmark": {"sugarcrepe/add_obj": probe}}


def test_probes_are_over_seeds_or_of_one_seed_in_percent() -> None:
    several = concretebatch.probes([blind(0.6), blind(0.7), blind(0.8)])
    assert list(several) == ["hc, concrete words", "add_obj"]
    np.testing.assert_allclose(several["add_obj"], statistics.over_seeds([60, 70, 80]))
    np.testing.assert_allclose(concretebatch.probes([blind(0.6)])["add_obj"], (60, 60 - 1.96, 60 + 1.96))


def test_ngrams_that_more_seeds_name_come_first_with_their_mean_weight() -> None:
    found = concretebatch.telling([blind(0.6, dog=0.2, cat=-3, red=-0.1), blind(0.6, dog=0.4, red=-0.2)], 3)
    assert isinstance(found, pd.DataFrame)
    assert found["hc, concrete words"].tolist() == ["dog +0.30", "red −0.15", "cat −3.00"]
    assert len(concretebatch.telling([blind(0.6, dog=0.2, cat=-3)], 1)) == 1


def test_a_word_is_a_dot_at_its_mean_and_empty_without_a_referent() -> None:
    frame = survey.survey({7: run(7, 10.0)})
    figure = survey.curves({"a run": frame}, {"own": "own"}, rng=np.random.default_rng(0), draws=5)
    dots = figure.axes[0].collections[0]
    expected = frame.groupby("word")[["concreteness", "own"]].mean()
    np.testing.assert_allclose(dots.get_offsets(), expected)
    empty = (dots.get_facecolors()[:, :3] == to_rgb(figures.PAPER)).all(axis=1)
    assert set(expected.index[empty]) == {"strange", "picture"}
