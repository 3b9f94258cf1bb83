import math

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from slipform_core.metrics import (
    COLUMNS,
    SEVEN,
    SUBSETS,
    average_precision,
    caption_choice,
    clustered_stderr,
    counts_for_macro,
    first_tied,
    macro_average,
    macro_of,
    proportion_stderr,
    recall_at_k,
    scpp,
    strict_rank,
    tied,
    winoground,
)

PERCENT = {
    "CLIP": ((75.38, 59.41, 46.84, 29.00, 9.00, 7.50), 47.89),
    "NegCLIP": ((82.50, 62.75, 58.15, 30.50, 11.00, 8.00), 53.15),
    "Slipform": ((83.00, 66.24, 60.21, 31.00, 10.25, 7.75), 54.19),
}


def slow_recall(similarity, relevant, k):
    """Candidates sorted by falling score, negatives before positives among equals."""
    found = []
    for scores, positives in zip(similarity, relevant, strict=True):
        order = sorted(range(len(scores)), key=lambda c: (-scores[c], positives[c]))
        found.append(any(positives[c] for c in order[:k]))
    return found


def test_caption_choice_is_strict():
    scores = np.array([[0.3, 0.2], [0.2, 0.3], [0.3, 0.3], [0.3001, 0.3002], [np.inf, np.inf]])
    assert caption_choice(scores).tolist() == [True, False, False, False, False]
    assert caption_choice([[2, 1]]).tolist() == [True]
    assert tied(scores).tolist() == [False, False, True, False, True]


@pytest.mark.parametrize("seed", range(3))
def test_winoground_is_the_slow_loop(seed):
    scores = np.random.default_rng(seed).integers(0, 3, (40, 2, 2)).astype(np.float32)
    right = winoground(scores)
    for item, s in enumerate(scores):
        text = s[0, 0] > s[0, 1] and s[1, 1] > s[1, 0]
        image = s[0, 0] > s[1, 0] and s[1, 1] > s[0, 1]
        assert (right.text[item], right.image[item]) == (text, image)
        assert right.group[item] == (text and image)
    assert right.text.any() and right.image.any() and (right.text != right.image).any()


@pytest.mark.parametrize("seed", range(3))
def test_scpp_is_the_slow_loop(seed):
    image_text, text_text = np.random.default_rng(seed).integers(0, 3, (2, 40, 3)).astype(np.float64)
    right = scpp(image_text, text_text)
    for item, ((p1, p2, n), (p1p2, p1n, p2n)) in enumerate(zip(image_text, text_text, strict=True)):
        assert right.i2t[item] == (p1 > n and p2 > n)
        assert right.tot[item] == (p1p2 > p1n and p1p2 > p2n)


def test_random_scores_are_at_chance():
    rng = np.random.default_rng(0)
    n = 20_000
    pairs = winoground(rng.random((n, 2, 2)))
    triples = scpp(rng.random((n, 3)), rng.random((n, 3)))
    assert [part.mean() for part in pairs] == pytest.approx([1 / 4, 1 / 4, 1 / 6], abs=0.01)
    assert [part.mean() for part in triples] == pytest.approx([1 / 3, 1 / 3], abs=0.01)


@pytest.mark.parametrize("k", [1, 2, 5, 12])
@pytest.mark.parametrize("levels", [3, 1000])
def test_recall_is_the_slow_loop(k, levels):
    rng = np.random.default_rng(k)
    similarity = rng.integers(0, levels, (60, 12)) / np.float32(levels)
    relevant = rng.random((60, 12)) < 0.2
    relevant[:, 3] = True
    assert recall_at_k(similarity, relevant, k).tolist() == slow_recall(similarity, relevant, k)
    assert ((strict_rank(similarity, relevant) < k) == recall_at_k(similarity, relevant, k)).all()


@pytest.mark.parametrize("levels", [3, 1000])
def test_a_tie_for_the_first_place_is_the_slow_loops(levels):
    rng = np.random.default_rng(levels)
    similarity = rng.integers(0, levels, (60, 6)) / np.float32(levels)
    relevant = rng.random((60, 6)) < 0.4
    relevant[:, 3], relevant[7] = True, True  # a query without a negative ties with nothing
    slow = []
    for row, positive in zip(similarity.tolist(), relevant.tolist(), strict=True):
        own = [value for value, right in zip(row, positive, strict=True) if right]
        others = [value for value, right in zip(row, positive, strict=True) if not right]
        slow.append(bool(others) and max(own) == max(others))
    assert first_tied(similarity, relevant).tolist() == slow
    assert levels > 3 or 5 < sum(slow) < 55


