"""A sentence encoder without weights: vectors from hashes, all about equally alike, some told to be alike."""

import hashlib
import re

import numpy as np

SIZE = 64


class MadeUpEncoder:
    """`alike` maps a word to another one and their cosine; texts are the means of their words."""

    version = "made-up"

    def __init__(self, alike: dict[str, tuple[str, float]] | None = None, common: float = 0.5):
        self.alike, self.common, self.encoded = alike or {}, common, []

    def encode(self, texts) -> np.ndarray:
        self.encoded += texts
        rows = [
            np.mean([self._word(word) for word in re.findall(r"[\w'-]+", text)], axis=0) for text in texts
        ]
        rows = np.stack(rows)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    def _word(self, word: str) -> np.ndarray:
        own = np.zeros(SIZE)
        own[1:] = self._direction(word)
        if word in self.alike:
            other, cosine = self.alike[word]
            base = self._word(other)
            own -= own @ base * base
            return cosine * base + np.sqrt(1 - cosine**2) * own / np.linalg.norm(own)
        own *= np.sqrt(1 - self.common)
        own[0] = np.sqrt(self.common)
        return own

    def _direction(self, word: str) -> np.ndarray:
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
        direction = np.random.default_rng(seed).normal(size=SIZE - 1)
        return direction / np.linalg.norm(direction)
