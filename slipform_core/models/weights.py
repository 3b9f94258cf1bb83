"""Weights on disk: safetensors, with what the weights alone do not say."""

from pathlib import Path

from torch import nn

from slipform_core.files import whole


def activation(model: nn.Module) -> str:
    """QuickGELU, as in OpenAI's weights, or GELU: the same weights mean another model under the other."""
    return "QuickGELU" if any(type(module).__name__ == "QuickGELU" for module in model.modules()) else "GELU"


def stated_activation(path: Path) -> str | None:
    """The activation that a file of ours states; None of another."""
    from safetensors import SafetensorError, safe_open

    if path.suffix != ".safetensors":
        return None
    try:
        with safe_open(path, "pt") as file:
            return (file.metadata() or {}).get("activation")
    except SafetensorError as error:
        raise ValueError(f"{path} is no whole safetensors file: {error}") from None


def check_stated_activation(model: nn.Module, path: Path) -> None:
    """Raise ValueError where a file of ours states another activation than the model has."""
    made = stated_activation(path)
    if made and made != activation(model):
        raise ValueError(f"{path} was trained with {made}, and the model has {activation(model)}")


def save_weights(model: nn.Module, path: Path) -> None:
    """Write a model's weights as safetensors, whole or not at all."""
    from safetensors.torch import save_file

    with whole(path) as partial:
        save_file(model.state_dict(), partial, metadata={"activation": activation(model)})


def load_weights(model: nn.Module, path: Path) -> None:
    """Load weights of the same architecture; ValueError names the keys or the activation that do not fit."""
    from safetensors.torch import load_file

    check_stated_activation(model, path)
    try:
        model.load_state_dict(load_file(path))
    except RuntimeError as error:
        raise ValueError(f"{path} does not fit the model: {error}") from None