def test_a_collapsed_model_scores_nothing():
    """A mean of tokens makes swapped captions equal; an argmax would credit them."""
    n = 9
    flat = np.full((n, n), 0.3, dtype=np.float32)
    assert not caption_choice(flat[:, :2]).any() and tied(flat[:, :2]).all()
    assert not any(part.any() for part in winoground(np.full((n, 2, 2), 0.3)))
    assert not any(part.any() for part in scpp(flat[:, :3], flat[:, :3]))
    own = np.eye(n, dtype=bool)
    assert first_tied(flat, own).all()
    assert not recall_at_k(flat, own, n - 1).any()
    assert recall_at_k(flat, own, n).all()


def test_a_broken_model_raises():
    def broken(*shape):
        scores = np.zeros(shape, dtype=np.float32)
        scores[(-1,) * len(shape)] = np.nan
        return scores

    calls = [
        lambda: caption_choice(broken(4, 2)),
        lambda: tied(broken(4, 2)),
        lambda: winoground(broken(4, 2, 2)),
        lambda: scpp(broken(4, 3), np.zeros((4, 3))),
        lambda: scpp(np.zeros((4, 3)), broken(4, 3)),
        lambda: strict_rank(broken(4, 4), np.eye(4, dtype=bool)),
        lambda: recall_at_k(broken(4, 4), np.eye(4, dtype=bool), 1),
        lambda: first_tied(broken(4, 4), np.eye(4, dtype=bool)),
        lambda: macro_average(0.5, np.nan, 0.5, 0.5, 0.5, 0.5),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="nan|NaN"):
            call()
    with pytest.raises(ValueError, match=r"similarity at \(3, 1\) is NaN, and 1 of 8"):
        caption_choice(broken(4, 2))


def test_half_precision_is_refused():
    """.3001 and .3002 are one number in half precision: widening would count the tie as the model's."""
    scores = np.array([[0.3002, 0.3001]])
    assert caption_choice(scores.astype(np.float32)).all()
    with pytest.raises(ValueError, match="float16, expected float32"):
        caption_choice(scores.astype(np.float16))


def test_mistakes_are_named():
    own = np.eye(3, dtype=bool)
    scores = np.eye(3)
    with pytest.raises(ValueError, match=r"\(3, 3\), expected \(items, 2\)"):
        caption_choice(scores)
    with pytest.raises(ValueError, match=r"\(3, 2\), expected \(items, 2, 2\)"):
        winoground(scores[:, :2])
    with pytest.raises(ValueError, match="3 items and text_text 2"):
        scpp(scores, scores[:2])
    with pytest.raises(ValueError, match=r"relevant is float64 \(3, 3\), expected bool"):
        recall_at_k(scores, scores, 1)
    with pytest.raises(ValueError, match="query 1 has no relevant"):
        recall_at_k(scores, own & [[True], [False], [True]], 1)
    for k in (0, 4):
        with pytest.raises(ValueError, match=rf"k = {k} is not within 1\.\.3"):
            recall_at_k(scores, own, k)


@pytest.mark.parametrize(("columns", "reported"), PERCENT.values(), ids=PERCENT)
def test_macro_average_recomputes_the_table(columns, reported):
    assert round(macro_average(*columns), 2) == reported
    assert 100 * macro_average(*(c / 100 for c in columns)) == pytest.approx(macro_average(*columns))


def test_macro_average_is_not_the_mean_of_six():
    columns, _ = PERCENT["Slipform"]
    exact = [macro_average(*columns) for columns, _ in PERCENT.values()]
    assert exact == pytest.approx([47.891, 53.150, 54.186], abs=5e-4)
    assert np.mean(columns) == pytest.approx(43.08, abs=0.005)


def table_of_means(seed=0):
    """A score for each of SugarCrepe's seven, SugarCrepe++'s five, Winoground's two, by hand."""
    kinds = ["add_obj", "add_att", "replace_obj", "replace_att", "replace_rel", "swap_obj", "swap_att"]
    names = [f"sugarcrepe/{kind}/i2t" for kind in kinds]
    names += [f"scpp/{kind}/{metric}" for kind in kinds[2:] for metric in ("itt", "tot")]
    names += [f"winoground/{kind}/{metric}" for kind in kinds[5:] for metric in ("text", "image", "group")]
    return dict(zip(names, np.random.default_rng(seed).random(len(names)).tolist(), strict=True))


def column(means, benchmark, metric):
    return np.mean([means[n] for n in means if n.startswith(f"{benchmark}/") and n.endswith(f"/{metric}")])


