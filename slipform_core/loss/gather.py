"""Pairs of all ranks, with gradients: the loss and its gradients are those of a single process.

W ranks with B pairs each.
"""

import torch
from torch import Tensor, distributed

from slipform_core.loss.pairs import Pairs


def gather_pairs(pairs: Pairs) -> Pairs:
    """The pairs of all ranks, rank by rank, each field by itself, so that positives stay before negatives.

    Each rank then computes the loss of all W B pairs, and under DistributedDataParallel, which averages over
    ranks, the gradients of the weights are those of one process with W B pairs. B is the same on each rank,
    and a field is given on all or none. Without a process group, or with one rank, the pairs as they are.
    """
    if (
        not distributed.is_available()
        or not distributed.is_initialized()
        or distributed.get_world_size() == 1
    ):
        return pairs
    return pairs.each(lambda value: _gather(value, pairs.image.device))


def _gather(value: Tensor, device: torch.device) -> Tensor:
    """All ranks' values, on the device that this one came from: nccl has no collectives in host memory."""
    there = value.to(device)
    if there.dtype == torch.bool:
        return _Gather.apply(there.to(torch.uint8)).bool().to(value.device)
    return _Gather.apply(there).to(value.device)


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value: Tensor) -> Tensor:
        parts = [torch.empty_like(value) for _ in range(distributed.get_world_size())]
        distributed.all_gather(parts, value.contiguous())
        return torch.cat(parts)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:
        # Each rank has the whole loss, so its gradient needs no exchange; the ranks are averaged later.
        ranks = distributed.get_world_size()
        return gradient.chunk(ranks)[distributed.get_rank()] * ranks
