"""Edits photographs by SDXL-Turbo, from the picture and the negative caption."""

from .editor import SdxlTurboEditor

__all__ = ["SdxlTurboEditor"]
