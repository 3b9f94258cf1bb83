"""Probes against an independent optimiser and slow loops; separable data, permuted labels, telling words."""

import json
import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.model_selection import GroupKFold
from torch.nn.functional import normalize

from slipform_core.models.tiny import slipform_tiny
from slipform_core.probes import features, linear_probes, text_probe

NOUNS = [f"noun{k}" for k in range(12)]
PLACES = ["grass", "sand", "snow"]


def pictures(count: int, seed: int, noise: float, width: int = 20) -> tuple[np.ndarray, list[set], list[str]]:
    """Features: the sum of two nouns' and a place's directions, the same for every seed, and noise."""
    rng, directions = np.random.default_rng(seed), np.random.default_rng(0).normal(size=(15, width))
    nouns = [rng.choice(12, 2, replace=False) for _ in range(count)]
    places = rng.integers(3, size=count)
    rows = [directions[pair].sum(axis=0) + directions[12 + p] for pair, p in zip(nouns, places, strict=True)]
    found = np.array(rows) + noise * rng.normal(size=(count, width))
    return found, [{NOUNS[k] for k in pair} for pair in nouns], [PLACES[p] for p in places]


def slow_logits(known: np.ndarray, classes: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Softmax regression by SciPy's BFGS, with half the weights' squares as penalty; (P, classes)."""
    count, width = classes.max() + 1, known.shape[1]

    def unpack(flat):
        table = flat.reshape(count, width + 1)
        return table[:, :width], table[:, width]

    def loss(flat):
        weights, intercepts = unpack(flat)
        logits = known @ weights.T + intercepts
        own = logits[np.arange(len(known)), classes]
        return (logsumexp(logits, axis=1) - own).sum() + (weights**2).sum() / 2

    best = minimize(loss, np.zeros(count * (width + 1)), method="BFGS", options={"gtol": 1e-4})
    weights, intercepts = unpack(best.x)
    return new @ weights.T + intercepts


def slow_binary(known: np.ndarray, labels: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The same with a sigmoid: one weight vector; (P,)."""

    def loss(flat):
        logits = known @ flat[:-1] + flat[-1]
        return np.logaddexp(0, np.where(labels, -logits, logits)).sum() + (flat[:-1] ** 2).sum() / 2

    best = minimize(loss, np.zeros(known.shape[1] + 1), method="BFGS", options={"gtol": 1e-4})
    return new @ best.x[:-1] + best.x[-1]


def slow_precision(scores: list[float], truth: list[bool]) -> float:
    """The mean over the true ones of the precision among those that score at least as much."""
    ranks = [
        [right for score, right in zip(scores, truth, strict=True) if score >= least]
        for least, own in zip(scores, truth, strict=True)
        if own
    ]
    return sum(sum(above) / len(above) for above in ranks) / len(ranks)


def test_linear_probes_are_those_of_an_independent_optimiser() -> None:
    train, test = pictures(70, 1, noise=4.0, width=6), pictures(50, 2, noise=4.0, width=6)
    train[1][0].add("only in training")
    test[1][0].add("only in the test")
    for objects in train[1]:
        objects.add("everywhere")
    test[1][3].add("everywhere")
    mean, deviation = train[0].mean(axis=0), np.sqrt(((train[0] - train[0].mean(axis=0)) ** 2).mean(axis=0))
    known, new = (train[0] - mean) / deviation, (test[0] - mean) / deviation
    precisions = []
    for noun in NOUNS:
        scores = slow_binary(known, np.array([noun in objects for objects in train[1]]), new)
        precisions.append(slow_precision(scores.tolist(), [noun in objects for objects in test[1]]))
    chosen = slow_logits(known, np.array([PLACES.index(place) for place in train[2]]), new).argmax(axis=1)
    right = sum(PLACES[k] == place for k, place in zip(chosen, test[2], strict=True)) / 50
    objects, places = linear_probes(train, test)
    assert (objects.benchmark, objects.subset, objects.metric, objects.count) == (
        "probe",
        "object",
        "map",
        50,
    )
    assert (places.benchmark, places.subset, places.metric, places.count) == ("probe", "place", "top1", 50)
    # Neighbours whose logits are nearer than the solvers' tolerance may change places: some thousandths.
    assert objects.value == pytest.approx(sum(precisions) / 12, abs=2e-3)
    assert 0.2 < objects.value < 0.8 and 0.4 < right < 0.95
    centred = [value - sum(precisions) / 12 for value in precisions]
    assert objects.stderr == pytest.approx(math.sqrt(sum(c * c for c in centred) / 11 / 12), rel=0.01)
    assert places.value == pytest.approx(right, abs=1e-12)
    assert places.stderr == pytest.approx(math.sqrt(right * (1 - right) / 50))


def test_separable_features_are_read_and_permuted_labels_are_not() -> None:
    train, test = pictures(600, 1, noise=0.1), pictures(300, 2, noise=0.1)
    objects, places = linear_probes(train, test)
    assert objects.value > 0.97 and places.value > 0.99
    order = np.random.default_rng(3).permutation(600)
    mixed = (train[0], [train[1][k] for k in order], [train[2][k] for k in order])
    objects, places = linear_probes(mixed, test)
    # A noun is in a sixth of the pictures, a place in a third. Fifteen directions decide for all pictures,
    # so that these are not independent: five standard errors, doubled.
    assert abs(objects.value - 1 / 6) < 0.08
    assert abs(places.value - 1 / 3) < 10 * math.sqrt(2 / 9 / 300)


def test_units_of_the_features_do_not_matter() -> None:
    train, test = pictures(150, 1, noise=2.0), pictures(100, 2, noise=2.0)
    units = np.geomspace(1e-3, 1e3, 20)
    scaled = [(part[0] * units + 7 * units, *part[1:]) for part in (train, test)]
    for one, other in zip(linear_probes(train, test), linear_probes(*scaled), strict=True):
        assert one.value == pytest.approx(other.value, abs=1e-3)


def test_a_place_that_training_lacks_is_wrong() -> None:
    train, test = pictures(150, 1, noise=0.1), pictures(100, 2, noise=0.1)
    unknown = (*test[:2], ["brick" if place == "sand" else place for place in test[2]])
    assert linear_probes(train, unknown)[1].value == pytest.approx(np.mean([p != "sand" for p in test[2]]))


def test_what_cannot_be_probed_is_named() -> None:
    train, test = pictures(30, 1, noise=1.0), pictures(20, 2, noise=1.0)
    with pytest.raises(ValueError, match=r"of test have unequal lengths: \[19, 20\]"):
        linear_probes(train, (test[0][:19], *test[1:]))
    with pytest.raises(ValueError, match="1 labels vary .* two are needed"):
        linear_probes(train, (test[0], [{"noun3"}] * 20, test[2]))


def test_features_are_the_unit_vectors_of_the_pictures() -> None:
    clip = slipform_tiny(["dog"], seed=0)
    clip.model.train()
    pixels = np.random.default_rng(0).integers(256, size=(7, 64, 64, 3), dtype=np.uint8)
    found = features(clip, pixels, 3)
    assert not clip.model.training and found.dtype == np.float32
    with torch.no_grad():
        alone = torch.cat(
            [normalize(clip.model.visual(clip.preprocess(torch.from_numpy(p)[None])), dim=-1) for p in pixels]
        )
    np.testing.assert_allclose(found, alone.numpy(), atol=1e-6)  # the rounding of float32 in another batch


WORDS = [f"w{k}" for k in range(40)]


def sentences(count: int, seed: int, length: int = 5) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, length)) for _ in range(count)]


