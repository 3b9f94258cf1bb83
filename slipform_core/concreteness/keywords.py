"""The keywords of a caption: exact spans, concreteness, and a role each, as in ARO.

NOUN, PROPN and ADJ are keywords in the paper (by a secondary summary). Relation words, that is prepositions,
words such as "left" where they tell a place, and verbs, are our choice, since the paper balances over
attribute, object and relation; so are the rules that give a role.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from slipform_core.records import Keyword

from .lexicon import BEFORE_PLACES, DETERMINERS, PHRASES
from .norms import Norms
from .pipeline import Word, load_pipeline, word_of

PHRASE_STARTS = frozenset(phrase[0] for phrase in PHRASES)
PHRASE_LENGTHS = sorted({len(phrase) for phrase in PHRASES}, reverse=True)


def extract_keywords(caption: str, norms: Norms | None = None) -> list[Keyword]:
    """The keywords of one caption in their order, by Brysbaert's norms unless others are given.

    As `extract_keywords_batch`, which is much faster for many captions.
    """
    return extract_keywords_batch([caption], norms or Norms.load("brysbaert"))[0]


def extract_keywords_batch(captions: Sequence[str], norms: Norms) -> list[list[Keyword]]:
    """The keywords of each caption: `caption[start:end] == text`, spans apart and in order.

    A bigram of content words that is an entry of the norms wins over its words, a relation of several words
    ("next to", our choice) likewise; concreteness is that of the surface form, else of the lemma, else None.
    Raises MissingModel when the spaCy model is not installed.
    """
    pipeline = load_pipeline()
    distinct = list(dict.fromkeys(captions))
    read = zip(distinct, pipeline.read(distinct), strict=True)
    found = {caption: _keywords(caption, words, starts, norms) for caption, (words, starts) in read}
    return [list(found[caption]) for caption in captions]


def keywords_of(doc: Any, norms: Norms) -> list[Keyword]:
    """The keywords of a spaCy Doc that has tags, parts of speech and lemmas, by any English pipeline."""
    read = [(word, token.idx) for token in doc if (word := word_of(token)) is not None]
    return _keywords(doc.text, [word for word, _ in read], [start for _, start in read], norms)


def uncovered(keywords: Iterable[Keyword]) -> Counter[str]:
    """How often each word that the norms lack occurs, in lower case."""
    return Counter(keyword.text.lower() for keyword in keywords if keyword.concreteness is None)


def _keywords(caption: str, words: list[Word], starts: list[int], norms: Norms) -> list[Keyword]:
    keywords = []
    index = 0
    while index < len(words):
        word = words[index]
        start = starts[index]
        if word.lower in PHRASE_STARTS and (phrase := _phrase(words, index)):
            index += len(phrase)
            lemma = PHRASES[phrase]
            end = starts[index - 1] + len(phrase[-1])
            c = norms.first(" ".join(phrase), lemma)
            keywords.append(Keyword(caption[start:end], lemma, "ADP", start, end, c, "relation"))
        elif (c := _bigram(caption, words, starts, index, norms)) is not None:
            head = words[index + 1]
            end = starts[index + 1] + len(head.text)
            lemma, role = f"{word.lemma} {head.lemma}", _role_of_bigram(word, head)
            index += 2
            keywords.append(Keyword(caption[start:end], lemma, head.pos, start, end, c, role))
        else:
            role = _role(words, index)
            index += 1
            if role is not None:
                c = norms.first(word.text, word.lemma)
                end = start + len(word.text)
                keywords.append(Keyword(word.text, word.lemma, word.pos, start, end, c, role))
    return keywords


def _phrase(words: list[Word], index: int) -> tuple[str, ...] | None:
    for length in PHRASE_LENGTHS:
        phrase = tuple(word.lower for word in words[index : index + length])
        if phrase in PHRASES:
            return phrase
    return None


def _bigram(caption: str, words: list[Word], starts: list[int], index: int, norms: Norms) -> float | None:
    """The concreteness of the bigram that starts at `index`; None where the norms have none."""
    if index + 1 == len(words):
        return None
    first, second = words[index], words[index + 1]
    if not (first.content and second.content):
        return None
    if not caption[starts[index] + len(first.text) : starts[index + 1]].isspace():
        return None
    # The lemma of one word may be wrong out of the bigram: "living rooms" has the lemmas "live", "room".
    return norms.first(
        f"{first.lower} {second.lower}", f"{first.lower} {second.lemma}", f"{first.lemma} {second.lemma}"
    )


def _role(words: list[Word], index: int) -> str | None:
    word = words[index]
    if word.context == "place":
        return _role_of_place(words, index)
    if word.context == "modifier":
        return _role_of_modifier(words, index)
    return word.role


def _role_of_bigram(first: Word, head: Word) -> str:
    """An object unless the head is an adjective or both are verbs: a "bear" tagged VERB is a teddy bear."""
    if head.pos == "VERB":
        return "relation" if first.pos == "VERB" else "object"
    return "attribute" if head.role == "attribute" else "object"


def _role_of_place(words: list[Word], index: int) -> str | None:
    """A relation before "of" or after "on the"; elsewhere what the tag says; left and right tell a place."""
    word = words[index]
    if index + 1 < len(words) and words[index + 1].lower == "of":
        return "relation"
    before = index - 1
    if before >= 0 and words[before].lower in DETERMINERS:
        before -= 1
    if before >= 0 and words[before].lower in BEFORE_PLACES:
        return "relation"
    return "relation" if word.role and word.lower in ("left", "right") else word.role


def _role_of_modifier(words: list[Word], index: int) -> str:
    """An attribute before a noun, coordinated with an attribute, or in a predicate; elsewhere an object."""
    after = words[index + 1 : index + 3]
    if after and _role(words, index + 1) in ("object", "attribute"):
        return "attribute"
    if len(after) == 2 and after[0].lower == "and" and after[1].role == "attribute":
        return "attribute"
    if index > 1 and words[index - 1].lower == "and" and words[index - 2].role == "attribute":
        return "attribute"
    before = words[index - 1].lower if index else ""
    return "attribute" if words[index].pos == "ADJ" and before not in DETERMINERS else "object"
