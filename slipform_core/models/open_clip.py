"""Any open_clip model as a `Clip`, and a `Clip` as a folder that plain open_clip loads."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from PIL.Image import Image
from torch import Tensor, nn

from slipform_core.files import write_text
from slipform_core.models.clip import BUCKETS, Clip, normalised
from slipform_core.models.weights import activation, save_weights

WEIGHTS, CONFIG = "open_clip_model.safetensors", "open_clip_config.json"


def from_open_clip(
    name: str, pretrained: str | None = None, device: str = "cpu", pixels: Mapping[str, Any] | None = None
) -> Clip:
    """A model of open_clip by its name and weights, or "local-dir:FOLDER", which says both.

    OpenAI's weights need the name of their activation, "ViT-B-32-quickgelu". pixels: parts of open_clip's
    configuration of the preprocessing, in place of the weights' own. Raises ValueError for an unknown name,
    and where weights and name differ in the activation.
    """
    import slipform_core.torchvision_import  # noqa: F401, I001, before open_clip
    import open_clip

    check_activation(name, pretrained)
    try:
        with quietly():
            model = open_clip.create_model(name, pretrained, device=device, force_preprocess_cfg=pixels)
            tokenize = open_clip.get_tokenizer(name)
    except RuntimeError as error:
        raise ValueError(f"cannot make {name!r} with {pretrained!r}: {error}") from None
    looks = open_clip.get_model_preprocess_cfg(model)
    side = looks["size"] if isinstance(looks["size"], int) else looks["size"][0]
    preprocess = partial(normalised, side=side, mean=looks["mean"], std=looks["std"])
    buckets = BUCKETS if model.context_length == BUCKETS[-1] else None
    return Clip(model, preprocess, tokenize, buckets, transform_of(model))


def transform_of(model: nn.Module) -> Callable[[Image], Tensor]:
    """How a model wants a photograph of any size, as its preprocessing configuration says."""
    import open_clip

    looks = open_clip.get_model_preprocess_cfg(model)
    tuples = {name: tuple(looks[name]) for name in ("mean", "std")}  # lists, where a file says them
    cfg = open_clip.transform.PreprocessCfg(**looks | tuples)
    return open_clip.transform.image_transform_v2(cfg, is_train=False)


def check_activation(name: str, pretrained: str | None) -> None:
    """Before anything is downloaded: open_clip only warns, and the model would be another one; ValueError."""
    import open_clip

    made = open_clip.pretrained.get_pretrained_cfg(name, pretrained) if pretrained else None
    quick = bool((open_clip.get_model_config(name) or {}).get("quick_gelu"))
    if made and bool(made.get("quick_gelu")) != quick:
        mine, theirs = ("QuickGELU", "GELU") if quick else ("GELU", "QuickGELU")
        raise ValueError(
            f"{name!r} has {mine}, and {pretrained!r} was trained with {theirs}: take "
            f"{name.removesuffix('-quickgelu') if quick else name + '-quickgelu'!r}"
        )


def save_open_clip(clip: Clip, folder: Path, config: dict) -> None:
    """Write a folder that open_clip.create_model_and_transforms("local-dir:FOLDER") loads.

    config: open_clip's for the architecture, as open_clip.get_model_config gives it; the activation is read
    from the model, mean and deviation of the pixels from how it was made.
    """
    import open_clip

    save_weights(clip.model, folder / WEIGHTS)
    looks = {
        name: value
        for name, value in open_clip.get_model_preprocess_cfg(clip.model).items()
        if name in ("interpolation", "resize_mode", "mean", "std")
    }
    architecture = config | {"quick_gelu": activation(clip.model) == "QuickGELU"}
    write_text(folder / CONFIG, json.dumps({"model_cfg": architecture, "preprocess_cfg": looks}, indent=1))


@contextmanager
def quietly() -> Iterator[None]:
    """Without open_clip's warning that a model has no weights, where that is meant."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
