"""One GPU, no downloads, minutes: the training step of ViT-B-32, and the losses, ours beside open_clip's own.

    python benchmarks/h200.py --out results/benchmarks/h200.json

The step has 2N pictures at 224 pixels and 2N captions, bfloat16 autocast, AdamW, random weights and pixels.
Lengths of captions are drawn like COCO's (13.5 tokens on average, 58 at most), or taken from `--data`, a
captions_*.json of COCO. `utilisation` is the counted work of the step at 77 tokens over its time and over
`--peak` TFLOP/s: with shorter texts it says how fast the same step is made, not how busy the device is, which
`utilisation of own work` says.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from report import publish, ratio, take_turns
from torch.nn.functional import normalize
from torch.utils.flop_counter import FlopCounterMode

import slipform_core.torchvision_import  # noqa: F401, before open_clip
from slipform_core.config import Training
from slipform_core.data import Batch
from slipform_core.loss import Pairs, cement
from slipform_core.models import Clip, from_open_clip
from slipform_core.models.clip import BUCKETS
from slipform_core.trainer import Towers, make_optimizer
from slipform_core.trainer.towers import backward

LOSS_SIZES = (2048, 8192, 16384, 32768, 65536)
SETTINGS = Training(
    steps=100,
    pictures=2048,
    learning_rate=1e-5,
    weight_decay=0.1,
    warmup=10,
    gradient_clip=1.0,
    checkpoint_every=100,
    seed=0,
)


def lengths(count: int, data: Path | None, tokenize: Callable) -> np.ndarray:
    """Tokens of so many captions, begin and end included."""
    rng = np.random.default_rng(0)
    if data:
        texts = [row["caption"] for row in json.loads(data.read_text())["annotations"][: 4 * count]]
        found = tokenize(texts).argmax(-1).numpy() + 1
        return rng.choice(found, count)
    return np.clip(7 + rng.gamma(2.5, 2.6, count).round(), 7, 58).astype(int)


def batch(size: int, model: torch.nn.Module, found: np.ndarray, side: int) -> Batch:
    """Random pictures and texts of these lengths, half of them hard negatives."""
    rng = np.random.default_rng(1)
    tokens = torch.zeros(size, model.context_length, dtype=torch.long)
    for row, length in enumerate(found):
        tokens[row, :length] = torch.from_numpy(rng.integers(1, model.vocab_size - 2, length))
        tokens[row, length - 1] = model.vocab_size - 1
    pictures = rng.integers(256, size=(size, side, side, 3), dtype=np.uint8)
    half = size // 2
    words = torch.from_numpy(rng.uniform(1, 5, half))
    return Batch(pictures[:half], tokens[:half], pictures[half:], tokens[half:], words)


def half(device: torch.device) -> bool:
    """Processors emulate bfloat16, slowly: a dry run on one is in float32."""
    return device.type == "cuda"


def clip_of(name: str, device: str, buckets: tuple[int, ...]) -> Clip:
    return replace(from_open_clip(name, device=device), buckets=buckets)


def our_step(clip: Clip, given: Batch, compiled: bool) -> Callable[[], None]:
    precision = "bfloat16" if half(clip.device) else None
    towers, optimizer = Towers(clip, precision), make_optimizer(clip.model, SETTINGS)
    if compiled:
        towers.compile()

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        backward(towers, given, cement, None)
        torch.nn.utils.clip_grad_norm_(clip.model.parameters(), SETTINGS.gradient_clip)
        optimizer.step()

    return step


def their_step(clip: Clip, given: Batch) -> Callable[[], None]:
    """As open_clip's training loop makes it: all tokens, ClipLoss under autocast, plain AdamW."""
    import open_clip

    pictures = torch.from_numpy(np.concatenate([given.pictures, given.negative_pictures]))
    tokens = torch.cat([given.tokens, given.negative_tokens])
    criterion = open_clip.loss.ClipLoss()
    optimizer = torch.optim.AdamW(clip.model.parameters(), lr=SETTINGS.learning_rate)
    device = clip.device

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device.type, torch.bfloat16, enabled=half(device)):
            out = clip.model(clip.preprocess(pictures.to(device)), tokens.to(device))
            loss = criterion(*out[:3])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(clip.model.parameters(), SETTINGS.gradient_clip)
        optimizer.step()

    return step


def clock_of(device: str) -> Callable[[], float]:
    """Seconds, when all that was asked of the device is done."""

    def clock() -> float:
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    return clock


