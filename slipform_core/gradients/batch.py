"""The hard negative's share in batches of several sizes, drawn from a pool of embedded pairs."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from slipform_core.loss import Pairs


class BatchShare(NamedTuple):
    """The mean share at 2N = `pictures` over batches, and its standard error."""

    pictures: int
    mean: float
    stderr: float


def share_against_batch(
    pool: Pairs,
    share_of: Callable[[Pairs], Tensor],
    *,
    pictures: Sequence[int],
    batches: int,
    generator: torch.Generator,
) -> list[BatchShare]:
    """The mean hard-negative share in random batches of each size: the falling curve of Figure 6.

    share_of: the shares of a batch's rows, those without a gradient NaN, which are left out. pictures: the
    sizes 2N; batches: how many of each, drawn without replacement within a batch by the CPU `generator` (the
    same seed gives the same batches). The standard error is over batches of this one pool.
    Raises ValueError for an odd size, one that the pool does not fill, and fewer than two batches.
    """
    if batches < 2:
        raise ValueError(f"batches = {batches}: a standard error needs two or more")
    curve = []
    for size in pictures:
        means = [share_of(batch).nanmean() for batch in drawn(pool, size, batches, generator)]
        spread, mean = torch.std_mean(torch.stack(means).double())
        curve.append(BatchShare(size, mean.item(), (spread / batches**0.5).item()))
    return curve


def drawn(pool: Pairs, pictures: int, batches: int, generator: torch.Generator) -> list[Pairs]:
    """So many random batches of `pictures` pictures, hard negatives included; errors as above."""
    if pictures < 2 or pictures % 2 or pictures // 2 > len(pool.image):
        raise ValueError(
            f"pictures = {pictures} is not an even number of 2 to {2 * len(pool.image)}, twice the pool"
        )
    orders = (torch.randperm(len(pool.image), generator=generator) for _ in range(batches))
    return [pool.take(order[: pictures // 2]) for order in orders]
