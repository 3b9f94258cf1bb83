"""Rewriting without a language model: by lists of words, a sentence encoder and the source's captions."""

from .candidates import Candidates
from .fluency import Fluency
from .lexicon import Lexicon
from .rewriter import LexicalRewriter

__all__ = ["Candidates", "Fluency", "LexicalRewriter", "Lexicon"]
