"""Checks of what published norms say of words."""

from collections.abc import Mapping, Sequence

import numpy as np

from slipform_core.concreteness import NORMS, Norms

from .outcome import Outcome, decided

BASIS = "the norms"
CONCRETENESS = "brysbaert"


def missing_word(*, word: str) -> Outcome:
    """Whether a word is missing from Brysbaert's norms."""
    norms = Norms.load(CONCRETENESS)
    if word in norms:
        return decided(False, f"{word} is in the table: {norms[word]:.2f}", BASIS)
    return decided(True, f"{word} is not in the table", BASIS)


def has_bigrams() -> Outcome:
    """Whether Brysbaert's norms have entries of two words."""
    norms = Norms.load(CONCRETENESS)
    count = sum(len(entry.split()) == 2 for entry in norms)
    return decided(count > 0, f"{count:,} of {len(norms):,} entries are of two words", BASIS)


def on_scale(*, low: float, high: float) -> Outcome:
    """Whether all of Brysbaert's means lie on a scale."""
    values = list(Norms.load(CONCRETENESS).values())
    least, most = min(values), max(values)
    return decided(
        low <= least and most <= high, f"{least:.2f} to {most:.2f}, {len(values):,} entries", BASIS
    )


def same_norms(*, names: tuple[str, str]) -> Outcome:
    """Whether two names stand for the same norms: one scale, and the same words with the same means."""
    one, other = (Norms.load(name) for name in names)
    shown = (
        f"{NORMS[norms.name].citation}: {len(norms):,} words, {norms.scale[0]:g} to {norms.scale[1]:g}"
        for norms in (one, other)
    )
    return decided(one.scale == other.scale and dict(one) == dict(other), "; ".join(shown), BASIS)


def word_margins(
    *, half: float, midpoint: float, width: float, reported: Mapping[str, tuple[float, float]], within: float
) -> Outcome:
    """Whether words have the reported concreteness and the margin half * tanh((c - midpoint) / (2 width))."""
    norms = Norms.load(CONCRETENESS)
    ours = {word: half * float(np.tanh((norms[word] - midpoint) / (2 * width))) for word in reported}
    holds = all(norms[word] == c and abs(ours[word] - m) <= within for word, (c, m) in reported.items())
    shown = (f"{word} {norms[word]:.2f}: {margin:+.2f} logits" for word, margin in ours.items())
    return decided(holds, ", ".join(shown), BASIS)


def concrete_unseen(*, words: Sequence[str], concrete: float, seen: float) -> Outcome:
    """Whether words are concrete (at least that) though sight tells little of them (under that, of 0..5).

    Sight: the Lancaster norms' strength of visual experience. Also counts all such words.
    """
    norms, sight = Norms.load(CONCRETENESS), Norms.load("lancaster_visual")
    both = {word: sight.first(word) for word, c in norms.items() if c >= concrete}
    rated = {word: strength for word, strength in both.items() if strength is not None}
    unseen = [word for word, strength in rated.items() if strength < seen]
    shown = ", ".join(f"{word} {norms[word]:.2f} and {sight.first(word):.2f}" for word in words)
    ours = f"{shown}; so are {len(unseen):,} of {len(rated):,} words with c of {concrete:g} at least"
    return decided(set(words) <= set(unseen), ours, BASIS)


CHECKS = {
    check.__name__: check
    for check in (missing_word, has_bigrams, on_scale, same_norms, word_margins, concrete_unseen)
}
