"""Why a rewriting is no hard negative, as far as its words and a sentence encoder can tell."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from slipform_core.changes import words
from slipform_core.records import Keyword
from slipform_core.rewriters.swap import SYMMETRIC, exchanged

from .changes import Change, between, change, lemmas, swapped_words
from .language import another_language

# Our choice. Above it MiniLM has 22 of 52 pairs such as couch and sofa, and 1 of 87 such as dog and cat: the
# rest of the synonyms is left to the instructions.
SYNONYM = 0.8
# Our choice. In eight words, "large elephants" has 0.99 with "big elephants" and 0.95 with "small elephants".
PARAPHRASE = 0.98

UNTIDY = "other capitals or marks"
NO_EXCHANGE = "no exchange"


class Encoder(Protocol):
    """What is needed of `sentences.SentenceEncoder`."""

    version: str

    def encode(self, texts: Sequence[str]) -> np.ndarray: ...


def faults(
    captions: Sequence[str],
    negatives: Sequence[str],
    *,
    encoder: Encoder,
    synonym: float,
    paraphrase: float,
) -> list[str | None]:
    """Of each rewriting why it is no hard negative, or None; the changed words are found, not given.

    "unchanged"; "no other word": words came or went and none was replaced; "changed more than one word";
    "other capitals or marks"; "another language"; "still true": words exchanged where their order says
    nothing; "synonym": another form of the same word, or words whose cosine is above `synonym`; "paraphrase":
    the cosine of the captions is above `paraphrase`. The encoder hardly sees the order of words, so that it
    is not asked where two words changed places.
    """
    found: list[str | None] = []
    rows: list[int] = []
    texts: list[str] = []
    for row, (caption, negative) in enumerate(zip(captions, negatives, strict=True)):
        made = change(caption, negative)
        reason = _by_words(caption, made)
        found.append(reason)
        if reason is None and between(lemmas(made.old), lemmas(made.new)) is None:
            rows.append(row)
            texts += " ".join(made.old), " ".join(made.new), caption, negative
    if rows:
        features = np.asarray(encoder.encode(texts)).reshape(len(rows), 2, 2, -1)
        cosines = np.vecdot(features[:, :, 0], features[:, :, 1])
        for row, (by_words, whole) in zip(rows, cosines, strict=True):
            found[row] = "synonym" if by_words > synonym else "paraphrase" if whole > paraphrase else None
    return found


def no_exchange(caption: str, keyword: Keyword, negative: str) -> str | None:
    """The fault of a rewriting that was to exchange two words and did not, articles and number aside."""
    if swapped_words(keyword) is None:
        return None
    made = change(exchanged(caption, keyword), negative)
    return None if lemmas(made.old) == lemmas(made.new) else NO_EXCHANGE


def _by_words(caption: str, made: Change) -> str | None:
    old, new = made.old, made.new
    if not old and not new:
        return "unchanged" if made.tidy else UNTIDY
    if not old or not new:
        return "no other word"
    if not made.tidy:
        return UNTIDY
    said = set(words(caption))
    if any(another_language(word, caption) for word in set(new) - said):
        return "another language"
    was, now = lemmas(old), lemmas(new)
    if was == now:
        return "synonym"
    middle = between(was, now)
    if middle is not None:
        return "still true" if SYMMETRIC.issuperset(middle) else None
    return "changed more than one word" if set(was) & set(now) else None
