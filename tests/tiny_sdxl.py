"""A tiny SDXL of random weights, laid on disk as the hub's SDXL-Turbo is."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

import slipform_core.torchvision_import  # noqa: F401, before diffusers

SIDE = 32
WEIGHTS = "diffusion_pytorch_model.safetensors"
BEGIN, END = "<|startoftext|>", "<|endoftext|>"


def save(folder: Path) -> Path:
    from diffusers import EulerAncestralDiscreteScheduler, StableDiffusionXLPipeline
    from transformers import CLIPTextModel, CLIPTextModelWithProjection

    torch.manual_seed(0)
    tokenizer = _tokenizer(folder / "made")
    scheduler = EulerAncestralDiscreteScheduler(
        beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", timestep_spacing="trailing"
    )
    pipe = StableDiffusionXLPipeline(
        vae=_vae(),
        text_encoder=CLIPTextModel(_text("quick_gelu")),
        text_encoder_2=CLIPTextModelWithProjection(_text("gelu")),
        tokenizer=tokenizer,
        tokenizer_2=tokenizer,
        unet=_unet(),
        scheduler=scheduler,
        add_watermarker=False,
    )
    pipe.save_pretrained(folder / "tiny-turbo", safe_serialization=True)
    return folder / "tiny-turbo"


def save_tiny_vae(folder: Path) -> Path:
    """An autoencoder without a posterior, as taesdxl."""
    from diffusers import AutoencoderTiny

    torch.manual_seed(1)
    widths, blocks = (8, 8), (1, 1)
    vae = AutoencoderTiny(
        encoder_block_out_channels=widths,
        decoder_block_out_channels=widths,
        num_encoder_blocks=blocks,
        num_decoder_blocks=blocks,
    )
    vae.save_pretrained(folder / "taesdxl")
    return folder / "taesdxl"


def changed(model: Path, to: Path, part: str, change: Callable[[dict[str, torch.Tensor]], object]) -> Path:
    """A copy of a model with other weights in a part."""
    shutil.copytree(model, to)
    state = load_file(to / part / WEIGHTS)
    change(state)
    save_file(state, to / part / WEIGHTS, metadata={"format": "pt"})
    return to


def configured(model: Path, to: Path, part: str, settings: dict) -> Path:
    """A copy of a model with other values in a part's configuration."""
    shutil.copytree(model, to)
    file = to / part / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | settings))
    return to


def _tokenizer(folder: Path):
    """CLIP's: bytes as printable characters, each also as the end of a word, and a few merges."""
    from transformers import CLIPTokenizer
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    characters = list(bytes_to_unicode().values())
    merges = ["d o", "do g</w>", "c a", "ca t</w>", "o n</w>"]
    words = characters + [f"{character}</w>" for character in characters]
    words += [merge.replace(" ", "") for merge in merges] + [BEGIN, END]
    folder.mkdir(parents=True)
    (folder / "vocab.json").write_text(json.dumps({word: index for index, word in enumerate(words)}))
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]))
    return CLIPTokenizer.from_pretrained(folder, model_max_length=77)


def _text(activation: str):
    from transformers import CLIPTextConfig

    return CLIPTextConfig(
        vocab_size=519,
        hidden_size=32,
        intermediate_size=37,
        num_hidden_layers=3,
        num_attention_heads=4,
        projection_dim=32,
        hidden_act=activation,
        bos_token_id=517,
        eos_token_id=518,
        pad_token_id=518,
        initializer_factor=4.0,  # a text matters, and a rounding error does not
    )


def _vae():
    from diffusers import AutoencoderKL

    return AutoencoderKL(
        block_out_channels=(8, 16),
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        norm_num_groups=4,
        sample_size=SIDE,
        scaling_factor=4.0,  # as much as makes the latents of random weights matter beside the noise
    )


def _unet():
    from diffusers import UNet2DConditionModel

    return UNet2DConditionModel(
        block_out_channels=(32, 64),
        layers_per_block=1,
        sample_size=SIDE // 2,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=(2, 4),
        use_linear_projection=True,
        addition_embed_type="text_time",
        addition_time_embed_dim=8,
        projection_class_embeddings_input_dim=80,  # the pooled text's 32 and six numbers of 8
        cross_attention_dim=64,
    )
