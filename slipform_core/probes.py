"""Linear probes: what frozen features of pictures hold, and what text alone tells of captions and rewrites.

P pictures, D embedding width, L labels, R pairs of a caption and its rewrite. Every classifier is a logistic
regression with C = 1, a standard normal prior on each weight: fixed beforehand, tuned on nothing.
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from slipform_core.metrics import clustered_stderr, proportion_stderr
from slipform_core.models.clip import Clip
from slipform_core.records import Score

FOLDS = 5
TELLING = 10  # n-grams that the text probe names
DIGITS = 5


class Labelled(NamedTuple):
    """Features (P, D) of pictures, the objects in each, and the place of each."""

    features: NDArray[np.floating]
    objects: Sequence[Collection[str]]
    places: Sequence[str]


def features(clip: Clip, pictures: NDArray[np.uint8], batch: int) -> NDArray[np.float32]:
    """Unit vectors (P, D) of pictures (P, H, W, 3) uint8; leaves the model in eval mode."""
    clip.model.eval()
    with torch.inference_mode():
        parts = [
            clip.encode_image(pictures[start : start + batch]).float()
            for start in range(0, len(pictures), batch)
        ]
    return torch.cat(parts).numpy()


def linear_probes(train: Labelled | tuple, test: Labelled | tuple) -> list[Score]:
    """Scores `map` of objects and `top1` of places in the test, by classifiers of the training's features.

    Features are standardised by the training's means and deviations. Objects: a binary classifier a label;
    the mean of the labels' average precisions, whose standard error is over labels, not pictures; which
    labels count, `indicators` says. Places: one multinomial classifier, the fraction right; a place that
    training lacks is wrong.
    Raises ValueError for columns of unequal length and fewer than two labels that count.
    """
    from sklearn.metrics import average_precision_score
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import StandardScaler

    train, test = _checked("train", train), _checked("test", test)
    scaler = StandardScaler().fit(train.features)
    known, new = scaler.transform(train.features), scaler.transform(test.features)
    found = indicators(train.objects, test.objects)
    logits = OneVsRestClassifier(_classifier()).fit(known, found.has).decision_function(new)
    precisions = average_precision_score(found.truth, logits, average=None)
    right = _classifier().fit(known, train.places).predict(new) == np.array(test.places)
    return [
        macro_precision("probe", "object", precisions, len(new)),
        Score("probe", "place", "top1", float(right.mean()), len(new), proportion_stderr(right)),
    ]


def _checked(name: str, part: Labelled | tuple) -> Labelled:
    given = Labelled(*part)
    if len(lengths := {len(column) for column in given}) > 1:
        raise ValueError(f"features, objects and places of {name} have unequal lengths: {sorted(lengths)}")
    # scikit-learn would stay in float32, where rounding moves a few of the choices.
    return given._replace(features=np.asarray(given.features, dtype=np.float64))


class Indicators(NamedTuple):
    """Which pictures have which label, (P, L) as 0 and 1, of the labels that count; and those that do not."""

    has: NDArray[np.int64]
    truth: NDArray[np.int64]
    labels: tuple[str, ...]
    left_out: tuple[str, ...]


def indicators(train: Sequence[Collection[str]], test: Sequence[Collection[str]]) -> Indicators:
    """Only labels count that some but not all training pictures have, and some test picture.

    Raises ValueError for fewer than two that count.
    """
    from sklearn.preprocessing import MultiLabelBinarizer

    binarizer = MultiLabelBinarizer().fit([*train, *test])
    has, truth = binarizer.transform(train), binarizer.transform(test)
    count = has.any(axis=0) & ~has.all(axis=0) & truth.any(axis=0)
    if count.sum() < 2:
        raise ValueError(f"{count.sum()} labels vary in training and occur in the test: two are needed")
    names = binarizer.classes_
    return Indicators(has[:, count], truth[:, count], tuple(names[count]), tuple(names[~count]))


def macro_precision(benchmark: str, subset: str, precisions: NDArray[np.floating], count: int) -> Score:
    """`map`: the mean of labels' average precisions, its standard error over labels; count: of pictures."""
    stderr = float(precisions.std(ddof=1) / np.sqrt(len(precisions)))
    return Score(benchmark, subset, "map", float(precisions.mean()), count, stderr)


def text_probe(
    own: Sequence[str], negative: Sequence[str], groups: Sequence[int], *, seed: int
) -> dict[str, Any]:
    """How well a classifier that sees only text tells captions from their rewrites; chance is 1/2.

    own, negative: the R pairs; groups: the picture of each pair. Words and word pairs are counted, and the
    classifier is cross-validated: a picture's texts are held out together, `seed` deals the folds.
    Returns plain values. `count`: R. `single`: of 2 R texts, labelled right. `pair`: of R pairs, own found, a
    tie being wrong; both with their standard errors over pictures. `ties`: how many. `words`: the most
    telling n-grams of a fit on everything, with their weights, above 0 where they speak for a caption.
    Raises ValueError for unequal lengths and fewer than five pictures.
    """
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.model_selection import GroupKFold, cross_val_predict

    if not len(own) == len(negative) == len(groups):
        raise ValueError(f"{len(own)} captions, {len(negative)} rewrites, {len(groups)} groups: not as many")
    vectorizer = CountVectorizer(ngram_range=(1, 2), token_pattern=r"\b\w+\b")
    counts = vectorizer.fit_transform([*own, *negative])
    labels = np.repeat([1, 0], len(own))
    logits = cross_val_predict(
        _classifier(),
        counts,
        labels,
        groups=np.tile(groups, 2),
        cv=GroupKFold(FOLDS, shuffle=True, random_state=seed),
        method="decision_function",
    )
    captions, rewrites = np.split(logits, 2)
    weights = _classifier().fit(counts, labels).coef_[0]
    telling = np.argsort(-np.abs(weights), kind="stable")[:TELLING]
    ngrams = vectorizer.get_feature_names_out()
    return {
        "count": len(own),
        "single": _fraction(((captions > 0).astype(float) + (rewrites < 0)) / 2, groups),
        "pair": _fraction(captions > rewrites, groups),
        "ties": int((captions == rewrites).sum()),
        "words": [[str(ngrams[k]), round(float(weights[k]), DIGITS)] for k in telling],
    }


def _classifier() -> Any:
    from sklearn.linear_model import LogisticRegression

    # On counts of words, Newton's steps take a third of the default solver's time.
    return LogisticRegression(C=1.0, solver="newton-cg", max_iter=1000)


def _fraction(right: NDArray, groups: Sequence[int]) -> dict[str, float]:
    """The mean of (R,) fractions, and its standard error with pairs of a group taken for one observation."""
    stderr = clustered_stderr(right, groups)
    return {"value": round(float(right.mean()), DIGITS), "stderr": round(stderr, DIGITS)}
