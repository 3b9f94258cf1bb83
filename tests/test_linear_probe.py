"""Linear probes against SciPy's optimiser and scikit-learn by another path; the protocol in the result."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from labelled_vectors import Vectors, clouds
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from slipform_core.classification import PROBES, LabelledSet, Probe, linear_probe
from slipform_core.classification.regression import swept
from slipform_core.mistakes import Mistake

NAMES = tuple(f"class {k}" for k in range(7))
PLAIN, CLIP = PROBES["plain"], PROBES["clip"]


def made(train: int, test: int, *, val: int = 0, noise: float = 3.0, lacking: int = 5):
    """A set of row numbers and an encoder of their features; training lacks one class."""
    rng = np.random.default_rng(train)
    labels = rng.integers(7, size=train + val + test)
    labels[:train][labels[:train] == lacking] = 0
    pooled = clouds(labels, 10, seed=1, noise=noise)
    units = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
    pairs = list(enumerate(labels.tolist()))
    parts = pairs[:train], pairs[train : train + val] if val else None, pairs[train + val :]
    return LabelledSet("made", NAMES, parts[2], parts[0], parts[1]), Vectors(units, pooled)


def columns(encoder: Vectors, pairs, *, projected: bool) -> tuple[np.ndarray, np.ndarray]:
    rows, labels = (np.array(column) for column in zip(*pairs, strict=True))
    table = encoder.units if projected else encoder.pooled
    return table[rows].astype(np.float32).astype(float), labels


def slow_logits(known: np.ndarray, labels: np.ndarray, new: np.ndarray, C: float) -> np.ndarray:
    """Softmax regression by SciPy's BFGS: C times the losses, and half the weights' squares; (N, 7)."""
    kinds = np.unique(labels)
    place = np.searchsorted(kinds, labels)

    def unpack(flat):
        table = flat.reshape(len(kinds), -1)
        return table[:, :-1], table[:, -1]

    def loss(flat):
        weights, intercepts = unpack(flat)
        logits = known @ weights.T + intercepts
        own = logits[np.arange(len(known)), place]
        return C * (logsumexp(logits, axis=1) - own).sum() + (weights**2).sum() / 2

    start = np.zeros(len(kinds) * (known.shape[1] + 1))
    weights, intercepts = unpack(minimize(loss, start, method="BFGS", options={"gtol": 1e-4}).x)
    logits = np.full((len(new), 7), -np.inf)
    logits[:, kinds] = new @ weights.T + intercepts
    return logits


def ranks(logits: np.ndarray, labels) -> list[int]:
    return [sum(row >= row[label]) - 1 for row, label in zip(logits, labels, strict=True)]


@pytest.mark.parametrize(
    "probe",
    [
        PLAIN,
        Probe("raw", projected=False, normalised=False, standardised=False, C=0.3),
        Probe("unit", projected=False, normalised=True, standardised=False, C=30.0),
        Probe("fixed", standardised=False, C=3.0),
    ],
    ids=lambda probe: probe.name,
)
def test_it_is_the_independent_optimiser_s(probe: Probe) -> None:
    given, encoder = made(90, 120)
    known, labels = columns(encoder, given.train, projected=probe.projected)
    new, own = columns(encoder, given.test, projected=probe.projected)
    if probe.normalised:
        known, new = (part / np.linalg.norm(part, axis=1, keepdims=True) for part in (known, new))
    if probe.standardised:
        mean, deviation = known.mean(axis=0), known.std(axis=0)
        known, new = (known - mean) / deviation, (new - mean) / deviation
    places = ranks(slow_logits(known, labels, new, probe.C), own)
    result = linear_probe(encoder, given, probe)
    assert result.outcomes["top1"].tolist() == [place < 1 for place in places]
    assert result.outcomes["top5"].tolist() == [place < 5 for place in places]
    scores = {score.metric: score for score in result.scores}
    assert 0.3 < scores["top1"].value < 0.9
    rates = [
        np.mean([place < 1 for place, label in zip(places, own, strict=True) if label == k]) for k in range(7)
    ]
    assert scores["per_class"].value == pytest.approx(np.mean(rates)) and rates[5] == 0
    assert {score.benchmark for score in result.scores} == {f"linear-probe-{probe.name}"}


def test_clip_s_protocol_chooses_on_the_validation_and_fits_on_both() -> None:
    given, encoder = made(80, 150, val=60)
    parts = [columns(encoder, part, projected=False) for part in (given.train, given.val, given.test)]
    (known, labels), (held, held_labels), (new, own) = parts

    def fitted(features, classes, C):
        return LogisticRegression(C=C, solver="newton-cg", max_iter=2000, tol=1e-6).fit(features, classes)

    result = linear_probe(encoder, given, CLIP)
    C = result.protocol["C"]
    best = fitted(known, labels, C).score(held, held_labels)
    assert result.protocol["validation_top1"] == pytest.approx(best)
    others = [fitted(known, labels, 10.0**e).score(held, held_labels) for e in range(-6, 7, 2)]
    assert best >= max(others) and round(math.log10(C) * 8, 9) == round(math.log10(C) * 8)
    both = fitted(np.concatenate([known, held]), np.concatenate([labels, held_labels]), C)
    assert result.outcomes["top1"].mean() == pytest.approx(both.score(new, own))
    assert result.protocol["validation"] == "the set's own" and result.protocol["train_pictures"] == 140


def test_with_a_fixed_strength_the_validation_part_is_training_too() -> None:
    given, encoder = made(80, 150, val=60)
    joined = replace(given, train=[*given.train, *given.val], val=None)
    result, expected = (linear_probe(encoder, each, PLAIN) for each in (given, joined))
    assert result.outcomes["top1"].tolist() == expected.outcomes["top1"].tolist()
    assert result.protocol["train_pictures"] == 140 and result.protocol["validation"] == "none"


def test_without_a_validation_part_a_fifth_of_the_training_is_held_out() -> None:
    given, encoder = made(100, 100)
    known, labels = columns(encoder, given.train, projected=False)
    result = linear_probe(encoder, given, replace(CLIP, seed=3))
    fit, held, fit_labels, held_labels = train_test_split(
        known, labels, test_size=0.2, stratify=labels, random_state=3
    )
    model = LogisticRegression(C=result.protocol["C"], solver="newton-cg", tol=1e-6).fit(fit, fit_labels)
    assert result.protocol["validation_top1"] == pytest.approx(model.score(held, held_labels))
    assert result.protocol["validation"] == "1/5 of the training" and result.protocol["train_pictures"] == 100
    other = linear_probe(encoder, given, replace(CLIP, seed=4)).protocol
    assert other["validation_top1"] != result.protocol["validation_top1"]


@pytest.mark.parametrize("peak", [-6, -5.875, -3.125, -1, 0, 0.625, 4, 6])
def test_the_sweep_finds_a_single_peak_in_few_fits(peak: float) -> None:
    asked = []

    def accuracy(C: float) -> float:
        asked.append(C)
        return -abs(math.log10(C) - peak)

    found, about = swept(accuracy)
    assert found == pytest.approx(10**peak) and about["fits"] == len(asked) == len(set(asked)) <= 15
    assert min(asked) >= 0.99e-6 and max(asked) <= 1.01e6


def test_of_equally_good_strengths_the_smallest_is_taken() -> None:
    found, about = swept(lambda C: float(C > 0.5))
    assert found == pytest.approx(10**-0.25) and about["validation_top1"] == 1
    assert swept(lambda C: 0.5)[0] == pytest.approx(1e-6)


def test_shots_are_drawn_for_each_class_by_the_seed() -> None:
    given, encoder = made(200, 50)
    asked = []
    encoder.pictures = lambda pictures, projected=True: (
        asked.append([*pictures]),
        encoder.units[asked[-1]].astype(np.float32),
    )[1]
    chosen = {}
    for seed in (0, 0, 1):
        result = linear_probe(encoder, given, replace(PLAIN, shots=4, seed=seed))
        drawn = asked[-2]
        labels = [dict(given.train)[row] for row in drawn]
        assert {label: labels.count(label) for label in set(labels)} == dict.fromkeys((0, 1, 2, 3, 4, 6), 4)
        assert chosen.setdefault(seed, drawn) == drawn, "a seed draws the same"
        assert result.protocol["shots"] == 4 and result.protocol["train_pictures"] == 24
    assert chosen[0] != chosen[1]
    rare = replace(given, train=[*given.train, (199, 5)])
    with pytest.raises(Mistake, match="made: 'class 5' has 1 training pictures, 4 shots need as many"):
        linear_probe(encoder, rare, replace(PLAIN, shots=4))


def test_the_validation_is_not_added_to_counted_shots() -> None:
    given, encoder = made(200, 50, val=60)
    for probe in (CLIP, PLAIN):
        assert linear_probe(encoder, given, replace(probe, shots=2)).protocol["train_pictures"] == 12


def test_the_protocol_is_in_the_result() -> None:
    given, encoder = made(90, 120)
    result = linear_probe(encoder, given, PLAIN)
    written = json.loads(json.dumps(result.protocol))
    assert {name: written[name] for name in written if name not in ("rule", "source")} == {
        "set": "made",
        "metric": "top1",
        "classes": 7,
        "classes_tested": 7,
        "test_pictures": 120,
        "probe": "plain",
        "features": "after the projection",
        "unit_length": True,
        "standardised": True,
        "shots": "all",
        "seed": 0,
        "classifier": "logistic regression, L2, lbfgs (scikit-learn)",
        "max_iter": 1000,
        "C": 1.0,
        "validation": "none",
        "train_pictures": 90,
        "converged": True,
    }
    clip = json.loads(json.dumps(linear_probe(encoder, given, replace(CLIP, shots=5)).protocol))
    assert (clip["features"], clip["unit_length"], clip["shots"]) == ("before the projection", False, 5)
    assert "eight a decade" in clip["sweep"] and clip["fits"] > 7


def test_what_did_not_converge_says_so() -> None:
    given, encoder = made(90, 20)
    result = linear_probe(encoder, given, replace(PLAIN, C=1e6, max_iter=2))
    assert result.protocol["converged"] is False


def test_two_classes_and_labels_far_apart() -> None:
    """Of two classes scikit-learn gives one logit."""
    labels = [2, 6] * 60
    pooled = clouds(labels, 10, seed=1, noise=2.0)
    given = LabelledSet("two", NAMES, list(enumerate(labels))[80:], list(enumerate(labels))[:80])
    encoder = Vectors(pooled / np.linalg.norm(pooled, axis=1, keepdims=True), pooled)
    result = linear_probe(encoder, given, Probe("raw", False, False, False))
    model = LogisticRegression(solver="newton-cg", tol=1e-6).fit(encoder.pooled[:80], labels[:80])
    assert result.outcomes["top1"].mean() == pytest.approx(model.score(encoder.pooled[80:], labels[80:]))
    assert 0.6 < result.outcomes["top1"].mean() < 1


def test_features_that_say_nothing_are_at_chance() -> None:
    labels = np.random.default_rng(0).integers(7, size=3000).tolist()
    units = clouds([0] * 3000, 20, seed=5, noise=1.0)
    given = LabelledSet("made", NAMES, list(enumerate(labels))[1000:], list(enumerate(labels))[:1000])
    encoder = Vectors(units / np.linalg.norm(units, axis=1, keepdims=True))
    scores = {score.metric: score.value for score in linear_probe(encoder, given).scores}
    assert abs(scores["top1"] - 1 / 7) < 4 * math.sqrt(6 / 49 / 2000)
    assert abs(scores["top5"] - 5 / 7) < 4 * math.sqrt(10 / 49 / 2000)


def test_what_cannot_be_probed_is_named() -> None:
    given, encoder = made(90, 20)
    with pytest.raises(Mistake, match="made has no training pictures"):
        linear_probe(encoder, replace(given, train=None))
    with pytest.raises(Mistake, match="too few pictures to choose C on some of them"):
        linear_probe(encoder, given, replace(CLIP, shots=1))
    with pytest.raises(ValueError, match="'x': features after the projection are kept at unit length"):
        Probe("x", normalised=False)
    for part in (given.train, given.test):
        encoder = made(90, 20)[1]
        encoder.units[part[3][0], 0] = math.nan
        with pytest.raises(ValueError, match="NaN"):
            linear_probe(encoder, given)
