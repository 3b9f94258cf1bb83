"""Logistic regression of classes on frozen features, its strength fixed or chosen as CLIP's authors chose."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

LOWEST, HIGHEST, FIRST_STEP, LAST_STEP = -6, 6, 2.0, 0.125  # of the exponent of ten
SWEEP = (
    "C from 1e-6 to 1e6, eight a decade, halving the interval round the best on the validation; the smaller "
    "of equals (arXiv 2103.00020, A.3)"
)


@dataclass(frozen=True)
class Probe:
    """What a linear probe reads, and how it is fitted.

    projected: features after the tower's projection, else before it. normalised: each to unit length, which
    those after the projection always are. standardised: each column by the training's mean and deviation.
    C: the inverse strength of the penalty, sklearn's; None sweeps. shots: training pictures a class, drawn by
    `seed`; None takes all.
    """

    name: str
    projected: bool = True
    normalised: bool = True
    standardised: bool = True
    C: float | None = 1.0
    shots: int | None = None
    seed: int = 0
    max_iter: int = 1000

    def __post_init__(self) -> None:
        if self.projected and not self.normalised:
            raise ValueError(f"probe {self.name!r}: features after the projection are kept at unit length")

    def protocol(self) -> dict[str, Any]:
        return {
            "probe": self.name,
            "features": "after the projection" if self.projected else "before the projection",
            "unit_length": self.normalised,
            "standardised": self.standardised,
            "shots": self.shots or "all",
            "seed": self.seed,
            "classifier": "logistic regression, L2, lbfgs (scikit-learn)",
            "max_iter": self.max_iter,
        }


# Plain: fixed beforehand, tuned on nothing. CLIP's: arXiv 2103.00020, A.3.
PROBES = {
    "plain": Probe("plain"),
    "clip": Probe("clip", projected=False, normalised=False, standardised=False, C=None),
}


def pipeline(probe: Probe, classifier: Any) -> Any:
    """A classifier that prepares features as the probe says."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer, StandardScaler

    steps = [Normalizer()] if probe.normalised and not probe.projected else []
    steps += [StandardScaler()] if probe.standardised else []
    return make_pipeline(*steps, classifier)


def logistic(probe: Probe, C: float) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=C, max_iter=probe.max_iter)


def fit(model: Any, features: np.ndarray, labels: np.ndarray) -> tuple[Any, bool]:
    """The model fitted, and whether every part of it converged."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ConvergenceWarning)
        # scikit-learn would stay in float32, where rounding moves a few of the choices.
        model.fit(features.astype(np.float64), labels)
    return model, not any(issubclass(each.category, ConvergenceWarning) for each in said)


def logits(model: Any, features: np.ndarray, classes: int) -> np.ndarray:
    """Logits (N, K) of a fitted model; a class that training lacks has -inf."""
    found = model.decision_function(features.astype(np.float64))
    if found.ndim == 1:  # of two classes, the second's over the first's
        found = np.stack([np.zeros_like(found), found], axis=1)
    table = np.full((len(features), classes), -np.inf)
    table[:, model.classes_] = found
    return table


def swept(accuracy: Callable[[float], float]) -> tuple[float, dict[str, Any]]:
    """The C that `accuracy` is best at, and how it was found; see `SWEEP`."""
    tried: dict[float, float] = {}
    around, step = np.arange(LOWEST, HIGHEST + 1, FIRST_STEP), FIRST_STEP
    while True:
        for exponent in around:
            if LOWEST <= exponent <= HIGHEST:
                tried[float(exponent)] = accuracy(10.0**exponent)
        best = max(tried, key=lambda exponent: (tried[exponent], -exponent))
        if step == LAST_STEP:
            break
        step /= 2
        around = np.array([best - step, best + step])
    return 10.0**best, {"sweep": SWEEP, "fits": len(tried), "validation_top1": tried[best]}
