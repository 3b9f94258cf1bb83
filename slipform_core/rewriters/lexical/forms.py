"""The form of a word in a caption, and another word in that form."""

from functools import cache
from typing import Any

from slipform_core.records import Keyword
from slipform_core.rewriters.lexical.kinds import ATTRIBUTES, NOUNS, RELATIONS, VERBS, plurals

SINGULAR, PLURAL, BASE, ING, S, PAST = "singular", "plural", "base", "ing", "s", "past"
BE = frozenset(["is", "are", "was", "were", "be", "been", "being", "gets", "getting", "got"])
PARTICIPLE = "participle"


def part_of(keyword: Keyword) -> str:
    """Where to look for words that may replace a keyword."""
    if keyword.role == "relation":
        return VERBS if keyword.pos == "VERB" else RELATIONS
    return ATTRIBUTES if keyword.role == "attribute" else NOUNS


def form_of(keyword: Keyword, part: str, before: str) -> str:
    """The form of a keyword; `before` is the word before it, in lower case."""
    text, lemma = keyword.text.lower(), keyword.lemma.lower()
    if part == NOUNS:
        return PLURAL if text != lemma or text in plurals() else SINGULAR
    if part != VERBS or text == lemma:
        return BASE
    if text.endswith("ing"):
        return ING
    if text.endswith("s"):
        return S
    return PARTICIPLE if before in BE else PAST


@cache
def inflected(word: str, form: str) -> str | None:
    """A word in a form by rule; None where no rule is safe, as for the past of a verb."""
    if form == BASE:
        return word
    if form in (SINGULAR, PLURAL):
        if word in plurals():
            return word if form == PLURAL else None
        return word if form == SINGULAR else _engine().plural_noun(word)
    if form == ING:
        return _engine().present_participle(word)
    return _engine().plural_noun(word) if form == S else None


@cache
def singular(word: str) -> str:
    """The singular of a plural noun by rule, else the word itself."""
    return _engine().singular_noun(word) or word


def indefinite(word: str) -> str:
    """ "a" or "an", as the word is spoken."""
    return _engine().a(word).split()[0]


@cache
def _engine() -> Any:
    import inflect

    return inflect.engine()
