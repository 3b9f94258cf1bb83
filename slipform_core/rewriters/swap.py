"""Two words of a caption exchanged."""

import re
from collections.abc import Sequence

from slipform_core.changes import WORD
from slipform_core.emoji_world import mend_articles
from slipform_core.records import Caption, Keyword

TRUE = "still true"
# What two things stand on both sides of alike, so that exchanging them changes nothing: our choice.
SYMMETRIC = frozenset(["and", "or", "with", "near", "beside", "by", "next", "to", "alongside"])
DETERMINERS = frozenset(["a", "an", "the", "his", "her", "its", "their", "some"])


class SwapWords:
    """Exchanges the two words at the ends of the keyword, as `choose_swap` gives it."""

    version = "swap@1"

    def rewrite(self, captions: Sequence[Caption], keywords: Sequence[Keyword], *, seed: int) -> list[str]:
        return [self._one(*pair) for pair in zip(captions, keywords, strict=True)]

    def _one(self, caption: Caption, keyword: Keyword) -> str:
        first, between, second = parts(keyword)
        swapped = f"{second}{between}{first}"
        return mend_articles(caption.text[: keyword.start] + swapped + caption.text[keyword.end :])

    def fault(self, caption: Caption, negative: str) -> str | None:
        """ "still true" where what joins the two says nothing of their order, else None."""
        before, after = (re.findall(WORD, text.lower()) for text in (caption.text, negative))
        changed = [row for row, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]]
        if len(changed) < 2:
            return None
        between = before[changed[0] + 1 : changed[-1]]
        return TRUE if SYMMETRIC.issuperset(set(between) - DETERMINERS) else None


def parts(keyword: Keyword) -> tuple[str, str, str]:
    """The two words of a keyword of `choose_swap`, and what is between them."""
    first, second = keyword.lemma.split("|")
    return first, keyword.text[len(first) : len(keyword.text) - len(second)], second