def work(step: Callable[[], None]) -> int:
    """Counted floating-point operations of a step."""
    with FlopCounterMode(display=False) as counter:
        step()
    return counter.get_total_flops()


def measure_steps(options: argparse.Namespace) -> dict[str, Any]:
    """Seconds, ratios to open_clip's step, and utilisation."""
    whole = clip_of(options.model, options.device, (77,))
    side, model = whole.model.visual.image_size[0], whole.model
    given = batch(options.pictures, model, lengths(options.pictures, options.data, whole.tokenize), side)
    contestants = {
        "open_clip": their_step(whole, given),
        "ours, 77 tokens": our_step(clip_of(options.model, options.device, (77,)), given, False),
        "ours, buckets": our_step(clip_of(options.model, options.device, BUCKETS), given, False),
    }
    counted = {name: work(step) for name, step in contestants.items()}
    if options.device == "cuda":
        name = "ours, buckets, compiled"
        contestants[name] = our_step(clip_of(options.model, options.device, BUCKETS), given, True)
        counted[name] = counted["ours, buckets"]
    seconds = take_turns(contestants, options.rounds, clock_of(options.device))
    at_77, buckets = counted["open_clip"], ratio(seconds["ours, 77 tokens"], seconds["ours, buckets"])
    values: dict[str, Any] = {
        "buckets, faster than 77 tokens": buckets,
        "model": options.model,
        "pictures": options.pictures,
        "tflop at 77 tokens": round(at_77 / 1e12, 3),
    }
    for name, taken in seconds.items():
        middle = statistics.median(taken)
        values[name] = {
            "seconds": round(middle, 4),
            "faster": ratio(seconds["open_clip"], taken),
            "utilisation": round(at_77 / middle / options.peak / 1e12, 4),
            "utilisation of own work": round(counted[name] / middle / options.peak / 1e12, 4),
        }
    return values


def measure_losses(options: argparse.Namespace) -> dict[str, Any]:
    """Time and memory of ClipLoss, Cement and streamed Cement; what does not fit is named."""
    import open_clip

    values: dict[str, Any] = {}
    for size in options.losses:
        generator = torch.Generator().manual_seed(0)
        image, text = (
            normalize(torch.randn(size, 512, generator=generator), dim=-1).to(options.device).requires_grad_()
            for _ in range(2)
        )
        half, scale = size // 2, torch.tensor(50.0, device=options.device, requires_grad=True)
        words = 1 + 4 * torch.rand(half, generator=generator)
        halves = (image[:half], text[:half], image[half:], text[half:])
        pairs = Pairs(*(part.detach().clone().requires_grad_() for part in halves), words)
        theirs = open_clip.loss.ClipLoss()
        runs = {
            "clip_loss": partial(backward_of, theirs, image, text, scale),
            "cement": partial(backward_of, partial(cement, stream=False), pairs, scale),
            "streamed": partial(backward_of, partial(cement, stream=True), pairs, scale),
        }
        values[str(size)] = {}
        for name, run in runs.items():
            try:
                seconds = take_turns({name: run}, options.rounds, clock_of(options.device))[name]
            except torch.OutOfMemoryError:
                values[str(size)][name] = "left out, no memory"
                continue
            values[str(size)][name] = {"seconds": round(statistics.median(seconds), 5), "bytes": held(run)}
    return values


def backward_of(loss: Callable[..., torch.Tensor], *given: Any) -> None:
    loss(*given).backward()


def held(run: Callable[[], None]) -> int | None:
    """Bytes of the device that a loss needs beside its features."""
    if not torch.cuda.is_available():
        return None
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    run()
    return torch.cuda.max_memory_allocated() - before


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", default="ViT-B-32", help="a name that open_clip knows")
    parser.add_argument("--pictures", type=int, default=2048, help="2N of the step")
    parser.add_argument("--losses", type=int, nargs="*", default=LOSS_SIZES, help="2N of the losses")
    parser.add_argument("--rounds", type=int, default=8, help="turns that count")
    parser.add_argument(
        "--peak", type=float, default=790.0, help="TFLOP/s of the device in bfloat16, measured"
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument(
        "--data", type=Path, help="a captions_*.json of COCO, for the lengths of its captions"
    )
    parser.add_argument("--out", type=Path, help="a results file")
    given = parser.parse_args()
    publish({"step": measure_steps(given), "loss": measure_losses(given)}, given.out)
