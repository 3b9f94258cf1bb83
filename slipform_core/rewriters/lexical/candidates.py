"""The words that may replace a keyword: of its kind, in its form, and in no caption of the picture."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

from slipform_core.records import Caption, Keyword
from slipform_core.rewriters.lexical.forms import BASE, SINGULAR, form_of, part_of, singular
from slipform_core.rewriters.lexical.kinds import ATTRIBUTES, NOUNS, RELATIONS, VERBS, load, relations
from slipform_core.rewriters.lexical.lexicon import END, START, Lexicon, before, words_of
from slipform_core.rewriters.lexical.neighbours import Neighbours
from slipform_core.sentences import SentenceEncoder

# Our choices, made on Flickr30k's captions.
BAND = (0.2, 0.85)  # cosine of the old and the new word: unlike below, nearly the same above
FIT = 0.0  # log odds of the word between its neighbours: they have to speak for it
ALONE = frozenset(["left", "right", "top", "bottom", "front", "back", "up", "down"])
OF_THINGS = frozenset(["under", "beneath", "over", "above", "on top of"])  # nobody is under a beach
ON_BODIES = frozenset(["person", "hair", "body", "worn", "top", "bottom", "hat", "shoe", "weather", "sport"])
SPOKEN_ON = frozenset(["phone", "cellphone", "cell phone", "telephone", "radio", "television", "tv"])
MENTIONS = 64  # pictures whose words are kept: captions of a picture stand together


class Candidate(NamedTuple):
    """A word that may replace a keyword, as it is written there, and the log of how likely it stands so."""

    text: str
    score: float


class Place(NamedTuple):
    """Where a keyword stands: the words on either side, and what the captions of the picture say."""

    left: Sequence[str]
    right: Sequence[str]
    said: "Said"


class Said(NamedTuple):
    """What the captions of a picture say: lemmas, pairs of words, and each word with the noun it leads to."""

    lemmas: frozenset[str]
    relations: frozenset[tuple[str, str]]


class Candidates:
    """Finds the candidates of keywords by a lexicon, the kinds of words and a sentence encoder.

    of_picture: all captions of a picture by its id, so that no word is taken that one of them says.
    """

    def __init__(
        self, lexicon: Lexicon, encoder: SentenceEncoder, of_picture: Callable[[str], Sequence[str]]
    ):
        self.lexicon = lexicon
        self.version = f"{lexicon.version}-{encoder.version}"
        self._of_picture, self._encoder = of_picture, encoder
        self._said = lru_cache(maxsize=MENTIONS)(self._read)
        self._meant = cache(self._all_meant)

    @cached_property
    def _parts(self) -> dict[str, Neighbours]:
        # An unlisted noun has a kind by its neighbours; what other words mean depends on what they go with.
        parts = {part: Neighbours(kinds, self._encoder, part == NOUNS) for part, kinds in load().items()}
        parts[NOUNS].learn(self.lexicon.nouns)
        return parts

    def find(self, caption: Caption, keyword: Keyword) -> list[Candidate]:
        """The candidates, the likeliest first."""
        text = caption.text
        if "-" in (text[keyword.start - 1 : keyword.start], text[keyword.end : keyword.end + 1]):
            return []  # a part of a word
        left = [START, *words_of(text[: keyword.start])]
        right = [*words_of(text[keyword.end :]), END]
        place = Place(left, right, self._said(caption.image_id))
        part = part_of(keyword)
        if part == RELATIONS:
            words = self._relations(keyword, place)
        else:
            form = form_of(keyword, part, before(text, keyword))
            words = self._words(part, keyword.lemma.lower(), form, place)
        fits = ((word, self.lexicon.fit(word, left, right)) for word in words)
        # By Bayes' rule, the neighbours taken to say what they say independently of each other.
        found = [Candidate(word, fit + self.lexicon.commonness(word)) for word, fit in fits if fit >= FIT]
        return sorted(found, key=lambda candidate: (-candidate.score, candidate.text))

    def _words(self, part: str, lemma: str, form: str, place: Place) -> Iterator[str]:
        if part == NOUNS and lemma in self._parts[ATTRIBUTES].kinds.kinds:
            part, form = ATTRIBUTES, BASE
        neighbours = self._parts[part]
        others = neighbours.kinds.others(lemma, neighbours.kinds_of(lemma))
        if not others:
            return
        for other, cosine in zip(others, neighbours.alike(lemma, others), strict=True):
            if other in neighbours.kinds.general or not BAND[0] <= cosine <= BAND[1]:
                continue
            surface = self.lexicon.surface(part, other, form)
            said = place.said.lemmas & self._meant(part, other)
            if surface and not said and self._stands(part, surface, form, place):
                yield surface

    def _relations(self, keyword: Keyword, place: Place) -> Iterator[str]:
        word = keyword.text.lower()
        thing = self._thing(place.right)
        if word not in ALONE and not self._can_be_beside(thing):
            return
        others = relations().get(word, ())
        if self._is_place(thing):
            others = [other for other in others if other not in OF_THINGS]
        for other in others:
            if (other.rpartition(" ")[2], thing) not in place.said.relations:
                yield other

    def _all_meant(self, part: str, word: str) -> frozenset[str]:
        """The words that may mean a word: itself, what names the same thing, what stands for it elsewhere."""
        kinds = self._parts[part].kinds
        return frozenset(kinds.alike(word).union(*map(self.lexicon.substitutes, kinds.same(word))))

    def _stands(self, part: str, surface: str, form: str, place: Place) -> bool:
        """Whether captions have a word so: a verb before what follows it, a noun beside a noun or bare."""
        before, after = place.left[-1], place.right[0]
        first, last = surface.split()[0], surface.split()[-1]
        if part == VERBS:
            return self.lexicon.follows(last, after)
        if part == ATTRIBUTES:
            return True
        if self._is(NOUNS, after) and not self.lexicon.follows(last, after):
            return False
        bare = before in ("a", START) or before in relations() or self._is(VERBS, before)
        beside = self._is(NOUNS, before) or (form == SINGULAR and bare)
        return not beside or self.lexicon.follows(before, first)

    def _is(self, part: str, word: str) -> bool:
        return self._lemma(word) in self._parts[part].kinds.kinds

    def _lemma(self, word: str) -> str:
        """The lemma of a word as the lexicon has it, or of a plural that it lacks the listed singular."""
        lemma, nouns = self.lexicon.lemma(word), self._parts[NOUNS].kinds.kinds
        if lemma != word or word in nouns or not word.endswith(("s", "n")):
            return lemma
        return one if (one := singular(word)) in nouns else word

    def _thing(self, right: Sequence[str]) -> str:
        """The noun that a relation leads to: the next word that is listed as one."""
        nouns = self._parts[NOUNS].kinds.kinds
        lemmas = (self._lemma(word) for word in right[:4])
        return next((lemma for lemma in lemmas if lemma in nouns), "")

    def _is_place(self, thing: str) -> bool:
        kinds = self._parts[NOUNS].kinds.kinds.get(thing, ())
        return bool(kinds) and all(kind.coarse == "place" for kind in kinds)

    def _can_be_beside(self, thing: str) -> bool:
        """Whether things can be on, under or beside a thing: not "in a shirt", "on the phone", "at night"."""
        kinds = self._parts[NOUNS].kinds.kinds.get(thing, ())
        return thing not in SPOKEN_ON and any(kind.name not in ON_BODIES for kind in kinds)

    def _read(self, image_id: str) -> Said:
        lemmas, led = set(), set()
        for text in self._of_picture(image_id):
            words = words_of(text)
            lemmas.update(map(self._lemma, words))
            lemmas.update(map(" ".join, zip(words, words[1:], strict=False)))
            led.update((word, self._thing(words[place + 1 :])) for place, word in enumerate(words))
        return Said(frozenset(lemmas), frozenset(led))
