"""What a rewriter is, and the generator that each record draws from."""

import hashlib
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from slipform_core.records import Caption, Keyword


class Rewriter(Protocol):
    """From captions and the keyword to change in each, captions that are no longer true.

    `rewrite` answers with the caption unchanged where it can do nothing; `fault` says why a rewriting is no
    hard negative, as far as the rewriter can know, or None. `version` changes when the output does.
    """

    version: str

    def rewrite(
        self, captions: Sequence[Caption], keywords: Sequence[Keyword], *, seed: int
    ) -> list[str]: ...

    def fault(self, caption: Caption, negative: str) -> str | None: ...


def record_rng(caption: Caption, seed: int) -> np.random.Generator:
    """A generator of the record's own, so that it is rewritten alike alone and in any batch."""
    key = f"{seed}|{caption.image_id}|{caption.text}"
    return np.random.default_rng(int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big"))
