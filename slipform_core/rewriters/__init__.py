"""Rewriters: from a caption and the keyword to change, a caption that is no longer true."""

from collections.abc import Callable

from .protocol import Rewriter, record_rng
from .swap import SwapWords
from .world import GrammarRewriter, SwapRewriter

REWRITERS: dict[str, Callable[..., Rewriter]] = {"grammar": GrammarRewriter, "swap": SwapRewriter}

__all__ = ["REWRITERS", "GrammarRewriter", "Rewriter", "SwapRewriter", "SwapWords", "record_rng"]