def test_the_macro_average_of_subsets_is_that_of_their_columns_means():
    means = table_of_means()
    columns = [column(means, "sugarcrepe", "i2t")]
    columns += [column(means, "scpp", metric) for metric in ("itt", "tot")]
    columns += [column(means, "winoground", metric) for metric in ("text", "image", "group")]
    assert macro_of(means) == pytest.approx(macro_average(*columns))
    # One score of a column of k subsets weighs 1/3 of the column's share of its benchmark, over k.
    for name, weight in {
        "sugarcrepe/add_obj/i2t": 1 / 3 / 7,
        "scpp/swap_att/tot": 1 / 3 / 2 / 5,
        "winoground/swap_obj/group": 1 / 3 / 3 / 2,
    }.items():
        raised = macro_of(means | {name: means[name] + 0.1})
        assert raised - macro_of(means) == pytest.approx(0.1 * weight)


def test_only_the_papers_subsets_and_metrics_count_for_the_macro_average():
    means = table_of_means()
    others = ["sugarcrepe/replace_size/i2t", "sugarcrepe/swap_rel/i2t", "sugarcrepe/add_obj/t2i"]
    others += [
        "sugarcrepe/swap_obj/group",
        "scpp/add_obj/itt",
        "scpp/swap_obj/ties",
        "world/retrieval/t2i_r1",
    ]
    assert macro_of(means | dict.fromkeys(others, 0.123)) == macro_of(means)
    assert all(map(counts_for_macro, means)) and len(means) == 7 + 5 * 2 + 2 * 3
    assert not any(map(counts_for_macro, [*others, "retrieval/t2i_r1", "sugarcrepe/swap_obj", "macro", ""]))
    assert set(SUBSETS) == set(COLUMNS) and SUBSETS["sugarcrepe"] == SEVEN and len(SEVEN) == 7


def test_a_missing_subset_leaves_its_column_and_a_missing_benchmark_no_macro_average():
    means = table_of_means()
    few = {name: value for name, value in means.items() if "replace_rel" not in name}
    columns = [column(few, *key) for key in (("sugarcrepe", "i2t"), ("scpp", "itt"), ("scpp", "tot"))]
    columns += [column(few, "winoground", metric) for metric in ("text", "image", "group")]
    assert macro_of(few) == pytest.approx(macro_average(*columns))
    assert macro_of(few) != pytest.approx(macro_of(means))
    for benchmark in ("sugarcrepe", "scpp", "winoground"):
        assert macro_of({n: v for n, v in means.items() if not n.startswith(benchmark)}) is None
    assert macro_of({}) is None
    with pytest.raises(ValueError, match="macro average of"):
        macro_of(means | {"scpp/swap_obj/tot": math.nan})


def test_proportion_stderr():
    right = np.array([True] * 30 + [False] * 10)
    resampled = np.random.default_rng(0).choice(right, (20_000, 40)).mean(axis=1)
    assert proportion_stderr(right) == pytest.approx(math.sqrt(0.75 * 0.25 / 40))
    assert proportion_stderr(right) == pytest.approx(resampled.std(), rel=0.02)
    assert proportion_stderr([True, True]) == 0
    for wrong in ([], [0.5, 0.2], [[True]]):
        with pytest.raises(ValueError, match="successes is"):
            proportion_stderr(wrong)


def test_average_precision_is_scikit_learns_and_puts_ties_last():
    rng = np.random.default_rng(0)
    scores, relevant = rng.random((50, 30)), rng.random((50, 30)) < 0.2
    relevant[:, 0] = True
    expected = [average_precision_score(own, row) for own, row in zip(relevant, scores, strict=True)]
    assert average_precision(scores, relevant) == pytest.approx(expected)
    row = np.array([[0.5, 0.5, 0.5, 0.1]])
    assert average_precision(row, np.array([[True, False, False, False]])) == pytest.approx([1 / 3])
    both = average_precision(row, np.array([[True, True, False, False]]))
    assert both == pytest.approx([(1 / 2 + 2 / 3) / 2])
    with pytest.raises(ValueError, match="NaN"):
        average_precision([[0.1, np.nan]], [[True, False]])
    with pytest.raises(ValueError, match="query 0 has no relevant"):
        average_precision([[0.1, 0.2]], [[False, False]])


def test_a_clustered_standard_error_counts_clusters():
    rng = np.random.default_rng(0)
    right = rng.random(40) < 0.3
    alone = clustered_stderr(right, np.arange(40))
    assert alone == pytest.approx(proportion_stderr(right))
    # said five times, nothing more is known
    assert clustered_stderr(np.repeat(right, 5), np.repeat(np.arange(40), 5)) == pytest.approx(alone)
    assert clustered_stderr([0.25, 0.75], ["a", "b"]) == pytest.approx(math.sqrt(2 * 0.25**2) / 2)
    assert math.isnan(clustered_stderr([0.25, 0.75], ["a", "a"]))  # one picture has no spread to measure by
