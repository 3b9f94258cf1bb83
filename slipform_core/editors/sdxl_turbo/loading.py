"""The pipeline of diffusers, from a folder or from the hub."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diffusers import StableDiffusionXLImg2ImgPipeline

DTYPES = ("float32", "float16", "bfloat16")
_HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w.-]+)?")
_ADVICE = "give a folder as save_pretrained writes it, with safetensors, or a name on the hub"


def load(
    model: str, *, revision: str, variant: str, vae: str, dtype: str, device: str
) -> "StableDiffusionXLImg2ImgPipeline":
    """The pipeline; FileNotFoundError, in one line, where a model cannot be loaded.

    Weights come from safetensors alone, so that nothing is unpickled. A VAE whose configuration says
    `force_upcast`, as SDXL's own does, stays in float32: in float16 it overflows to black pictures. No
    watermark: whether diffusers adds one would depend on what else is installed.
    """
    import slipform_core.torchvision_import  # noqa: F401, I001, before diffusers
    import torch
    from diffusers import AutoModel, StableDiffusionXLImg2ImgPipeline

    if revision and Path(model).is_dir():
        raise ValueError(f"{model!r} is a folder, which has no revision {revision!r}")
    precision = getattr(torch, dtype)
    given = {}
    if vae:
        with _loading(vae):
            given["vae"] = AutoModel.from_pretrained(vae, dtype=torch.float32, use_safetensors=True)
    with _loading(model):
        pipe = StableDiffusionXLImg2ImgPipeline.from_pretrained(
            model,
            revision=revision or None,
            variant=variant or None,
            dtype={"vae": torch.float32, "default": precision},
            add_watermarker=False,
            use_safetensors=True,
            **given,
        )
    if not pipe.vae.config.force_upcast:
        pipe.vae.to(precision)
    pipe.set_progress_bar_config(disable=True)
    return pipe.to(device)


@contextmanager
def _loading(model: str) -> Iterator[None]:
    """Makes a model that cannot be loaded one line that names it; a folder is not looked for on the hub."""
    folder = Path(model).is_dir()
    if not folder and not _HUB_NAME.fullmatch(model):
        raise FileNotFoundError(f"there is no folder {model!r}: {_ADVICE}")
    try:
        yield
    except (OSError, ValueError) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        fetch = "" if folder else f"; `hf download {model}` fetches it from a network"
        message = f"cannot load the model {model!r}: {_ADVICE}{fetch} ({reason})"
        raise FileNotFoundError(message) from error
