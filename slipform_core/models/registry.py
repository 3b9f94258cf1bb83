"""Models by name; an experiment trains the tiny one."""

from collections.abc import Callable

from slipform_core.models.clip import Clip
from slipform_core.models.open_clip import from_open_clip
from slipform_core.models.tiny import slipform_tiny

MODELS: dict[str, Callable[..., Clip]] = {"slipform-tiny": slipform_tiny, "open_clip": from_open_clip}
