"""InfoNCE with hard negatives, and Cement, which is InfoNCE with a margin on the own hard negative.

N pairs, K hard negatives a pair, D embedding width. The logits are one matrix, pictures in rows and captions
in columns: the N pairs first, then the hard negatives, sample-major (negative k of pair i at N + i K + k).
"""

import math

import torch
from torch import Tensor

from slipform_core.loss.margins import PAPER_MARGIN, Margin
from slipform_core.loss.pairs import Pairs
from slipform_core.loss.softmax import Own, two_way_cross_entropy

DIRECTIONS = ("both", "image_to_text", "text_to_image")


def info_nce(pairs: Pairs, logit_scale: Tensor | float, *, stream: bool | None = None) -> Tensor:
    """InfoNCE over pairs and hard negatives: the mean of image-to-text and text-to-image cross-entropy.

    Without negatives this is CLIP's loss, N x N. With negative captions alone the N pictures choose among
    (1 + K) N captions and the N true captions among N pictures (NegCLIP). With negative pictures too, all
    (1 + K) N pairs are queries and candidates both ways (the paper's 2N x 2N at K = 1; K > 1 is our choice).
    pairs: `positive_text` and `concreteness` are not read. logit_scale: multiplies cosines, a scalar > 0.
    stream: memory linear in N, at one product more; None does so where the matrix would pass 1 GB.
    Returns a scalar in float32 (float64 stays float64), once differentiable. Raises ValueError for another
    logit_scale.
    Source: arXiv 2103.00020, 2210.01936, 2604.13313.
    """
    return contrast(pairs, logit_scale, stream=stream)


def cement(
    pairs: Pairs,
    logit_scale: Tensor | float,
    margin: Margin = PAPER_MARGIN,
    directions: str = "both",
    *,
    stream: bool | None = None,
) -> Tensor:
    """Cement: `info_nce` with a margin, read from the changed word's concreteness, on the own hard negative.

    The margin is in logit units, added after the temperature at (i, i') and (i', i). `directions` says whose
    softmax it is in: "both" (our choice; the paper's summaries leave it open), "image_to_text" or
    "text_to_image". Without negative pictures it is on the own captions, image-to-text only. stream: as in
    `info_nce`.
    Raises ValueError without negative captions, where a margin is NaN or +inf (a concreteness that it needs
    is missing), for unknown directions, and for "text_to_image" without negative pictures.
    Source: arXiv 2604.13313.
    """
    if directions not in DIRECTIONS:
        raise ValueError(f"directions = {directions!r} is none of {', '.join(DIRECTIONS)}")
    if pairs.negatives == 0:
        raise ValueError("cement needs hard negatives, and negative_text is None; info_nce does without them")
    if directions == "text_to_image" and pairs.negative_image is None:
        raise ValueError("directions = 'text_to_image' has nothing to act on: negative_image is None")
    return contrast(pairs, logit_scale, margin, directions=directions, stream=stream)


def contrast(
    pairs: Pairs,
    logit_scale: Tensor | float,
    margin: Margin | None = None,
    *,
    directions: str = "both",
    decoupled: bool = False,
    stream: bool | None = None,
) -> Tensor:
    """What `info_nce`, `cement` and the objectives that contain them share.

    A missing negative is no candidate, no query and no part of the mean.
    """
    n, k = len(pairs.image), pairs.negatives
    images, texts = present(pairs)
    scale = scalar(logit_scale, images[0])
    margins = scale.new_zeros(n, k) if margin is None else _own_margins(pairs, margin, scale)
    owner = torch.arange(n).repeat_interleave(k)
    if pairs.mask is None:
        margins = margins.flatten()
    else:
        owner, margins = owner[pairs.mask.flatten().cpu()], margins[pairs.mask.to(margins.device)]
    of_row = margins if directions != "text_to_image" else torch.zeros_like(margins)
    of_column = margins if directions != "image_to_text" else torch.zeros_like(margins)
    negative = n + torch.arange(len(owner))
    own = Own(owner, negative, of_row, torch.zeros_like(margins))
    if pairs.negative_image is not None:
        entries = ((owner, negative), (negative, owner), (of_row, of_row), (of_column, of_column))
        own = Own(*(torch.cat(both) for both in entries))
    return two_way_cross_entropy(images, texts, scale, own, decoupled=decoupled, stream=stream)


