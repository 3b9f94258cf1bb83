"""Processes that train together, as torchrun starts them."""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import distributed
from torch.distributed.rendezvous import rendezvous


class Rank(NamedTuple):
    """This process among `count`."""

    index: int
    count: int


@contextmanager
def ranks() -> Iterator[Rank]:
    """Join the processes that torchrun started, or be the only one; the group is left at the end."""
    if "RANK" not in os.environ:
        yield Rank(0, 1)
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    store, index, count = next(rendezvous("env://"))
    # After a restart torchrun may give the same store, in which the dead ranks' addresses still stand.
    store = distributed.PrefixStore(f"attempt {os.environ.get('TORCHELASTIC_RESTART_COUNT', 0)}", store)
    distributed.init_process_group(backend, store=store, rank=index, world_size=count)
    try:
        yield current()
    finally:
        gc.collect()  # DistributedDataParallel lies in cycles, and must not outlive the group
        distributed.destroy_process_group()


def current() -> Rank:
    """This process's rank; 0 of 1 where none were joined."""
    if not distributed.is_available() or not distributed.is_initialized():
        return Rank(0, 1)
    return Rank(distributed.get_rank(), distributed.get_world_size())


def any_rank(asked: bool, device: torch.device) -> bool:
    """Whether any rank asks; all get the same answer."""
    if current().count == 1:
        return asked
    flag = torch.tensor(float(asked), device=device)
    distributed.all_reduce(flag, distributed.ReduceOp.MAX)
    return flag.item() > 0


def wait() -> None:
    """Until all ranks are here."""
    if current().count > 1:
        distributed.barrier()
