"""From a batch to the gradients of the weights: both towers, a whole batch at once or in chunks.

B pairs in this rank's part of a batch, D embedding width.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from slipform_core.data import Batch
from slipform_core.loss import Pairs
from slipform_core.models.clip import Clip

FEATURES = ("image", "text", "negative_image", "negative_text")


class Towers(nn.Module):
    """Both towers and the logit scale in one call, the way DistributedDataParallel wants it.

    precision: "bfloat16" computes the towers under autocast; weights, features and loss stay float32.
    """

    def __init__(self, clip: Clip, precision: str | None = None):
        super().__init__()
        self.model = clip.model
        self.clip, self.precision = clip, precision

    def forward(self, pictures: np.ndarray, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Unit features of pictures and of captions, (B, D) each, and the logit scale."""
        half = self.precision == "bfloat16"
        with torch.autocast(self.clip.device.type, torch.bfloat16, enabled=half):
            return self.clip.encode_image(pictures), self.clip.encode_text(tokens), self.clip.logit_scale


def encode(towers: nn.Module, batch: Batch) -> tuple[Pairs, Tensor]:
    """The pairs of a batch and the logit scale; each tower runs once, over originals and hard negatives."""
    if batch.negative_tokens is None:
        image, text, scale = towers(batch.pictures, batch.tokens)
        return Pairs(image, text), scale
    pictures = np.concatenate([batch.pictures, batch.negative_pictures])
    images, texts, scale = towers(pictures, torch.cat([batch.tokens, batch.negative_tokens]))
    image, negative_image = images.split(len(batch.pictures))
    text, negative_text = texts.split(len(batch.pictures))
    return Pairs(image, text, negative_image, negative_text, batch.concreteness), scale


def backward(
    towers: nn.Module, batch: Batch, loss_of: Callable[[Pairs, Tensor], Tensor], chunk: int | None
) -> Tensor:
    """Gradients of the loss of a batch in the towers' weights; the loss, detached.

    chunk: encode so many pairs at a time, twice: first without a graph, for the loss of the whole batch and
    its gradients in the features, then again to carry them into the weights. The towers then need memory for
    a chunk, and the gradients are the whole batch's. Raises ValueError for a model that drops at random.
    Source: GradCache, arXiv 2101.06983.
    """
    if chunk is None or chunk >= len(batch.pictures):
        pairs, scale = encode(towers, batch)
        loss = loss_of(pairs, scale)
        loss.backward()
        return loss.detach()
    _refuse_dropout(towers, chunk)
    parts = [batch.rows(slice(start, start + chunk)) for start in range(0, len(batch.pictures), chunk)]
    with torch.no_grad():
        encoded, scales = zip(*(encode(towers, part) for part in parts), strict=True)
    pairs, scale = _joined(encoded), scales[0].clone().requires_grad_()
    loss = loss_of(pairs, scale)
    loss.backward()
    features = {name: getattr(pairs, name) for name in FEATURES}
    # Not every objective reads all features.
    gradients = {
        name: part.grad.split(chunk)
        for name, part in features.items()
        if part is not None and part.grad is not None
    }
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        # Only the last chunk's pass exchanges gradients, which by then are the sum over all chunks.
        with nullcontext() if last or not isinstance(towers, DistributedDataParallel) else towers.no_sync():
            again, scale_again = encode(towers, part)
            carried = [(getattr(again, name) * part[index]).sum() for name, part in gradients.items()]
            torch.stack([*carried, scale_again * scale.grad] if last else carried).sum().backward()
    return loss.detach()


def _refuse_dropout(towers: nn.Module, chunk: int) -> None:
    """The second encoding has to be the first again."""
    for name, module in towers.named_modules():
        if (isinstance(module, nn.Dropout) and module.p) or getattr(module, "prob", 0):
            raise ValueError(f"chunk = {chunk} encodes twice, and {name} drops at random: set it to 0")


def _joined(parts: tuple[Pairs, ...]) -> Pairs:
    """One batch of pairs whose features are leaves."""
    given = {
        name: torch.cat([getattr(part, name) for part in parts])
        for name in (*FEATURES, "concreteness")
        if getattr(parts[0], name) is not None
    }
    return Pairs(
        **{name: part.requires_grad_() if name in FEATURES else part for name, part in given.items()}
    )


def taught(pairs: Pairs, teacher: Towers | None, batch: Batch) -> Pairs:
    """The pairs with those of a teacher, if there is one."""
    if teacher is None:
        return pairs
    with torch.no_grad():
        return replace(pairs, teacher=encode(teacher, batch)[0])
