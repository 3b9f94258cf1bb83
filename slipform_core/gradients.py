"""How much of the image-to-text gradient falls on the own hard negative.

N pairs with a hard negative each; the 2N x 2N logits have the pairs first, so that i' = (i + N) mod 2N.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from slipform_core.loss import Margin, Pairs, contrastive_logits, own_entries


class GradientBudget(NamedTuple):
    """Parts of the sum of |dL/ds_ij| over the matrix, adding to 1; `positive` is 1/2, as Eq. 3 says."""

    positive: Tensor
    own_negative: Tensor
    easy_negatives: Tensor


class BatchShare(NamedTuple):
    """The mean share at 2N = `pictures` over batches, and its standard error."""

    pictures: int
    mean: float
    stderr: float


def hard_negative_share(logits: Tensor) -> Tensor:
    """The own hard negative's share of the negatives' gradient, p_ii' / (1 - p_ii), for each row.

    logits: (2N, 2N), margin included if there is one; its transpose gives the text-to-image shares.
    Returns (2N,) in 0..1, also where p_ii rounds to 1, since the share does not depend on s_ii.
    Raises ValueError for another shape.
    Source: arXiv 2604.13313, Eq. 3, where |dL_i/ds_ii| = 1 - p_ii is what the negatives divide among them.
    """
    own, negatives = _own_and_negatives(logits)
    return (own - negatives).exp()


def share_with_margin(share: Tensor, margin: Tensor | float) -> Tensor:
    """The share after a margin is added to the own hard negative's logit: e^m rho / (1 - rho + e^m rho).

    share: 0..1, any shape; margin: logit units, broadcast to it. Returns the shape of both.
    Source: arXiv 2604.13313.
    """
    return torch.sigmoid(torch.logit(share) + margin)


def gradient_budget(logits: Tensor) -> GradientBudget:
    """What fraction of the image-to-text gradient pulls the positives, and pushes own and easy negatives.

    logits: (2N, 2N). The fractions are of the batch's sum of |dL/ds_ij|: a row that is already right weighs
    little, where the mean of `hard_negative_share` weighs all rows alike.
    Raises ValueError for another shape.
    """
    own, negatives = _own_and_negatives(logits)
    everything = torch.logaddexp(negatives, logits.diagonal().to(negatives.dtype))
    pushed = (negatives - everything).logsumexp(0)
    own_negative = ((own - everything).logsumexp(0) - pushed).exp() / 2
    return GradientBudget(torch.full_like(own_negative, 0.5), own_negative, 0.5 - own_negative)


def logit_gradients(
    objective: Callable[[Pairs, float], Tensor],
    pairs: Pairs,
    logit_scale: float,
    direction: str = "image_to_text",
) -> Tensor:
    """dL/ds_ij of any objective at the logits of these pairs, by autograd in float64, laid out as the logits.

    The logits S become leaves by feeding the objective the picture embeddings S / a and the identity as
    captions, D = number of captions: then a <v_i, t_j> = s_ij, and dL/dv_ij = a dL/ds_ij. This is exact for
    an objective that does not normalise its embeddings itself; terms between two captions have no part in it.

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
        logits = contrastive_logits(_in_double(pairs), logit_scale)
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

    pairs: with negative captions, and pictures or not. Settings of the objective: functools.partial.
    Returns a row's share, (2N,) with negative pictures at K = 1 and (N,) without; equals
    `hard_negative_share` for InfoNCE and Cement. A row without a gradient (its picture is masked) gives NaN.
    `logit_gradients` says how, what `direction` means and what is exact.
    Raises ValueError without negative captions.
    """
    if pairs.negatives == 0:
        raise ValueError("a hard negative's share needs negative_text, and it is None")
    size = logit_gradients(objective, pairs, logit_scale, direction).abs()
    of_pairs, *of_negatives = own_entries(size, pairs)
    own = torch.cat([of_pairs.sum(1), *(entries.flatten() for entries in of_negatives)])
    return own / (size.sum(1) - size.diagonal())


def share_against_batch(
    image: Tensor,
    text: Tensor,
    negative_image: Tensor,
    negative_text: Tensor,
    *,
    logit_scale: float,
    pictures: Sequence[int],
    batches: int,
    generator: torch.Generator,
    margin: Margin | None = None,
    concreteness: Tensor | None = None,
) -> list[BatchShare]:
    """The mean hard-negative share in random batches of each size: the falling curve of Figure 6.

    image ... negative_text: (P, D) unit embeddings of a pool; pictures: the sizes 2N; batches: how many of
    each, drawn without replacement within a batch by the CPU `generator` (the same seed gives the same
    batches, with a margin or without). The standard error is over batches of this one pool.
    Raises ValueError for an odd size, one that the pool does not fill, and fewer than two batches.
    """
    if batches < 2:
        raise ValueError(f"batches = {batches}: a standard error needs two or more")
    curve = []
    for size in pictures:
        if size < 2 or size % 2 or size // 2 > len(image):
            raise ValueError(
                f"pictures = {size} is not an even number of 2 to {2 * len(image)}, twice the pool"
            )
        means = []
        for _ in range(batches):
            drawn = torch.randperm(len(image), generator=generator)[: size // 2]
            features = (part[drawn.to(part.device)] for part in (image, text, negative_image, negative_text))
            words = None if concreteness is None else concreteness[drawn.to(concreteness.device)]
            with torch.no_grad():
                logits = contrastive_logits(Pairs(*features, concreteness=words), logit_scale, margin)
            means.append(hard_negative_share(logits).mean())
        spread, mean = torch.std_mean(torch.stack(means).double())
        curve.append(BatchShare(size, mean.item(), (spread / batches**0.5).item()))
    return curve


def _own_and_negatives(logits: Tensor) -> tuple[Tensor, Tensor]:
    """s_ii' and log sum over j != i of e^s_ij, each (2N,), in float32 or wider."""
    if logits.ndim != 2 or logits.shape[0] != logits.shape[1] or len(logits) % 2 or len(logits) == 0:
        raise ValueError(f"logits are {tuple(logits.shape)}, expected (2N, 2N)")
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    half = len(logits) // 2
    own = torch.cat([logits.diagonal(half), logits.diagonal(-half)])
    diagonal = torch.eye(len(logits), dtype=torch.bool, device=logits.device)
    return own, logits.masked_fill(diagonal, -torch.inf).logsumexp(1)


def _in_double(pairs: Pairs) -> Pairs:
    """The pairs in float64 and without a mask: the objective that is asked applies its own."""
    names = ("image", "text", "negative_image", "negative_text")
    features = {name: part.double() for name in names if (part := getattr(pairs, name)) is not None}
    return replace(pairs, mask=None, concreteness=None, **features)


def _gradient_at(logits: Tensor, objective: Callable, pairs: Pairs, logit_scale: float) -> Tensor:
    n, k, (rows, captions) = len(pairs.image), pairs.negatives, logits.shape
    image = (logits / logit_scale).requires_grad_()
    text = torch.eye(captions, dtype=logits.dtype, device=logits.device)
    leaves = replace(
        pairs,
        image=image[:n],
        text=text[:n],
        negative_image=image[n:].view(n, k, captions) if rows > n else None,
        negative_text=text[n:].view(n, k, captions) if k else None,
        positive_text=None,
    )
    (gradient,) = torch.autograd.grad(objective(leaves, logit_scale), image)
    return gradient / logit_scale
