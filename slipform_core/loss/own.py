"""A picture among its own captions: the terms in which no other pair has a part.

N pairs, K hard negatives a pair, D embedding width. "Own logits" are (N, 1 + K): the caption first, then its
hard negatives; a missing one is -inf, and a pair without any is left out of a mean.
"""

import math

import torch
from torch import Tensor

from slipform_core.loss.contrastive import scalar
from slipform_core.loss.pairs import Pairs


def own_logits(
    anchor: Tensor, positive: Tensor, negatives: Tensor, scale: Tensor | float, mask: Tensor | None
) -> Tensor:
    """Logits of anchors (N, D) with their positives (N, D) and negatives (N, D) or (N, K, D): (N, 1 + K)."""
    dtype = torch.promote_types(anchor.dtype, torch.float32)
    negatives = negatives.view(len(anchor), -1, anchor.shape[1])
    with torch.autocast(anchor.device.type, enabled=False):
        candidates = torch.cat([positive[:, None], negatives], dim=1).to(dtype)
        logits = (candidates @ (scalar(scale, candidates) * anchor.to(dtype))[..., None])[..., 0]
    if mask is None:
        return logits
    return torch.cat([logits[:, :1], logits[:, 1:].masked_fill(~mask.to(logits.device), -math.inf)], dim=1)


def need_negatives(pairs: Pairs) -> None:
    """ValueError without negative captions."""
    if pairs.negatives == 0:
        raise ValueError("this objective needs hard negatives, and negative_text is None")


def image_to_own_captions(pairs: Pairs, logit_scale: Tensor | float) -> Tensor:
    """Own logits of the pictures; ValueError without negative captions."""
    need_negatives(pairs)
    return own_logits(pairs.image, pairs.text, pairs.negative_text, logit_scale, pairs.mask)


def own_cross_entropy(logits: Tensor) -> Tensor:
    """Cross-entropy of the own caption among own logits, a mean over the pairs that have a negative."""
    return mean_where((logits.logsumexp(1) - logits[:, 0]), has_negative(logits))


def focal_cross_entropy(logits: Tensor, gamma: float, smoothing: float) -> Tensor:
    """Cross-entropy with smoothed targets q and each term weighed by (1 - p)^gamma: - sum q (1 - p)^g log p.

    A pair's target is (1 - smoothing) on the caption and `smoothing` spread evenly over what it has.
    """
    present = logits > -math.inf
    spread = smoothing / present.sum(1, keepdim=True)
    target = torch.where(present, spread, 0)
    target[:, 0] += 1 - smoothing
    log_p = logits.log_softmax(1).masked_fill(~present, 0)
    losses = -(target * (-torch.expm1(log_p)).pow(gamma) * log_p).sum(1)
    return mean_where(losses, has_negative(logits))


def has_negative(logits: Tensor) -> Tensor:
    """Which pairs (N,) have a hard negative."""
    return (logits[:, 1:] > -math.inf).any(1)


def mean_where(losses: Tensor, counted: Tensor) -> Tensor:
    """The mean of the losses that count; 0 where none does."""
    return torch.where(counted, losses, 0).sum() / counted.sum().clamp(min=1)
