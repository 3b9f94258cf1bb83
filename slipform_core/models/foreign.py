"""Weights in files of any training: whether they fit a model, and loading them."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from slipform_core.models.weights import check_stated_activation

OTHERS = (".npz", ".npy")  # big_vision's, which open_clip turns into its own
ALONE = "save its weights alone, torch.save({'state_dict': model.state_dict()}, ...)"


def check_fit(model: nn.Module, path: Path) -> dict[str, tuple[int, ...]]:
    """The `shapes` of a file; ValueError where its activation or its number of positions is another.

    open_clip would resize these, and the model would be another one than was trained.
    """
    check_stated_activation(model, path)
    theirs = shapes(path)
    mine = _positions({name: tuple(weights.shape) for name, weights in model.state_dict().items()})
    for name, shape in _positions(theirs).items():
        if mine.get(name, shape) != shape:
            raise ValueError(f"{path} does not fit: {name} is {shape} there, {mine[name]} in the model")
    return theirs


def load(model: nn.Module, path: Path, *, bias: bool = True) -> None:
    """Load a file's weights into a model, all of them; ValueError says what does not fit.

    bias: whether the bias of the logits, which a loss such as SigLIP's trains and which changes no ranking,
    may be left out where the model has none. On the device "meta" nothing is loaded, but what does not fit is
    found.
    """
    import open_clip

    unwanted = "logit_bias" in check_fit(model, path) and model.logit_bias is None
    if unwanted and not bias:
        raise ValueError(
            f"{path} does not fit: it has a logit_bias, and the configuration no init_logit_bias"
        )
    if unwanted:
        model.logit_bias = nn.Parameter(torch.zeros((), device=model.logit_scale.device))
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "for .*: copying from a non-meta parameter")
            open_clip.load_checkpoint(model, str(path), weights_only=True)
    except Exception as error:  # a file that is no checkpoint makes torch raise what it likes
        raise ValueError(f"{path} does not fit: {_said(error)}") from None
    if unwanted:
        del model.logit_bias
        model.logit_bias = None  # as open_clip has it, no parameter


def shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """The shape of each weight in a file, as far as that can be told without reading them."""
    if path.suffix in OTHERS:
        return {}
    if path.suffix == ".safetensors":
        from safetensors import safe_open

        with safe_open(path, "pt") as file:
            return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    try:
        tree = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except Exception:  # as above; an old format, which cannot be mapped, or no checkpoint
        try:
            tree = torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:
            raise ValueError(f"{path} does not fit: {_said(error)}") from None
    weights: Any = tree.get("state_dict", tree) if isinstance(tree, Mapping) else {}
    named = weights if isinstance(weights, Mapping) else {}
    found = {
        name.removeprefix("module."): tuple(of.shape) for name, of in named.items() if hasattr(of, "shape")
    }
    if not found:
        raise ValueError(f"{path} does not fit: there are no weights in it")
    return found


def _positions(found: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    names = [name for name in found if name.endswith("positional_embedding")]
    return {name.removeprefix("text."): found[name] for name in names}


def _said(error: Exception) -> str:
    if type(error).__name__ == "UnpicklingError":
        return f"it is damaged, or holds more than weights, which is not read: {ALONE}"
    if isinstance(error, EOFError):
        return "it is empty, or ends too early"
    return " ".join(f"{type(error).__name__}: {error}".split())[:400]