def present(pairs: Pairs) -> tuple[list[Tensor], list[Tensor]]:
    """Pictures and captions: the positives (N, D), then the negatives that are there (M, D), if any."""
    return tuple([part[0], *(_there(negatives, pairs) for negatives in part[1:])] for part in _parts(pairs))


def _there(negatives: Tensor, pairs: Pairs) -> Tensor:
    return negatives if pairs.mask is None else negatives[pairs.mask.flatten().to(negatives.device)]


def contrastive_logits(pairs: Pairs, logit_scale: Tensor | float, margin: Margin | None = None) -> Tensor:
    """The logits of `info_nce`, or with `margin` those of `cement`: pictures in rows, captions in columns.

    Returns ((1 + K) N, (1 + K) N) with negative pictures, (N, (1 + K) N) with negative captions, (N, N) with
    neither; float32 (float64 stays float64), never under autocast. A missing negative is -inf for every
    query, and as a query has its own positive alone, which costs nothing.
    """
    image, text = (torch.cat(part) for part in _parts(pairs))
    with torch.autocast(image.device.type, enabled=False):
        logits = (scalar(logit_scale, image) * image) @ text.T
    if pairs.mask is not None:
        logits.masked_fill_(_missing(pairs, logits), -math.inf)
    if margin is not None:
        for entries in own_entries(logits, pairs):
            entries.add_(_own_margins(pairs, margin, logits))
    return logits


def own_entries(logits: Tensor, pairs: Pairs) -> list[Tensor]:
    """Views of the own hard negatives in a matrix laid out as `contrastive_logits`, each (N, K).

    The first is at (i, i'); with negative pictures a second is at (i', i).
    """
    n, k = len(pairs.image), pairs.negatives
    blocks = [logits[:n, n:]] if len(logits) == n else [logits[:n, n:], logits[n:, :n].T]
    return [block.unflatten(1, (n, k)).diagonal(dim1=0, dim2=1).T for block in blocks]


def _parts(pairs: Pairs) -> tuple[list[Tensor], list[Tensor]]:
    """Pictures and captions, positives (N, D) and then negatives (N K, D), in float32 or wider."""
    images, texts = (pairs.image, pairs.negative_image), (pairs.text, pairs.negative_text)
    dtype = torch.promote_types(torch.promote_types(pairs.image.dtype, pairs.text.dtype), torch.float32)
    return tuple(
        [part.to(dtype).flatten(0, -2) for part in parts if part is not None] for parts in (images, texts)
    )


def _own_margins(pairs: Pairs, margin: Margin, beside: Tensor) -> Tensor:
    """The margin of each negative, (N, K), beside a tensor; 0 where the negative is missing."""
    margins = margin(pairs.negative_concreteness.to(beside.dtype))
    if pairs.mask is not None:
        margins = margins.masked_fill(~pairs.mask.to(margins.device), 0)
    if margins.device.type == "cpu" and not (margins < math.inf).all():
        pair, k = (~(margins < math.inf)).nonzero()[0].tolist()
        raise ValueError(
            f"the margin of pair {pair} is {margins[pair, k].item()}: {margin!r} needs the concreteness of "
            f"the changed word, and it has {pairs.negative_concreteness[pair, k].item():g}"
        )
    return margins.to(beside.device)


def _missing(pairs: Pairs, logits: Tensor) -> Tensor:
    """Bool like the logits: the rows and columns of missing negatives, without their own positives.

    A row of nothing but -inf would make NaN; with its positive alone its cross-entropy and gradient are 0.
    """
    present = torch.ones(len(pairs.image), dtype=torch.bool, device=logits.device)
    absent = ~torch.cat([present, pairs.mask.to(logits.device).flatten()])
    missing = absent[: len(logits), None] | absent[None, :]
    missing.diagonal().fill_(False)
    return missing


def scalar(logit_scale: Tensor | float, beside: Tensor) -> Tensor:
    """The logit scale (), of the type and on the device of a tensor; ValueError for what is no scale."""
    if isinstance(logit_scale, Tensor):
        if logit_scale.numel() != 1:
            raise ValueError(f"logit_scale is {tuple(logit_scale.shape)}, expected a scalar")
        return logit_scale.to(beside).reshape(())
    if not 0 < logit_scale < math.inf:
        raise ValueError(f"logit_scale = {logit_scale} is the multiplier of cosines, expected > 0 and finite")
    return beside.new_tensor(logit_scale)
