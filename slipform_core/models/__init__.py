"""Two-tower models behind one small face: `Clip(model, preprocess, tokenize)`, and the registry `MODELS`."""

from slipform_core.models.checkpoints import check_checkpoint, open_checkpoint
from slipform_core.models.clip import Clip
from slipform_core.models.fingerprint import fingerprint
from slipform_core.models.open_clip import from_open_clip, save_open_clip
from slipform_core.models.registry import MODELS
from slipform_core.models.tokenizer import WordTokenizer
from slipform_core.models.weights import activation, load_weights, save_weights

__all__ = [
    "MODELS",
    "Clip",
    "WordTokenizer",
    "activation",
    "check_checkpoint",
    "fingerprint",
    "from_open_clip",
    "load_weights",
    "open_checkpoint",
    "save_open_clip",
    "save_weights",
]
