"""Rewrites a caption without a language model: with another word of the same kind."""

from collections.abc import Sequence

import numpy as np

from slipform_core.records import Caption, Keyword
from slipform_core.rewriters.lexical.candidates import Candidate, Candidates
from slipform_core.rewriters.lexical.fluency import Fluency
from slipform_core.rewriters.lexical.forms import indefinite
from slipform_core.rewriters.protocol import record_rng

FLUENT = 4  # drawn candidates among which a language model chooses
ARTICLES = {"a", "an"}


class LexicalRewriter:
    """Replaces the keyword by a word drawn from its candidates, the better ones more often.

    fluency: a language model that chooses among four drawn, by which caption it finds likeliest.
    """

    def __init__(self, candidates: Candidates, fluency: Fluency | None = None):
        self._candidates, self._fluency = candidates, fluency
        judged = f"-{fluency.version}" if fluency else ""
        self.version = f"lexical@1-{candidates.version}{judged}"

    def rewrite(self, captions: Sequence[Caption], keywords: Sequence[Keyword], *, seed: int) -> list[str]:
        """Captions with another word, or as they were where no word fits."""
        drawn = [self._drawn(*pair, seed) for pair in zip(captions, keywords, strict=True)]
        return self._fluency.best(drawn) if self._fluency else [texts[0] for texts in drawn]

    def fault(self, caption: Caption, negative: str) -> str | None:
        """None: what makes a word unfit was asked before it was taken."""

    def _drawn(self, caption: Caption, keyword: Keyword, seed: int) -> list[str]:
        found = self._candidates.find(caption, keyword)
        if not found:
            return [caption.text]
        # The largest of scores with Gumbel noise is a draw from their softmax.
        noise = record_rng(caption, seed).gumbel(size=len(found))
        order = np.argsort(-(np.array([candidate.score for candidate in found]) + noise))
        return [replaced(caption.text, keyword, found[row]) for row in order[:FLUENT]]


def replaced(caption: str, keyword: Keyword, candidate: Candidate) -> str:
    """The caption with another word at the keyword, an article before it agreeing."""
    text = candidate.text
    head = caption[: keyword.start]
    rest, space, last = head.rstrip().rpartition(" ")
    if last.lower() in ARTICLES and head != head.rstrip():
        article = indefinite(text)
        head = f"{rest}{space}{article.capitalize() if last[0].isupper() else article} "
    if keyword.text[0].isupper():
        text = text[0].upper() + text[1:]
    return head + text + caption[keyword.end :]
