"""Two words of a caption exchanged."""

import re
from collections.abc import Sequence

from slipform_core.emoji_world import mend_articles
from slipform_core.records import Caption, Keyword

TRUE = "still true"
# What joins two words that may change places: "a dog and a cat", "a dog next to a cat".
JOINTS = r"and|or|with|near|by|beside|next to|alongside|,|\W"
EITHER_WAY = re.compile(rf"({JOINTS})*( (a|an|the|his|her|its|their|some))?")


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
        before, after = caption.text.lower().split(), negative.lower().split()
        changed = [row for row, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]]
        if len(changed) < 2:
            return None
        return TRUE if EITHER_WAY.fullmatch(" ".join(before[changed[0] + 1 : changed[-1]])) else None


def parts(keyword: Keyword) -> tuple[str, str, str]:
    """The two words of a keyword of `choose_swap`, and what is between them."""
    first, second = keyword.lemma.split("|")
    return first, keyword.text[len(first) : len(keyword.text) - len(second)], second
