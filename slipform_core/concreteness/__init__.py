"""Words: how concrete they are, where a caption has them, and which of them ConcretePlant changes."""

from .choice import CHOICES, MIDPOINT, choose_swap, choose_target
from .keywords import extract_keywords, extract_keywords_batch, keywords_of, uncovered
from .norms import NORMS, Norms, NormsError
from .pipeline import MissingModel, load_pipeline

__all__ = [
    "CHOICES",
    "MIDPOINT",
    "NORMS",
    "MissingModel",
    "Norms",
    "NormsError",
    "choose_swap",
    "choose_target",
    "extract_keywords",
    "extract_keywords_batch",
    "keywords_of",
    "load_pipeline",
    "uncovered",
]
