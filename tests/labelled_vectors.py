"""An encoder whose features are rows of tables, and labelled sets of such rows."""

import numpy as np


class Vectors:
    """Pictures are numbers of rows; texts have random unit vectors of their own, or those that are given."""

    def __init__(self, units: np.ndarray, pooled: np.ndarray | None = None, texts: dict | None = None):
        self.units, self.pooled, self.given = units.astype(np.float32), pooled, texts or {}

    def pictures(self, pictures, *, projected: bool = True) -> np.ndarray:
        return (self.units if projected else self.pooled)[list(pictures)].astype(np.float32)

    def texts(self, texts) -> np.ndarray:
        width = self.units.shape[1]
        return np.array([self.given.get(text, random_unit(text, width)) for text in texts], dtype=np.float32)


def random_unit(text: str, width: int) -> np.ndarray:
    vector = np.random.default_rng(list(text.encode())).normal(size=width)
    return vector / np.linalg.norm(vector)


def random_units(count: int, width: int, seed: int) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(count, width))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def clouds(labels, width: int, seed: int, noise: float) -> np.ndarray:
    """Features: a direction for each label, the same for every seed, and noise; of any length."""
    directions = np.random.default_rng(0).normal(size=(64, width))
    return directions[labels] + noise * np.random.default_rng(seed).normal(size=(len(labels), width))
