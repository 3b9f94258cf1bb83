"""Linear probes of frozen features: one class a picture."""

from functools import partial

import numpy as np

from slipform_core.classification.labels import LabelledSet, Pairs, encoded
from slipform_core.classification.regression import PROBES, Probe, fit, logistic, logits, pipeline, swept
from slipform_core.classification.scoring import Classified, scored
from slipform_core.evaluation import Encoder
from slipform_core.metrics import strict_rank
from slipform_core.mistakes import Mistake

HELD = 5  # one in so many training pictures is held out where the set has no validation part: our choice

Part = tuple[np.ndarray, np.ndarray]  # features (N, D) and classes (N,)


def linear_probe(encoder: Encoder, given: LabelledSet, probe: Probe = PROBES["plain"]) -> Classified:
    """`scored` by a logistic regression of the training pictures' features.

    Where C is swept it is chosen on the set's validation part, or on a fifth of the training held out. The
    last fit is on both together; only the training's where `shots` counts them. A class that training lacks
    is never chosen. Raises Mistake for a set without training pictures, and for too few of a class.
    """
    part = partial(_part, encoder, probe)
    train = part(given.training() if probe.shots is None else few(given, probe))
    protocol = probe.protocol() | {"C": probe.C, "validation": "none"}
    own = None
    if given.val is not None and (probe.C is None or probe.shots is None):
        own = part(given.val)
    if probe.C is None:
        known, held = (train, own) if own else _held_out(given, train, probe.seed)
        C, found = swept(lambda C: _accuracy(given, probe, C, known, held))
        protocol |= found | {"C": C, "validation": "the set's own" if own else f"1/{HELD} of the training"}
    if own and probe.shots is None:
        train = tuple(np.concatenate(both) for both in zip(train, own, strict=True))
    model, converged = fit(pipeline(probe, logistic(probe, protocol["C"])), *train)
    protocol |= {"train_pictures": len(train[1]), "converged": converged}
    features, labels = encoded(encoder, given.test, projected=probe.projected)
    classify = partial(logits, model, classes=len(given.classes))
    return scored(f"linear-probe-{probe.name}", given, classify, features, labels, protocol)


def few(given: LabelledSet, probe: Probe) -> Pairs:
    """As many training pictures of each class as the probe has shots, drawn by its seed, in their order."""
    pairs = given.training()
    labels = np.array([label for _, label in pairs])
    rng, chosen = np.random.default_rng(probe.seed), set()
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        if len(rows) < probe.shots:
            found = f"{given.classes[label]!r} has {len(rows)} training pictures"
            raise Mistake(f"{given.name}: {found}, {probe.shots} shots need as many")
        chosen.update(rng.choice(rows, probe.shots, replace=False).tolist())
    return [pair for row, pair in enumerate(pairs) if row in chosen]


def _part(encoder: Encoder, probe: Probe, pairs: Pairs) -> Part:
    features, labels = encoded(encoder, pairs, projected=probe.projected)
    return features, np.array(labels)


def _held_out(given: LabelledSet, train: Part, seed: int) -> tuple[Part, Part]:
    from sklearn.model_selection import train_test_split

    try:
        parts = train_test_split(*train, test_size=1 / HELD, stratify=train[1], random_state=seed)
    except ValueError as error:
        why = " ".join(str(error).split())
        raise Mistake(f"{given.name}: too few pictures to choose C on some of them: {why}") from None
    return (parts[0], parts[2]), (parts[1], parts[3])


def _accuracy(given: LabelledSet, probe: Probe, C: float, known: Part, held: Part) -> float:
    model, _ = fit(pipeline(probe, logistic(probe, C)), *known)
    table = logits(model, held[0], len(given.classes))
    return float((strict_rank(table, held[1][:, None] == np.arange(len(given.classes))) == 0).mean())
