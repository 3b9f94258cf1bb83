"""What a source's own captions say about words: their forms, their neighbours, what stands for what."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import combinations, groupby
from math import log

from more_itertools import chunked

from slipform_core import progress
from slipform_core.changes import words
from slipform_core.concreteness import Norms, extract_keywords_batch
from slipform_core.records import Caption, Keyword
from slipform_core.rewriters.lexical.forms import form_of, inflected, part_of
from slipform_core.rewriters.lexical.kinds import NOUNS

CAPTIONS = 50_000  # that are read; more say little more, and are as many words in memory
# Words that name the same thing, our choice on Flickr30k: in at least this share of the rarer one's pictures
# the other stands for it, not less often than chance would have both there, and in so many pictures.
SUBSTITUTES, EVIDENCE = 0.15, 5
PART = 1000  # captions whose words are read together
PRIOR = 0.5  # pairs seen and expected of any two words before any is counted
START, END = "<s>", "</s>"


def words_of(text: str) -> list[str]:
    """The words of a caption in lower case, "an" as "a"."""
    return ["a" if word == "an" else word for word in words(text)]


class Counts:
    """What was counted: words, pairs of them, forms of lemmas, and lemmas by picture."""

    def __init__(self) -> None:
        self.words: Counter[str] = Counter()
        self.pairs: Counter[tuple[int, str, str]] = Counter()
        self.surfaces: dict[tuple[str, str, str], Counter[str]] = {}
        self.lemmas: dict[str, str] = {}
        self.of_picture: Counter[str] = Counter()
        self.instead: Counter[tuple[str, str]] = Counter()
        self.pictures = 0

    def read(self, captions: Sequence[Caption], keywords: Sequence[Sequence[Keyword]]) -> None:
        """Count captions, those of a picture together, and their keywords."""
        rows = zip(captions, keywords, strict=True)
        for _, group in groupby(rows, key=lambda row: row[0].image_id):
            of_picture = list(group)
            for caption, found in of_picture:
                self._read_caption(caption.text, found)
            self._read_picture([{one.lemma.lower() for one in found} for _, found in of_picture])

    def _read_caption(self, text: str, keywords: Sequence[Keyword]) -> None:
        words = [START, *words_of(text), END]
        self.words.update(words)
        for distance in (1, 2):
            self.pairs.update((distance, *pair) for pair in zip(words, words[distance:], strict=False))
        for keyword in keywords:
            part = part_of(keyword)
            surface, lemma = keyword.text.lower(), keyword.lemma.lower()
            form = form_of(keyword, part, before(text, keyword))
            self.surfaces.setdefault((part, lemma, form), Counter())[surface] += 1
            self.lemmas[surface] = lemma

    def _read_picture(self, captions: Sequence[set[str]]) -> None:
        lemmas = sorted(set().union(*captions))
        self.of_picture.update(lemmas)
        self.pictures += 1
        if len(captions) < 2:
            return
        together = {pair for caption in captions for pair in combinations(sorted(caption), 2)}
        self.instead.update(pair for pair in combinations(lemmas, 2) if pair not in together)

    def stand_for_each_other(self, pair: tuple[str, str]) -> bool:
        """Whether two lemmas, sorted, name the same thing in different captions of a picture."""
        count = self.instead[pair]
        rarer, commoner = sorted(self.of_picture[word] for word in pair)
        by_chance = rarer * commoner / self.pictures
        return count >= EVIDENCE and count >= SUBSTITUTES * rarer and count >= by_chance


class Lexicon:
    """Counts of at most 50,000 captions, whole pictures drawn by a hash of their names.

    captions: gives them, those of a picture together; they are counted when they are first asked about.
    `fit` says how well a word stands between others, `substitutes` which words name the same thing in other
    captions of a picture, `surface` how a word is written in a form.
    """

    def __init__(self, captions: Callable[[], Iterable[Caption]], total: int, norms: Norms):
        self._sample = partial(_sample, captions, total)
        self._expected, self._norms = min(total, CAPTIONS), norms
        digest = hashlib.sha256()
        for caption in self._sample():
            digest.update(repr((caption.image_id, caption.text)).encode())
        self.version = digest.hexdigest()[:8]

    @cached_property
    def _counts(self) -> Counts:
        counts = Counts()
        with progress.bar(desc="lexicon", unit="caption", total=self._expected) as bar:
            for part in chunked(self._sample(), PART):
                counts.read(part, extract_keywords_batch([caption.text for caption in part], self._norms))
                bar.update(len(part))
        return counts

    @cached_property
    def _total(self) -> int:
        return sum(self._counts.words.values())

    @cached_property
    def _substitutes(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for pair in filter(self._counts.stand_for_each_other, self._counts.instead):
            for one, other in (pair, pair[::-1]):
                found.setdefault(one, set()).add(other)
        return found

    @property
    def nouns(self) -> set[str]:
        """The lemmas of all nouns that were keywords."""
        return {lemma for part, lemma, _ in self._counts.surfaces if part == NOUNS}

    def lemma(self, word: str) -> str:
        """The lemma of a word as the captions have it; one that was no keyword is its own."""
        return self._counts.lemmas.get(word, word)

    def surface(self, part: str, lemma: str, form: str) -> str | None:
        """How a word is written in a form: as captions most often have it, else by rule."""
        seen = self._counts.surfaces.get((part, lemma, form))
        return max(seen, key=lambda text: (seen[text], text)) if seen else inflected(lemma, form)

    def substitutes(self, word: str) -> set[str]:
        """The words that often stand for a word in another caption of a picture, and never with it in one."""
        return self._substitutes.get(word, set())

    def fit(self, word: str, left: Sequence[str], right: Sequence[str]) -> float:
        """The log odds that a word stands here rather than anywhere: of the two words on either side.

        Phrases meet the left with their first word and the right with their last.
        """
        first, *_, last = [*word.split(), word.split()[-1]]
        beside = [(distance, other, first) for distance, other in enumerate(reversed(left[-2:]), 1)]
        beside += [(distance, last, other) for distance, other in enumerate(right[:2], 1)]
        return sum(self._association(*pair) for pair in beside)

    def _association(self, distance: int, one: str, other: str) -> float:
        expected = self._counts.words[one] * self._counts.words[other] / self._total
        # Added to both counts, so that words of which little is known are neither good nor bad.
        return log((self._counts.pairs[distance, one, other] + PRIOR) / (expected + PRIOR))

    def follows(self, one: str, other: str) -> bool:
        """Whether a caption has the second word right after the first."""
        return self._counts.pairs[1, one, other] > 0

    def commonness(self, word: str) -> float:
        """The log of how often a word occurs; of a phrase its rarest word."""
        return log(min(self._counts.words[part] for part in word.split()) + 1)


def before(text: str, keyword: Keyword) -> str:
    """The word before a keyword, in lower case."""
    words = words_of(text[: keyword.start])
    return words[-1] if words else START


def _sample(captions: Callable[[], Iterable[Caption]], total: int) -> Iterator[Caption]:
    """The captions of pictures whose names hash into a share of all that leaves `CAPTIONS` of them."""
    for image_id, group in groupby(captions(), key=lambda caption: caption.image_id):
        if total <= CAPTIONS or _position(image_id) < CAPTIONS / total:
            yield from group


def _position(name: str) -> float:
    return int.from_bytes(hashlib.sha256(name.encode(errors="replace")).digest()[:8], "big") / 2**64
