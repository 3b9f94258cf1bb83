"""Strict scores of classifiers, with the protocol that made them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from more_itertools import chunked

from slipform_core.classification.labels import PER_CLASS, TOP1, LabelledSet
from slipform_core.metrics import first_tied, proportion_stderr, strict_rank
from slipform_core.records import Score

CELLS = 1 << 24  # of a block of logits
RULE = "strict: a tie with a wrong class is wrong"


@dataclass(frozen=True)
class Classified:
    """Scores, how they were made, and which pictures are right: metric -> bool (N,), in the set's order."""

    scores: list[Score]
    protocol: dict[str, Any]
    outcomes: Mapping[str, np.ndarray]


def scored(
    benchmark: str,
    given: LabelledSet,
    logits: Callable[[np.ndarray], np.ndarray],
    features: np.ndarray,
    labels: list[int],
    protocol: Mapping[str, Any],
) -> Classified:
    """Top-1, top-5 where there are more than five classes, the mean over classes of top-1, and ties.

    logits: of rows of features (N, D), (N, K). `per_class` is over the classes that the test has. `ties`: the
    share of pictures whose own class and a wrong one are equally and most likely. ValueError for NaN, labels
    that are no class, and no pictures.
    """
    own, classes = np.array(labels, dtype=np.intp), len(given.classes)
    if not len(own) or own.min() < 0 or own.max() >= classes:
        raise ValueError(f"{given.name}: {len(own)} labels are not all within 0..{classes - 1}")
    ranks, ties = [], []
    for rows in chunked(range(len(own)), max(1, CELLS // classes)):
        table, relevant = logits(features[rows]), own[rows, None] == np.arange(classes)
        ranks.append(strict_rank(table, relevant))
        ties.append(first_tied(table, relevant))
    places = np.concatenate(ranks)
    outcomes = {f"top{k}": places < k for k in (1, 5) if k == 1 or classes > k}
    tied = np.concatenate(ties)
    counted = np.bincount(own, minlength=classes)
    tested = counted > 0
    rates = np.bincount(own, weights=outcomes[TOP1], minlength=classes)[tested] / counted[tested]
    spread = _stderr_of_mean(rates, counted[tested])
    of = benchmark, given.name
    scores = [
        Score(*of, metric, float(right.mean()), len(own), proportion_stderr(right))
        for metric, right in outcomes.items()
    ]
    scores.append(Score(*of, PER_CLASS, float(rates.mean()), len(own), spread))
    scores.append(Score(*of, "ties", float(tied.mean()), len(own), proportion_stderr(tied)))
    about = {
        "set": given.name,
        "source": given.source,
        "metric": given.metric,
        "rule": RULE,
        "classes": classes,
        "classes_tested": int(tested.sum()),
        "test_pictures": len(own),
    }
    return Classified(scores, about | dict(protocol), outcomes)


def _stderr_of_mean(rates: np.ndarray, counted: np.ndarray) -> float:
    """The standard error of the mean of classes' fractions right, each of so many pictures.

    Where a class has one picture, whose spread it does not tell, that of all classes' mean stands in.
    """
    mean = rates.mean()
    alone = np.full(len(rates), mean * (1 - mean))
    variances = np.divide(rates * (1 - rates), counted - 1, out=alone, where=counted > 1)
    return float(np.sqrt(variances.sum()) / len(rates))
