"""What every rewriting has to be, whoever made it: one other word at the target, within what CLIP reads."""

import re
from collections.abc import Sequence
from functools import cache

from slipform_core.changes import WORD
from slipform_core.records import Keyword

ARTICLES = frozenset(["a", "an", "the"])
# Words beside the changed one that may change with it: "a" to "an", "to the left of" to "above".
COMPANIONS = ARTICLES | {"to", "of", "on", "in", "next"}
CONTEXT = 77  # CLIP's tokens, the two at the ends included
LONG = "past 77 CLIP tokens"


def audit(caption: str, target: Keyword, negative: str) -> str | None:
    """Why a rewriting is no hard negative, or None.

    "empty"; "several lines"; "unchanged"; "changed more than the span": only the target, and companions
    beside it such as an article, may differ between the two captions; "past 77 CLIP tokens": the change, or
    the end of a rewriting of a caption that fits, lies where CLIP cuts.
    """
    if not negative.strip():
        return "empty"
    if len(negative.splitlines()) > 1:
        return "several lines"
    found = [(word[0].lower(), *word.span()) for word in re.finditer(WORD, caption)]
    before, after = [word for word, _, _ in found], [word.lower() for word in re.findall(WORD, negative)]
    head = [word for word, _, end in found if end <= target.start]
    tail = [word for word, start, _ in found if start >= target.end]
    beside: list[str] = []
    while head and head[-1] in COMPANIONS:
        beside.insert(0, head.pop())
    while tail and tail[0] in COMPANIONS:
        beside.append(tail.pop(0))
    first, last = len(head), len(after) - len(tail)
    if first > last or after[:first] != head or after[last:] != tail:
        return "changed more than the span"
    was, now, rest = map(_bare, (before[first : len(before) - len(tail)], after[first:last], beside))
    if now == was:
        return "unchanged"
    if now == rest:  # the word is gone, only what stood beside it stays
        return "changed more than the span"
    return LONG if _cut(caption, negative) else None


def _bare(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in ARTICLES]


def _cut(caption: str, negative: str) -> bool:
    """Whether CLIP's cut hides the change, or the end that it would read of the caption."""
    # A token has at least one byte, so that most pairs need no tokeniser.
    if max(len(caption.encode()), len(negative.encode())) <= CONTEXT - 2:
        return False
    encode = _tokenizer().encode
    before, after = encode(caption), encode(negative)
    room = CONTEXT - 2
    if len(after) > room >= len(before):
        return True
    tail = 0
    while tail < min(len(before), len(after)) and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    return max(len(before), len(after)) - tail > room


@cache
def _tokenizer():
    import slipform_core.torchvision_import  # noqa: F401, I001, before open_clip
    import open_clip

    return open_clip.tokenizer.SimpleTokenizer()
