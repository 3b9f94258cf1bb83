"""Which words are of one kind, and which of those may name the same thing: read from `kinds.yml`."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any, NamedTuple

import yaml

# The parts of a caption that words may stand in for each other in, by the role of a keyword.
NOUNS, ATTRIBUTES, VERBS, RELATIONS = "nouns", "attributes", "verbs", "relations"


class Kind(NamedTuple):
    """A line of words: its name, and the coarse class that it belongs to."""

    name: str
    coarse: str


class Kinds:
    """The lines of one part: words with their kinds, and what may name the same thing.

    A word may have several kinds. general: which words a word covers, with what names the same thing.
    """

    def __init__(self, lines: Mapping[str, Mapping[str, str]], general: Mapping[str, str]):
        self.kinds: dict[str, list[Kind]] = {}
        self._members: dict[Kind, list[str]] = {}
        self._same: dict[str, set[str]] = {}
        self._alike: dict[str, set[str]] = {}
        for coarse, rows in lines.items():
            for name, line in rows.items():
                self._add(Kind(name, coarse), line)
        for word, covered in general.items():
            for one, other in product(self.same(word), covered.split()):
                for member in self.same(other):
                    self._alike.setdefault(one, set()).add(member)
                    self._alike.setdefault(member, set()).add(one)
        self.general = frozenset().union(*map(self.same, general))

    def _add(self, kind: Kind, line: str) -> None:
        sets = [[word.replace("_", " ") for word in group.split("/")] for group in line.split()]
        self._members[kind] = [word for group in sets for word in group]
        for group in sets:
            for word in group:
                self._same.setdefault(word, {word}).update(group)
        for word in self._members[kind]:
            self.kinds.setdefault(word, []).append(kind)

    @property
    def words(self) -> list[str]:
        return list(self.kinds)

    def same(self, word: str) -> set[str]:
        """The words that name the same thing, itself among them."""
        return self._same.get(word, {word})

    def alike(self, word: str) -> set[str]:
        """The words that may name the same thing: the same, and what covers it or is covered by it."""
        return self.same(word) | self._alike.get(word, set())

    def others(self, word: str, kinds: list[Kind] | None = None) -> list[str]:
        """The words that may stand in for a word: of its kinds, or of the kinds given, and not alike."""
        found = (member for kind in kinds or self.kinds.get(word, ()) for member in self._members[kind])
        alike = self.alike(word)
        return [other for other in dict.fromkeys(found) if other not in alike]


@cache
def load() -> dict[str, Kinds]:
    """The kinds of nouns, attributes and verbs, which have no coarse classes."""
    tree = _tree()
    return {
        NOUNS: Kinds(tree[NOUNS], tree["general"]),
        ATTRIBUTES: Kinds(tree[ATTRIBUTES], {}),
        VERBS: Kinds({VERBS: tree[VERBS]}, {}),
    }


@cache
def relations() -> dict[str, list[str]]:
    """What each relation may be exchanged for."""
    return {
        word: [other.replace("_", " ") for other in re.split("[ /]", line)]
        for word, line in _tree()[RELATIONS].items()
    }


@cache
def plurals() -> frozenset[str]:
    """Words that have no singular."""
    return frozenset(_tree()["plurals"].split())


@cache
def vague() -> frozenset[str]:
    """Words that are too general to be false of a picture."""
    return frozenset(_tree()["vague"].split())


@cache
def _tree() -> dict[str, Any]:
    # Not every YAML reader takes "on" and "off" for words.
    return yaml.load((files(__package__) / "kinds.yml").read_text(), yaml.BaseLoader)
