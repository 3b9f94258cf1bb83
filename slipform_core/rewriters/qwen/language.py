"""Whether a new word of a caption is of the caption's language, as far as can be known."""

import gzip
import re
import unicodedata
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from slipform_core.concreteness import Norms

PART = 3  # letters of the shortest part of a compound such as "skatepark"; our choice
MERGES, END = 49_152 - 256 - 2, "</w>"  # of CLIP's file of byte pairs, what its tokenizer reads


def another_language(word: str, caption: str) -> bool:
    """Whether a word is in another script than the caption's letters, or Latin and no English word.

    A caption without letters counts as Latin.
    """
    scripts = _scripts(word)
    return not scripts <= (_scripts(caption) or {"LATIN"}) or ("LATIN" in scripts and not is_english(word))


@cache
def is_english(word: str) -> bool:
    """Whether a word is English as far as we know; our choice.

    It is where Brysbaert's norms cover it, its lemma, its parts ("t-shirt"), or two words that it is made of
    ("skatepark"), or where it is one of CLIP's tokens: the norms lack "selfie", "corgi" and "colour". So some
    short foreign words pass, such as "casa", rather than that words of today are refused.
    """
    parts = [part for part in re.split(r"[-'\d_]+", word.lower().removesuffix("'s")) if part]
    known = all(len(part) == 1 or _covered(part) or _compound(part) for part in parts)
    return known or word.lower() in _clip_words()


def _covered(word: str) -> bool:
    return Norms.load("brysbaert").lookup(word) is not None


def _compound(word: str) -> bool:
    cuts = range(PART, len(word) - PART + 1)
    return any(_covered(word[:cut]) and _covered(word[cut:]) for cut in cuts)


def _scripts(text: str) -> set[str]:
    """The first words of the Unicode names of its letters, such as LATIN, CYRILLIC or CJK."""
    return {unicodedata.name(char, "NONE").partition(" ")[0] for char in text if char.isalpha()}


@cache
def _clip_words() -> frozenset[str]:
    """The words that are one token of CLIP's."""
    # The package's own code takes seconds to import; its folder is enough.
    [folder] = find_spec("open_clip").submodule_search_locations
    text = gzip.decompress((Path(folder) / "bpe_simple_vocab_16e6.txt.gz").read_bytes()).decode()
    merges = text.splitlines()[1 : 1 + MERGES]
    return frozenset(pair.replace(" ", "").removesuffix(END) for pair in merges if pair.endswith(END))
