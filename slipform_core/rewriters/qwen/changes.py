"""Which words differ between a caption and its rewriting."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from slipform_core.audit import ARTICLES
from slipform_core.changes import WORD
from slipform_core.concreteness.pipeline import lemma_of
from slipform_core.records import Keyword


class Change(NamedTuple):
    """The words between the common beginning and end of two texts, articles left aside.

    `tidy` says that capitals of the common words and the punctuation of both texts are the same.
    """

    old: tuple[str, ...]
    new: tuple[str, ...]
    tidy: bool


def change(caption: str, negative: str) -> Change:
    before, after = _words(caption), _words(negative)
    was, now = ([word.lower() for word in words] for words in (before, after))
    room = min(len(was), len(now))
    head = next((i for i in range(room) if was[i] != now[i]), room)
    tail = next((i for i in range(room - head) if was[-1 - i] != now[-1 - i]), room - head)
    last, end = len(before) - tail, len(after) - tail
    kept = before[:head] + before[last:] == after[:head] + after[end:]
    return Change(tuple(was[head:last]), tuple(now[head:end]), kept and _marks(caption) == _marks(negative))


def lemmas(words: Sequence[str]) -> list[str]:
    return [_lemma(word) for word in words]


def between(old: Sequence[str], new: Sequence[str]) -> Sequence[str] | None:
    """The words between two that changed places, None where that is not what happened."""
    if Counter(old) != Counter(new):
        return None
    for first in range(1, len(old)):
        for second in range(1, len(old) - first + 1):
            middle = old[first : len(old) - second]
            if [*old[len(old) - second :], *middle, *old[:first]] == list(new):
                return middle
    return None


def swapped_words(keyword: Keyword) -> tuple[str, str] | None:
    """The two words of a keyword that `choose_swap` made, or None."""
    first, bar, second = keyword.lemma.partition("|")
    ends = keyword.text.startswith(first) and keyword.text.endswith(second)
    apart = len(keyword.text) > len(first) + len(second) and keyword.text != keyword.lemma
    return (first, second) if first and bar and second and ends and apart else None


def _words(text: str) -> list[str]:
    return [word for word in re.findall(WORD, text) if word.lower() not in ARTICLES]


def _marks(text: str) -> Counter[str]:
    return Counter(re.sub(rf"{WORD}|\s", "", text))


@lru_cache(maxsize=65536)
def _lemma(word: str) -> str:
    return lemma_of(word).lower()
