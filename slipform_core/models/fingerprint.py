"""What decides a model's features, as a few digits."""

import hashlib

import torch
from torch import Tensor, nn

from slipform_core.models.clip import Clip

PROBE = ("A photo of a cat.", "ein Hund, 2 × 3")  # texts whose tokens tell tokenizers apart


def fingerprint(clip: Clip) -> str:
    """Sixteen hex digits of what decides features: weights, architecture, precision, pixels, tokens."""
    digest = hashlib.sha256(f"{clip.model}|{clip.transform}|{clip.buckets}".encode())
    tokens = clip.tokenize(PROBE)
    digest.update(repr(tokens.tolist() if isinstance(tokens, Tensor) else tokens).encode())
    for name, module in clip.model.named_modules():
        digest.update(f"{name}|{_settings(module)}".encode())
    # Not the state alone, which lacks masks and the like.
    for name, weights in (*clip.model.named_parameters(), *clip.model.named_buffers()):
        digest.update(f"{name}|{weights.dtype}|{tuple(weights.shape)}".encode())
        digest.update(weights.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
    return digest.hexdigest()[:16]


def _settings(module: nn.Module) -> list[tuple[str, object]]:
    """What a module was made with and its weights do not say, such as its number of heads."""
    plain = (bool, int, float, str, tuple, list, type(None))
    found = {name: value for name, value in vars(module).items() if isinstance(value, plain)}
    return sorted(
        (name, tuple(value) if isinstance(value, list) else value)
        for name, value in found.items()
        if name != "training" and name[0] != "_"
    )
