"""Two-tower models behind one small face: `Clip(model, preprocess, tokenize)`, and the registry `MODELS`."""

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

MEAN, STD = 0.5, 0.25  # of the tiny model's pixels, which are drawn, not photographed


class WordTokenizer:
    """Lower-cased words and numbers as tokens, anything else dropped, unknown words as one token.

    Ids are 0 padding, 1 unknown, the words, then start and end of text, which is the highest, as open_clip's
    pooling expects.
    """

    UNKNOWN = 1
    _word = re.compile(r"[a-z0-9]+")

    def __init__(self, words: Sequence[str], *, vocabulary: int, context: int):
        if len(words) + 4 > vocabulary:
            raise ValueError(
                f"{len(words)} words do not fit a vocabulary of {vocabulary} with four special tokens"
            )
        self.words = tuple(words)
        self.start, self.end = vocabulary - 2, vocabulary - 1
        self.context = context
        self._ids = {word: index for index, word in enumerate(self.words, start=2)}

    @classmethod
    def count(cls, texts: Iterable[str]) -> tuple[str, ...]:
        """The words of the texts, most frequent first, ties in alphabetical order."""
        counts = Counter(word for text in texts for word in cls._word.findall(text.lower()))
        return tuple(sorted(counts, key=lambda word: (-counts[word], word)))

    def __call__(self, texts: Sequence[str]) -> Tensor:
        """Token ids (B, context); ValueError names a text that is longer than the context."""
        tokens = torch.zeros(len(texts), self.context, dtype=torch.long)
        for row, text in enumerate(texts):
            ids = [self._ids.get(word, self.UNKNOWN) for word in self._word.findall(text.lower())]
            if len(ids) + 2 > self.context:
                raise ValueError(f"{len(ids)} words in {text!r}: the model reads {self.context - 2} at most")
            tokens[row, : len(ids) + 2] = torch.tensor([self.start, *ids, self.end])
        return tokens


@dataclass(frozen=True)
class Clip:
    """A model and how it reads texts and pictures.

    `preprocess`: pictures (B, H, W, 3) uint8 -> float32 (B, 3, H, W). `tokenize`: B texts -> ids (B, L).
    """

    model: nn.Module
    preprocess: Callable[[np.ndarray], Tensor]
    tokenize: Callable[[Sequence[str]], Tensor]

    def encode_image(self, pictures: np.ndarray) -> Tensor:
        """Unit vectors (B, D) of pictures (B, H, W, 3) uint8; ValueError for another shape."""
        return normalize(self.model.visual(self.preprocess(pictures)), dim=-1)

    def encode_text(self, tokens: Tensor) -> Tensor:
        """Unit vectors (B, D) of tokens (B, L); ValueError for another shape.

        The short half of the texts and the long one are encoded apart, each cut to its longest text: exact,
        since the tower is causal and reads its features at the end of the text.
        """
        if tokens.ndim != 2:
            raise ValueError(f"tokens are {tuple(tokens.shape)}, expected (B, L)")
        halves = tokens.argmax(dim=-1).argsort().tensor_split(2)
        features = torch.cat([self._encode_cut(tokens[rows]) for rows in halves if len(rows)])
        return normalize(features[torch.cat(halves).argsort()], dim=-1)

    def _encode_cut(self, tokens: Tensor) -> Tensor:
        text, ends = self.model.text, tokens.argmax(dim=-1)
        length = int(ends.max()) + 1
        states = text.token_embedding(tokens[:, :length]) + text.positional_embedding[:length]
        states = text.ln_final(text.transformer(states, attn_mask=text.attn_mask[:length, :length]))
        return states[torch.arange(len(tokens)), ends] @ text.text_projection

    @property
    def logit_scale(self) -> Tensor:
        return self.model.logit_scale.exp()


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


def _preprocess_drawn(pictures: np.ndarray, *, side: int) -> Tensor:
    if pictures.ndim != 4 or pictures.shape[1:] != (side, side, 3):
        raise ValueError(f"pictures are {pictures.shape}, expected (B, {side}, {side}, 3)")
    pixels = torch.from_numpy(np.ascontiguousarray(pictures)).permute(0, 3, 1, 2).float()
    return pixels.div_(255).sub_(MEAN).div_(STD)


def slipform_tiny(words: Sequence[str], *, seed: int, side: int = 64) -> Clip:
    """The tiny CLIP of the embedded world: an open_clip configuration of ours, 0.6 M weights.

    words: the vocabulary, as `WordTokenizer.count` gives it. seed: of the initial weights. side: of
    pictures, in pixels.
    """
    import slipform_core.torchvision_import  # noqa: F401, I001, before open_clip
    import open_clip

    open_clip.add_model_config(str(files(__package__) / "model_configs"))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        logging.disable(logging.WARNING)  # open_clip warns that no weights were loaded: they are made here
        model = open_clip.create_model("slipform-tiny", force_image_size=side)
        logging.disable(logging.NOTSET)
        _initialise(model)
    tokenize = WordTokenizer(words, vocabulary=model.vocab_size, context=model.context_length)
    return Clip(model, partial(_preprocess_drawn, side=model.visual.image_size[0]), tokenize)


def save_weights(model: nn.Module, path: Path) -> None:
    """Write a model's weights as safetensors, whole or not at all."""
    from safetensors.torch import save_file

    partial = path.with_name(path.name + ".partial")
    save_file(model.state_dict(), partial)
    partial.replace(path)


def load_weights(model: nn.Module, path: Path) -> None:
    """Load weights of the same architecture; ValueError names the keys that do not fit."""
    from safetensors.torch import load_file

    try:
        model.load_state_dict(load_file(path))
    except RuntimeError as error:
        raise ValueError(f"{path} does not fit the model: {error}") from None


MODELS: dict[str, Callable[..., Clip]] = {"slipform-tiny": slipform_tiny}
