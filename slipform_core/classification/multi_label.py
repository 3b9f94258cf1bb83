"""Linear probes of frozen features: any number of labels a picture."""

import numpy as np

from slipform_core.classification.labels import MultiLabelSet, encoded
from slipform_core.classification.regression import PROBES, Probe, fit, logistic, pipeline
from slipform_core.classification.scoring import Classified
from slipform_core.evaluation import Encoder
from slipform_core.mistakes import Mistake
from slipform_core.probes import indicators, macro_precision

LEFT_OUT = "labels that no test picture has, or none or all of the training"


def multi_label_probe(encoder: Encoder, given: MultiLabelSet, probe: Probe = PROBES["plain"]) -> Classified:
    """`map`: the mean of the labels' average precisions, by a logistic regression each.

    Its standard error is over labels, not pictures. Labels that cannot be fitted or ranked are left out and
    counted. Raises Mistake for a probe that sweeps C or draws shots.
    Source: AP as scikit-learn's average_precision_score, without interpolation.
    """
    if probe.C is None or probe.shots is not None:
        raise Mistake(f"a multi-label probe has a fixed C and all pictures; the probe {probe.name!r} has not")
    from sklearn.metrics import average_precision_score
    from sklearn.multiclass import OneVsRestClassifier

    known, labels = encoded(encoder, given.train, projected=probe.projected)
    new, true = encoded(encoder, given.test, projected=probe.projected)
    found = indicators(labels, true)
    classifier = OneVsRestClassifier(logistic(probe, probe.C))
    model, converged = fit(pipeline(probe, classifier), known, found.has)
    precisions = average_precision_score(
        found.truth, model.decision_function(new.astype(np.float64)), average=None
    )
    protocol = probe.protocol() | {
        "set": given.name,
        "source": given.source,
        "C": probe.C,
        "converged": converged,
        "labels": len(found.labels),
        "labels_left_out": {LEFT_OUT: list(found.left_out)},
        "pictures_missing": dict(given.left_out),
        "train_pictures": len(known),
        "test_pictures": len(new),
        "precisions": dict(zip(found.labels, precisions.tolist(), strict=True)),
    }
    return Classified(
        [macro_precision(f"multi-label-probe-{probe.name}", given.name, precisions, len(new))], protocol, {}
    )
