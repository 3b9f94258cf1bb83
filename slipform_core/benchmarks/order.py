"""ARO's order: a caption of COCO or Flickr30k against four shuffles of its words."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from slipform_core.benchmarks.collect import Collector
from slipform_core.benchmarks.items import Benchmark, Photo
from slipform_core.benchmarks.retrieval import PUBLISHED, karpathy_test
from slipform_core.concreteness import load_pipeline
from slipform_core.records import Caption
from slipform_core.rewriters import record_rng

NOUNS = ("NN", "NNS", "NNP", "NNPS")
ADJECTIVES = ("JJ", "JJR", "JJS")
REMOVED = re.compile(r'[.!"()*#:;~]')
LONGEST = 30  # words
TRIES = 10
NO_ORDER = "no other order of its words"
PROTOCOL = (
    "ARO's order (arXiv 2210.01936) on Karpathy's test split: right iff the picture's cosine with the "
    "caption is strictly greater than with each of four shuffles: of nouns and of adjectives, of all other "
    "words, within trigrams, of trigrams. All five texts are of spaCy's words, so that they differ in order "
    f"alone, in lower case, without {REMOVED.pattern[1:-1]}, {LONGEST} words at most; the authors do not cut "
    "the caption into words, and two of its shuffles by NLTK, so that the cutting tells them. Each caption "
    "has a random generator of its own. A shuffle that equals the caption asks nothing, another stands in "
    "for it: the authors keep it, and their argmax credits the tie"
)


def coco_order(data: Path, *, partial: bool = False) -> Benchmark:
    """One subset, "all": the 25,010 captions of the 5,000 test pictures."""
    return _read("coco", data, partial)


def flickr30k_order(data: Path, *, partial: bool = False) -> Benchmark:
    """One subset, "all": the 5,000 captions of the 1,000 test pictures."""
    return _read("flickr30k", data, partial)


def _read(name: str, data: Path, partial: bool) -> Benchmark:
    collect, rows = Collector(f"{name}_order"), list(karpathy_test(data, name))
    for row, tagged in zip(rows, load_pipeline().tags([row.text for row in rows]), strict=True):
        texts = ordered(tagged, record_rng(Caption(row.name, row.path, row.text), seed=0))
        if row.text.strip() and not texts:
            collect.left_out[NO_ORDER] += 1
        else:
            collect.add("all", [Photo(row.place)], texts or [row.text], rule="choice")
    return collect.benchmark(protocol=PROTOCOL, partial=partial, published={"all": PUBLISHED[name][1]})


def ordered(tagged: Sequence[tuple[str, str]], rng: np.random.Generator) -> list[str]:
    """A caption of words and Penn tags, and its four shuffles; nothing where none of them is another text."""
    own = prepared(word for word, _ in tagged)
    for _ in range(TRIES):
        shuffles = [prepared(words) for words in _shuffles(tagged, rng)]
        others = [text for text in shuffles if text != own]
        if others:
            return [own, *(text if text != own else others[0] for text in shuffles)]
    return []


def prepared(words: Iterable[str]) -> str:
    """A text as ARO's `pre_caption` makes it."""
    return " ".join(REMOVED.sub(" ", " ".join(words).lower()).split()[:LONGEST])


def _shuffles(tagged: Sequence[tuple[str, str]], rng: np.random.Generator) -> Iterator[list[str]]:
    words = [word for word, _ in tagged]
    nouns, adjectives = (
        [n for n, (_, tag) in enumerate(tagged) if tag in kind] for kind in (NOUNS, ADJECTIVES)
    )
    others = [n for n, (_, tag) in enumerate(tagged) if tag not in NOUNS + ADJECTIVES]
    yield _exchanged(_exchanged(words, nouns, rng), adjectives, rng)
    yield _exchanged(words, others, rng)
    trigrams = [words[start : start + 3] for start in range(0, len(words), 3)]
    yield [trigram[n] for trigram in trigrams for n in rng.permutation(len(trigram))]
    yield [word for n in rng.permutation(len(trigrams)) for word in trigrams[n]]


def _exchanged(words: Sequence[str], places: Sequence[int], rng: np.random.Generator) -> list[str]:
    """The words with those at some places in any order."""
    moved = dict(zip(places, rng.permutation(places).tolist(), strict=True))
    return [words[moved.get(n, n)] for n in range(len(words))]
