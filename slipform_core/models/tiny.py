"""The tiny CLIP of the embedded world: an open_clip configuration of ours."""

from collections.abc import Sequence
from functools import partial
from importlib.resources import files

import torch
from torch import nn

from slipform_core.models.clip import Clip, normalised
from slipform_core.models.open_clip import quietly, transform_of
from slipform_core.models.tokenizer import WordTokenizer

MEAN, STD = 0.5, 0.25  # of the tiny model's pixels, which are drawn, not photographed


def _initialise(model: nn.Module) -> None:
    # The usual small positions of the vision tower (std .1) leave spatial relations at chance in so short a
    # training: the tower must be able to tell places apart from the start.
    nn.init.normal_(model.visual.positional_embedding, std=1.0)
    nn.init.normal_(model.text.positional_embedding, std=0.02)
    transformer = model.visual.transformer
    width, layers = transformer.width, transformer.layers
    for block in transformer.resblocks:
        nn.init.normal_(block.attn.in_proj_weight, std=width**-0.5)
        nn.init.normal_(block.attn.out_proj.weight, std=(2 * layers * width) ** -0.5)
        nn.init.normal_(block.mlp.c_fc.weight, std=(2 * width) ** -0.5)
        nn.init.normal_(block.mlp.c_proj.weight, std=(2 * layers * width) ** -0.5)


def slipform_tiny(words: Sequence[str], *, seed: int, side: int = 64) -> Clip:
    """The tiny CLIP of the embedded world: an open_clip configuration of ours, 0.6 M weights.

    words: the vocabulary, as `WordTokenizer.count` gives it. seed: of the initial weights. side: of
    pictures, in pixels.
    """
    import slipform_core.torchvision_import  # noqa: F401, I001, before open_clip
    import open_clip

    open_clip.add_model_config(str(files(__package__) / "configs"))
    with torch.random.fork_rng(devices=[]), quietly():
        torch.manual_seed(seed)
        looks = {"mean": [MEAN] * 3, "std": [STD] * 3}
        model = open_clip.create_model("slipform-tiny", force_image_size=side, force_preprocess_cfg=looks)
        _initialise(model)
    tokenize = WordTokenizer(words, vocabulary=model.vocab_size, context=model.context_length)
    preprocess = partial(normalised, side=model.visual.image_size[0], **looks)
    return Clip(model, preprocess, tokenize, transform=transform_of(model))
