"""Time and memory of our losses against open_clip's ClipLoss, on one thread.

All get the same 2N pictures and captions and compute the gradients of the features. Contestants: `clip_loss`
is open_clip's; `naive` is Cement as it is first written, with torch's cross-entropy; `cement` keeps the
matrix; `streamed` holds some rows at a time. Time is CPU time in turns; memory is the highest resident size
of a process of its own, less what it had before: `OMP_NUM_THREADS=1 python benchmarks/loss.py --out
results/benchmarks/loss.json`.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time

import torch
from report import publish, ratio, take_turns
from torch.nn.functional import cross_entropy, normalize

from slipform_core.loss import Pairs, cement, fermi_dirac_margin

SIZES = (2048, 8192)
WIDTH = 512
MARGIN = fermi_dirac_margin(low=-2, high=2, midpoint=4, width=0.15)
MATRICES = {"clip_loss": 4.5, "naive": 6, "cement": 1.5, "streamed": 0.25}  # held at once, at most


def contestants(size: int) -> dict[str, Callable[[], None]]:
    """Each computes the loss of `size` pictures and captions, half of them hard negatives, and gradients."""
    import slipform_core.torchvision_import  # noqa: F401, I001, before open_clip
    import open_clip

    generator = torch.Generator().manual_seed(0)
    image, text = (
        normalize(torch.randn(size, WIDTH, generator=generator), dim=-1).requires_grad_() for _ in range(2)
    )
    words = 1 + 4 * torch.rand(size // 2, generator=generator)
    scale, half = torch.tensor(50.0, requires_grad=True), size // 2
    theirs = open_clip.loss.ClipLoss()
    pairs = Pairs(*leaves(image[:half], text[:half], image[half:], text[half:]), words)

    def naive() -> None:
        logits = scale * image @ text.T
        margins = torch.zeros_like(logits)
        rows = torch.arange(size)
        margins[rows, (rows + half) % size] = MARGIN(words).repeat(2)
        logits = logits + margins
        target = torch.arange(size)
        ((cross_entropy(logits, target) + cross_entropy(logits.T, target)) / 2).backward()

    return {
        "clip_loss": lambda: theirs(image, text, scale).backward(),
        "naive": naive,
        "cement": lambda: cement(pairs, scale, stream=False).backward(),
        "streamed": lambda: cement(pairs, scale, stream=True).backward(),
    }


def leaves(*features: torch.Tensor) -> list[torch.Tensor]:
    return [part.detach().clone().requires_grad_() for part in features]


def memory(name: str, size: int) -> int:
    """Bytes that a contestant needs beside its features, in this process."""
    run = contestants(size)[name]
    contestants(64)[name]()  # what is made once
    Path("/proc/self/clear_refs").write_text("5")  # the highest size begins anew: imports had a higher one
    before = resident("VmRSS")
    run()
    return resident("VmHWM") - before


def resident(which: str) -> int:
    """Bytes of this process in memory, now (VmRSS) or at most (VmHWM), as Linux says."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return 1024 * int(lines[which].split()[0])


def memory_apart(name: str, size: int) -> int:
    command = [sys.executable, __file__, "--memory", name, "--sizes", str(size)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def room() -> int:
    """Bytes of memory that are free."""
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def measure(size: int, rounds: int) -> dict[str, dict]:
    """Ratios to ClipLoss; what does not fit is left out and named."""
    fits = {name for name, matrices in MATRICES.items() if 4 * size**2 * matrices < 0.8 * room()}
    left_out = sorted(MATRICES.keys() - fits)
    if "clip_loss" not in fits:
        return {"left out, no memory": left_out}
    runs = {name: run for name, run in contestants(size).items() if name in fits}
    seconds = take_turns(runs, rounds, process_time)
    held = {name: memory_apart(name, size) for name in runs}
    values = {
        name: {
            "seconds": round(min(seconds[name]), 3),
            "time": ratio(seconds[name], seconds["clip_loss"]),
            "bytes": held[name],
            "memory": round(held[name] / held["clip_loss"], 3),
        }
        for name in runs
    }
    return values | ({"left out, no memory": left_out} if left_out else {})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=SIZES, help="pictures, hard negatives included"
    )
    parser.add_argument("--rounds", type=int, default=5, help="turns that count")
    parser.add_argument("--out", type=Path, help="a results file")
    parser.add_argument("--memory", choices=MATRICES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.memory:
        print(memory(options.memory, *options.sizes))
    else:
        publish({str(size): measure(size, options.rounds) for size in options.sizes}, options.out)
