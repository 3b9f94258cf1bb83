"""Editors: from a picture and the rewritten caption, a picture that fits it."""

from collections.abc import Callable

from .protocol import Edit, Editor
from .world import RenderEditor

EDITORS: dict[str, Callable[..., Editor]] = {"render": RenderEditor}

__all__ = ["EDITORS", "Edit", "Editor", "RenderEditor"]
