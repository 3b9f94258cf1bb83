"""The editor of photographs: image to image by SDXL-Turbo."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from slipform_core.editors.protocol import Edit
from slipform_core.records import Caption

from .checks import NOT_A_NUMBER, check, fault
from .loading import load
from .recent import Recent

if TYPE_CHECKING:
    from torch import Tensor

SOURCES = 1024  # pictures kept as latents: 64 MiB at 512 pixels in float32
PROMPTS = 256  # texts kept as embeddings: 160 MiB in float32

Record = tuple[Caption, Image.Image, str, int]


class SdxlTurboEditor:
    """Draws a photograph again, `strength` of the way from noise, after its negative caption.

    model: a folder as `save_pretrained` writes it, or a name on the hub. revision: a commit or branch of the
    hub. variant: of the weights' files, such as "fp16". steps, strength: diffusers runs int(steps * strength)
    steps, `effective_steps`; a product below 1 is refused. side: of the pictures, a multiple of 8. vae: a
    folder or a name in place of the model's own VAE, such as "madebyollin/sdxl-vae-fp16-fix", which need
    not stay in float32, or the small "madebyollin/taesdxl". batch: records at a time. dtype: "float32",
    "float16" or "bfloat16". compile: the U-Net and the VAE's decoder by torch.compile, again for each
    new number of records.

    Each record's noise comes from a generator of its own, on the CPU, so that neither its batch nor the
    device changes it. A picture is encoded once, as the mode of the VAE's posterior: a sample would depend on
    the record, and differ little from it. `image_id` names the picture. A text is cut at CLIP's 77 tokens.
    A folder goes by its own name in `version`: rename it when its weights change.
    """

    def __init__(
        self,
        *,
        model: str = "stabilityai/sdxl-turbo",
        revision: str = "",
        variant: str = "",
        steps: int = 2,
        strength: float = 0.5,
        side: int = 512,
        vae: str = "",
        batch: int = 8,
        dtype: str = "float32",
        device: str = "cpu",
        compile: bool = False,
    ):
        settings = {"steps": steps, "strength": strength, "side": side, "batch": batch, "dtype": dtype}
        check(**settings, factor=1)  # before a model is loaded
        self.steps, self.strength, self.side, self.batch = steps, strength, side, batch
        names = (_name(model), revision, variant, _name(vae), f"{steps}x{float(strength)}-{side}-{dtype}")
        library = f"diffusers{metadata.version('diffusers')}"
        self.version = "-".join(part for part in ("sdxl-turbo@1", *names, library) if part)
        self._sources: Recent[str, Tensor] = Recent(SOURCES)
        self._prompts: Recent[str, tuple[Tensor, Tensor]] = Recent(PROMPTS)
        self._pipe = load(model, revision=revision, variant=variant, vae=vae, dtype=dtype, device=device)
        self.effective_steps = check(**settings, factor=self._pipe.vae_scale_factor)
        if compile:
            self._pipe.unet.compile()
            self._pipe.vae.decoder.compile()

    def edit(
        self,
        captions: Sequence[Caption],
        images: Sequence[Image.Image],
        negative_captions: Sequence[str],
        *,
        seeds: Sequence[int],
    ) -> list[Edit]:
        """The edits in order; faults are "not a number", "black" and "unchanged".

        ValueError for a picture that is not RGB of `side`: what is made before an editor cuts them.
        """
        import torch

        records = list(zip(captions, images, negative_captions, seeds, strict=True))
        for caption, image, _, _ in records:
            if image.mode != "RGB" or image.size != (self.side, self.side):
                raise ValueError(
                    f"the picture {caption.image_id!r} is {image.mode} of {image.width} x {image.height}, "
                    f"and should be RGB of {self.side} x {self.side}"
                )
        with torch.no_grad():
            starts = range(0, len(records), self.batch)
            return [edit for start in starts for edit in self._edits(records[start : start + self.batch])]

    def _edits(self, records: Sequence[Record]) -> list[Edit]:
        latents = self._denoise(records)
        pixels = self._decode(latents)
        # Looked at here, since a NaN that is cast to uint8 is a black pixel.
        finite = (latents.isfinite().flatten(1).all(1) & pixels.isfinite().flatten(1).all(1)).tolist()
        levels = ((pixels / 2 + 0.5).clamp(0, 1) * 255).nan_to_num().round().byte()
        pictures = levels.permute(0, 2, 3, 1).cpu().numpy()
        return [
            _judged(picture, image) if sound else Edit(None, fault=NOT_A_NUMBER)
            for (_, image, _, _), picture, sound in zip(records, pictures, finite, strict=True)
        ]

    def _denoise(self, records: Sequence[Record]) -> "Tensor":
        """Latents of the edited pictures."""
        import torch

        images = {caption.image_id: image for caption, image, _, _ in records}
        sources = self._sources.take(
            [caption.image_id for caption, _, _, _ in records],
            lambda missing: self._encode([images[image_id] for image_id in missing]),
        )
        prompts = self._prompts.take([text for _, _, text, _ in records], self._read)
        sequences, pooled = (torch.stack(rows) for rows in zip(*prompts, strict=True))
        return self._pipe(
            image=torch.stack(sources),  # four channels, which the pipeline takes as latents, scaled already
            prompt_embeds=sequences,
            pooled_prompt_embeds=pooled,
            num_inference_steps=self.steps,
            strength=self.strength,
            guidance_scale=0.0,
            generator=[torch.Generator().manual_seed(int(seed)) for _, _, _, seed in records],
            output_type="latent",
        ).images

    def _encode(self, images: list[Image.Image]) -> "list[Tensor]":
        """Pictures as the pipeline's latents."""
        from diffusers.pipelines.stable_diffusion_xl import pipeline_stable_diffusion_xl_img2img as theirs

        vae = self._pipe.vae
        pixels = self._pipe.image_processor.preprocess(images).to(vae.device, vae.dtype)
        latents = theirs.retrieve_latents(vae.encode(pixels), sample_mode="argmax")
        mean, std = self._scale(latents)
        return _rows(((latents - mean) / std).to(self._pipe.unet.dtype))

    def _decode(self, latents: "Tensor") -> "Tensor":
        """Pixels, -1 to 1."""
        vae = self._pipe.vae
        latents = latents.to(vae.dtype)
        mean, std = self._scale(latents)
        return vae.decode(latents * std + mean, return_dict=False)[0].float()

    def _scale(self, latents: "Tensor") -> "tuple[Tensor, Tensor]":
        """Mean and deviation of the VAE's latents; the pipeline's are centred and of unit deviation."""
        config = self._pipe.vae.config
        mean = latents.new_tensor(config.get("latents_mean") or 0.0)
        std = latents.new_tensor(config.get("latents_std") or 1.0) / config.scaling_factor
        return mean.view(-1, 1, 1), std.view(-1, 1, 1)

    def _read(self, texts: list[str]) -> "list[tuple[Tensor, Tensor]]":
        """Prompts as sequences of embeddings and pooled ones."""
        with _without_warnings():
            sequences, _, pooled, _ = self._pipe.encode_prompt(texts, do_classifier_free_guidance=False)
        return list(zip(_rows(sequences), _rows(pooled), strict=True))


def _judged(picture: np.ndarray, original: Image.Image) -> Edit:
    why = fault(picture, np.asarray(original))
    return Edit(None, fault=why) if why else Edit(Image.fromarray(picture))


def _rows(batch: "Tensor") -> "list[Tensor]":
    """Copies, since a view of one row keeps all the batch in memory."""
    return [row.clone() for row in batch]


def _name(model: str) -> str:
    return Path(model).resolve().name if model and Path(model).is_dir() else model


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Both libraries warn of each text that is cut at CLIP's length; the audit has counted those."""
    loggers = [logging.getLogger(name) for name in ("diffusers", "transformers")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
