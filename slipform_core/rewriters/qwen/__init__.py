"""Rewrites captions by Qwen3, or any other chat model, and checks what it wrote."""

from .engines import Engine, Settings
from .rewriter import QwenRewriter

__all__ = ["Engine", "QwenRewriter", "Settings"]