def slow_counts(texts: list[str]) -> np.ndarray:
    rows = []
    for text in texts:
        words = text.lower().split()
        rows.append([*words, *(f"{one} {other}" for one, other in zip(words, words[1:], strict=False))])
    vocabulary = sorted({ngram for row in rows for ngram in row})
    return np.array([[row.count(ngram) for ngram in vocabulary] for row in rows], dtype=float)


def test_the_text_probe_is_that_of_an_independent_optimiser() -> None:
    own, negative = sentences(40, 1, length=3), sentences(40, 2, length=3)
    own[::4] = [f"{text} a" for text in own[::4]]  # a word of one letter counts
    groups = [k // 2 for k in range(40)]
    counts = slow_counts([*own, *negative])
    logits = np.zeros(80)
    folds = GroupKFold(5, shuffle=True, random_state=9)
    for _, held in folds.split(own, groups=groups):
        rows = np.concatenate([held, held + 40])
        rest = np.setdiff1d(np.arange(80), rows)
        # Of 200 n-grams most never meet: the span of the training's rows holds the weights.
        basis = np.linalg.svd(counts[rest], full_matrices=False)[2]
        logits[rows] = slow_binary(counts[rest] @ basis.T, rest < 40, counts[rows] @ basis.T)
    pair = [a > b + 1e-3 for a, b in zip(logits[:40], logits[40:], strict=True)]
    single = [(int(a > 0) + int(b < 0)) / 2 for a, b in zip(logits[:40], logits[40:], strict=True)]
    found = text_probe(own, negative, groups, seed=9)
    assert found["count"] == 40
    assert found["pair"]["value"] == pytest.approx(np.mean(pair), abs=1e-5)
    assert found["single"]["value"] == pytest.approx(np.mean(single), abs=1e-5)
    of_pictures = [(int(pair[k]) + int(pair[k + 1])) / 2 for k in range(0, 40, 2)]  # as many pairs in each
    assert found["pair"]["stderr"] == pytest.approx(np.std(of_pictures) / math.sqrt(20), abs=1e-5)


def test_exchangeable_rewrites_are_at_chance() -> None:
    found = text_probe(sentences(800, 1), sentences(800, 2), range(800), seed=0)
    # Four standard deviations of a fraction of 800 coins.
    assert abs(found["pair"]["value"] - 0.5) < 4 * math.sqrt(0.25 / 800)
    assert abs(found["single"]["value"] - 0.5) < 4 * math.sqrt(0.25 / 800)
    assert found["pair"]["stderr"] == pytest.approx(math.sqrt(0.25 / 800), rel=0.02)


def test_a_telling_word_is_found_and_named() -> None:
    own = sentences(300, 1)
    negative = [f"{text} zebra" if k % 10 else text for k, text in enumerate(sentences(300, 2))]
    found = text_probe(own, negative, range(300), seed=0)
    assert found["pair"]["value"] > 0.9 and found["single"]["value"] > 0.9
    [first, weight], *others = found["words"]
    assert first == "zebra" and weight < -2 and len(others) == 9
    assert all(abs(other) < -weight for _, other in others)
    assert json.loads(json.dumps(found)) == found


def test_order_alone_tells_by_word_pairs() -> None:
    own = ["dog left of cup", "owl left of hat", "fox left of box"] * 40
    negative = ["cup of left dog", "hat of left owl", "box of left fox"] * 40
    assert text_probe(own, negative, range(120), seed=0)["pair"]["value"] == 1


def test_a_picture_s_texts_are_held_out_together() -> None:
    """Words that only a picture's own captions have tell nothing of another picture's."""
    groups = [k // 4 for k in range(200)]
    own = [f"a thing that is mine{group}" for group in groups]
    negative = [f"a thing that is other{group}" for group in groups]
    found = text_probe(own, negative, groups, seed=0)
    assert found["pair"]["value"] == 0 and found["ties"] == 200
    # The same texts tell everything to a probe that has seen others of the picture.
    assert text_probe(own, negative, range(200), seed=0)["pair"]["value"] == 1


def test_a_caption_and_its_rewrite_are_held_out_together() -> None:
    texts = [f"this is text{k} and no{k} other" for k in range(100)]
    found = text_probe(texts, texts, range(100), seed=0)
    assert found["ties"] == 100 and found["pair"]["value"] == 0
    assert found["single"]["value"] <= 0.5


def test_the_seed_deals_the_folds() -> None:
    texts = sentences(100, 1), sentences(100, 2), range(100)
    first, again, other = (text_probe(*texts, seed=seed) for seed in (1, 1, 2))
    assert first == again and first["pair"] != other["pair"] and first["words"] == other["words"]


def test_texts_that_do_not_pair_are_an_error() -> None:
    with pytest.raises(ValueError, match="3 captions, 2 rewrites, 3 groups"):
        text_probe(["a"] * 3, ["b"] * 2, [0, 1, 2], seed=0)
    with pytest.raises(ValueError, match="groups"):
        text_probe(["a"] * 3, ["b"] * 3, [0, 1, 2], seed=0)
