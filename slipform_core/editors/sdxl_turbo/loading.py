"""The pipeline of diffusers, from a folder or from the hub."""

from typing import TYPE_CHECKING

from slipform_core import hub

if TYPE_CHECKING:
    from diffusers import StableDiffusionXLImg2ImgPipeline

ADVICE = "give a folder as save_pretrained writes it, with safetensors, or a name on the hub"


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

    precision = getattr(torch, dtype)
    given = {}
    if vae:
        hub.check(vae, advice=ADVICE)
        with hub.loading(vae, ADVICE):
            given["vae"] = AutoModel.from_pretrained(vae, dtype=torch.float32, use_safetensors=True)
    hub.check(model, revision, ADVICE)
    with hub.loading(model, ADVICE):
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
