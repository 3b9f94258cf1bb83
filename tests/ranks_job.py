"""What each rank of a torchrun runs: `train` on the toy task; rank 1 may die once, at a step."""

import os
import sys
from pathlib import Path

import torch
from toy_task import fresh, run, settings

from slipform_core.loss import make_objective
from slipform_core.trainer import ranks


def double(objective):
    return objective.double() if isinstance(objective, torch.nn.Module) else objective


def in_double(folder: Path, objective, **changes) -> None:
    """In float32 AdamW makes whole steps of what rounding leaves of a gradient that is zero."""
    clip = fresh()
    clip.model.double()
    run(folder, settings(steps=6, ema=0.9, **changes), objective, clip=clip)


def main(folder: Path, loss: str, chunk: str, dies_at: str) -> None:
    torch.set_num_threads(1)
    died = folder / "died"
    objective = double(make_objective(loss))
    left = int(dies_at) if dies_at and not died.exists() else -1

    def dying(pairs, scale):
        nonlocal left
        if left == 0 and os.environ["RANK"] == "1":
            died.touch()
            os._exit(1)
        left -= 1
        return objective(pairs, scale)

    with ranks():
        in_double(folder, dying if dies_at else objective, chunk=int(chunk) if chunk else None)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
