"""Zero-shot classification: a class is the mean direction of its prompts."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from slipform_core.classification.labels import LabelledSet, encoded
from slipform_core.classification.scoring import Classified, scored
from slipform_core.evaluation import Encoder

ENSEMBLE = "a class is the normalised mean of its prompts' unit vectors, the nearest class is chosen"


def zero_shot(encoder: Encoder, given: LabelledSet) -> Classified:
    """`scored` by the cosine of each picture with each class.

    Source: arXiv 2103.00020, 3.1.4, as in open_clip's build_zero_shot_classifier.
    """
    directions = class_directions(encoder, given.classes, given.templates)
    features, labels = encoded(encoder, given.test)

    def cosines(rows: np.ndarray) -> np.ndarray:
        # In float64, rounded to float32: blocks of a product round alike features differently, which would
        # break the ties of a collapsed model.
        return (rows.astype(np.float64) @ directions.T).astype(np.float32)

    alike = Counter(given.classes)
    protocol = {
        "classifier": ENSEMBLE,
        "prompts": given.prompts,
        "templates": list(given.templates),
        "classes_named_alike": sum(count for count in alike.values() if count > 1),
    }
    return scored("zero-shot", given, cosines, features, labels, protocol)


def class_directions(encoder: Encoder, classes: Sequence[str], templates: Sequence[str]) -> np.ndarray:
    """Unit vectors (K, D) float64; every text is encoded once."""
    prompts = [template.replace("{}", name) for name in classes for template in templates]
    texts = encoder.texts(prompts).astype(np.float64).reshape(len(classes), len(templates), -1)
    means = texts.mean(axis=1)
    return means / np.linalg.norm(means, axis=1, keepdims=True)
