"""The gradient in the logits of any objective, and the own hard negative's share of it, by autograd.

N pairs, K hard negatives and P paraphrases a pair, D embedding width.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from slipform_core.loss import Pairs, contrastive_logits, own_entries


def logit_gradients(
    objective: Callable[[Pairs, float], Tensor],
    pairs: Pairs,
    logit_scale: float,
    direction: str = "image_to_text",
) -> Tensor:
    """dL/ds_ij of any objective at the logits of these pairs, by autograd in float64, laid out as the logits.

    Paraphrases are further columns, (1 + K) N + i P + p. The logits S become leaves by feeding the objective
    the picture embeddings S / a and the identity as captions, D = number of captions: then a <v_i, t_j> =
    s_ij, and dL/dv_ij = a dL/ds_ij. This is exact for an objective that does not normalise its embeddings
    itself; terms between two captions have no part in it, nor has a teacher, which is the model itself here.

    direction: "both" is the gradient of the whole loss. "image_to_text" leaves out every choice among
    pictures, by making the row's picture no candidate: its logits are lowered by a constant until they
    underflow in the captions' softmax. A row's own softmax or difference does not see a constant, so off the
    diagonal the image-to-text half is left (the diagonal keeps the caption's pull on its own picture). Two
    evaluations suffice, each lowering every other pair's picture and the other pairs' negative pictures, so
    that from N = 4 on a choice over a batch, a block of it or a pair's own pictures keeps a candidate. An
    objective of single logits (SigLIP) has no halves: use "both".
    Raises ValueError for an unknown direction.
    """
    if direction not in ("image_to_text", "both"):
        raise ValueError(f"direction = {direction!r} is neither image_to_text nor both")
    with torch.no_grad():
        logits = _logits(pairs, logit_scale)
    if direction == "both":
        return _gradient_at(logits, objective, pairs, logit_scale)
    pair = torch.arange(len(pairs.image), device=logits.device)
    negatives = pair.repeat_interleave(pairs.negatives) + 1
    first = torch.cat([pair, negatives])[: len(logits), None] % 2 == 0
    # e^-745 is the smallest double: below the spread and 1,000 more, a picture is 0 beside any other.
    lowering = logits.max() - logits.min() + 1000
    halves = [_gradient_at(logits - lowering * low, objective, pairs, logit_scale) for low in (first, ~first)]
    return torch.where(first, *halves)


def share_by_autograd(
    objective: Callable[[Pairs, float], Tensor],
    pairs: Pairs,
    logit_scale: float,
    direction: str = "image_to_text",
) -> Tensor:
    """The own hard negatives' share for any objective, by autograd: |dL/ds_ii'| / sum over j != i |dL/ds_ij|.

    pairs: with negative captions, and pictures or not; own paraphrases are no negatives. Settings of the
    objective: functools.partial. Returns a row's share, (2N,) with negative pictures at K = 1 and (N,)
    without; equals `hard_negative_share` for InfoNCE and Cement. A row without a gradient (its picture is
    masked, or no query) gives NaN. `logit_gradients` says how, what `direction` means and what is exact.
    Raises ValueError without negative captions.
    """
    if pairs.negatives == 0:
        raise ValueError("a hard negative's share needs negative_text, and it is None")
    n, captions = len(pairs.image), (1 + pairs.negatives) * len(pairs.image)
    size = logit_gradients(objective, pairs, logit_scale, direction).abs()
    of_pairs, *of_negatives = own_entries(size[:, :captions], pairs)
    own = torch.cat([of_pairs.sum(1), *(entries.flatten() for entries in of_negatives)])
    negatives = size.sum(1) - size.diagonal()
    if pairs.positive_text is not None:
        paraphrases = size[:n, captions:].unflatten(1, (n, -1)).diagonal(dim1=0, dim2=1)
        negatives = negatives - torch.cat([paraphrases.sum(0), negatives.new_zeros(len(size) - n)])
    return own / negatives


def _logits(pairs: Pairs, logit_scale: float) -> Tensor:
    """The logits in float64 and without a mask, which the objective applies itself, and of paraphrases."""
    double = replace(pairs, mask=None, concreteness=None, teacher=None).each(Tensor.double)
    logits = contrastive_logits(double, logit_scale)
    if double.positive_text is None:
        return logits
    images = [part.flatten(0, -2) for part in (double.image, double.negative_image) if part is not None]
    further = logit_scale * torch.cat(images) @ double.positive_text.flatten(0, -2).T
    return torch.cat([logits, further], dim=1)


def _gradient_at(logits: Tensor, objective: Callable, pairs: Pairs, logit_scale: float) -> Tensor:
    n, k, (rows, columns) = len(pairs.image), pairs.negatives, logits.shape
    image = (logits / logit_scale).requires_grad_()
    text = torch.eye(columns, dtype=logits.dtype, device=logits.device)
    captions = (1 + k) * n
    leaves = replace(
        pairs,
        image=image[:n],
        text=text[:n],
        negative_image=image[n:].view(n, k, columns) if rows > n else None,
        negative_text=text[n:captions].view(n, k, columns) if k else None,
        positive_text=text[captions:].view(n, -1, columns) if columns > captions else None,
        teacher=None,
    )
    leaves = replace(leaves, teacher=leaves.each(Tensor.detach))
    (gradient,) = torch.autograd.grad(objective(leaves, logit_scale), image)
    return gradient / logit_scale
