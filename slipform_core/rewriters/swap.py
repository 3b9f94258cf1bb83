"""Two words of a caption exchanged."""

from collections.abc import Sequence

from slipform_core.changes import words
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
        pairs = zip(captions, keywords, strict=True)
        return [mend_articles(exchanged(caption.text, keyword)) for caption, keyword in pairs]

    def fault(self, caption: Caption, negative: str) -> str | None:
        """ "still true" where what joins the two says nothing of their order, else None."""
        before, after = words(caption.text), words(negative)
        changed = [row for row, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]]
        if len(changed) < 2:
            return None
        between = before[changed[0] + 1 : changed[-1]]
        return TRUE if SYMMETRIC.issuperset(set(between) - DETERMINERS) else None


def exchanged(caption: str, keyword: Keyword) -> str:
    """A caption with the two words of a keyword of `choose_swap` exchanged, articles as they were."""
    first, second = keyword.lemma.split("|")
    between = keyword.text[len(first) : len(keyword.text) - len(second)]
    return caption[: keyword.start] + second + between + first + caption[keyword.end :]
