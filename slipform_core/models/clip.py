"""A two-tower model as the rest of the package sees it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from PIL.Image import Image
from torch import Tensor, nn
from torch.nn.functional import normalize

from slipform_core.models.text import encode_cut, is_causal
from slipform_core.models.vision import around_projection

BUCKETS = (16, 40, 77)  # of CLIP's 77 tokens; captions of COCO have 13.5 on average and 58 at most


@dataclass(frozen=True)
class Clip:
    """A model and how it reads texts and pictures.

    `preprocess`: pictures (B, H, W, 3) uint8 on the model's device -> float32 (B, 3, H, W). `tokenize`: B
    texts -> ids (B, L). `buckets`: the lengths to which texts are cut; without, each half of a batch is cut
    to its longest. `transform`: a photograph of any size -> float32 (3, H, W), as the checkpoint says.
    """

    model: nn.Module
    preprocess: Callable[[Tensor], Tensor]
    tokenize: Callable[[Sequence[str]], Tensor]
    buckets: tuple[int, ...] | None = None
    transform: Callable[[Image], Tensor] | None = None

    def encode_image(self, pictures: np.ndarray) -> Tensor:
        """Unit vectors (B, D) of pictures (B, H, W, 3) uint8; ValueError for another shape."""
        pixels = torch.from_numpy(np.ascontiguousarray(pictures)).to(self.device, non_blocking=True)
        return self.encode_pixels(self.preprocess(pixels))

    def encode_pixels(self, pixels: Tensor) -> Tensor:
        """Unit vectors (B, D) of pixels (B, 3, H, W), as `transform` makes them."""
        return _unit(self.model.encode_image(self._cast(pixels)))

    def encode_unprojected(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        """Features (B, W) before the tower's projection, as they come, and unit vectors (B, D) after it.

        Raises Mistake for a tower without a projection of its own.
        """
        pooled, projected = around_projection(self.model.visual, self._cast(pixels))
        return pooled.float(), _unit(projected)

    def _cast(self, pixels: Tensor) -> Tensor:
        return pixels.to(self.device, self.model.logit_scale.dtype)

    def encode_text(self, tokens: Tensor) -> Tensor:
        """Unit vectors (B, D) of tokens (B, L); ValueError for another shape.

        Texts are encoded in groups of like length, each cut to it: exact, since the tower is causal and reads
        its features at the end of the text. A tower that is not is given the whole length.
        """
        if tokens.ndim != 2:
            raise ValueError(f"tokens are {tuple(tokens.shape)}, expected (B, L)")
        if not is_causal(self.model):
            return _unit(self.model.encode_text(tokens.to(self.device)))
        # The end of a text has the highest id. Lengths are read before the tokens move to an accelerator.
        lengths = tokens.argmax(dim=-1) + 1
        groups = self._groups(lengths)
        parts = [tokens[rows, :length].to(self.device, non_blocking=True) for rows, length in groups]
        features = torch.cat([encode_cut(self.model, part) for part in parts])
        order = torch.cat([rows for rows, _ in groups]).argsort()
        return _unit(features[order.to(features.device)])

    def _groups(self, lengths: Tensor) -> list[tuple[Tensor, int]]:
        """Rows of like length, and to what they are cut."""
        if self.buckets is None:
            halves = lengths.argsort().tensor_split(2)
            return [(rows, int(lengths[rows].max())) for rows in halves if len(rows)]
        edges = torch.tensor(self.buckets, device=lengths.device)
        bucket = torch.searchsorted(edges, lengths)
        rows = [(bucket == index).nonzero()[:, 0] for index in range(len(self.buckets))]
        return [(mine, edge) for mine, edge in zip(rows, self.buckets, strict=True) if len(mine)]

    @property
    def device(self) -> torch.device:
        return self.model.logit_scale.device

    @property
    def logit_scale(self) -> Tensor:
        return self.model.logit_scale.exp()


def _unit(features: Tensor) -> Tensor:
    """Unit vectors in float32 or wider, also of towers that compute in less."""
    return normalize(features.to(torch.promote_types(features.dtype, torch.float32)), dim=-1)


def normalised(pixels: Tensor, *, side: int, mean: Sequence[float], std: Sequence[float]) -> Tensor:
    """Pictures (B, side, side, 3) uint8 as (B, 3, side, side) float32, less the mean, over the deviation."""
    if pixels.ndim != 4 or pixels.shape[1:] != (side, side, 3):
        raise ValueError(f"pictures are {tuple(pixels.shape)}, expected (B, {side}, {side}, 3)")
    mean, std = (torch.tensor(part, device=pixels.device).view(-1, 1, 1) for part in (mean, std))
    return pixels.permute(0, 3, 1, 2).float().div_(255).sub_(mean).div_(std)
