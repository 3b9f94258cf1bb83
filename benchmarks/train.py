"""Training steps a second: our tiny CLIP's step against open_clip's defaults, interleaved, on one thread.

Both see the same batches of the embedded world from the same weights, and their first losses must agree. The
defaults are open_clip's residual block, its text encoder on all tokens, `ClipLoss` and torch's AdamW. Time is
CPU time, so that neighbours matter less: `OMP_NUM_THREADS=1 python benchmarks/train.py --out
results/benchmarks/train.json`.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from itertools import count
from pathlib import Path
from time import process_time
from typing import Any

import torch
from report import publish, ratio, take_turns

from slipform_core import config
from slipform_core.config import Experiment
from slipform_core.data import Pool, caption_pool
from slipform_core.loss import info_nce
from slipform_core.models import MODELS, Clip, WordTokenizer
from slipform_core.sources import WorldSource
from slipform_core.trainer import MAX_LOG_SCALE, Towers, encode, make_optimizer

PARAMS = Path(__file__).parent.parent / "notebooks" / "params"


@dataclass(frozen=True)
class Contestant:
    """A model's loss on batch `step`, and its optimiser."""

    model: torch.nn.Module
    loss: Callable[[int], torch.Tensor]
    optimizer: torch.optim.Optimizer

    def step(self, step: int, clip_at: float) -> float:
        loss = self.loss(step)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), clip_at)
        self.optimizer.step()
        with torch.no_grad():
            self.model.logit_scale.clamp_(0, MAX_LOG_SCALE)
        return loss.item()


def ours(clip: Clip, pool: Pool, experiment: Experiment) -> Contestant:
    given, towers = experiment.pretrain, Towers(clip)

    def loss(step: int) -> torch.Tensor:
        pairs, scale = encode(towers, pool.batch(step, given.pictures, seed=given.seed))
        return info_nce(pairs, scale)

    return Contestant(clip.model, loss, make_optimizer(clip.model, given))


def defaults(clip: Clip, pool: Pool, experiment: Experiment) -> Contestant:
    """The same architecture and weights with open_clip's default block, encoder, loss and optimiser."""
    import open_clip  # after our models, see torchvision_import

    given = experiment.pretrain
    settings = json.loads((files("slipform_core") / f"models/configs/{experiment.model}.json").read_text())
    del settings["custom_text"]
    for tower in ("vision_cfg", "text_cfg"):
        del settings[tower]["block_type"]
    model = open_clip.CustomTextCLIP(**settings)
    model.load_state_dict(clip.model.state_dict())
    criterion = open_clip.loss.ClipLoss()

    def loss(step: int) -> torch.Tensor:
        batch = pool.batch(step, given.pictures, seed=given.seed)
        return criterion(*model(clip.preprocess(torch.from_numpy(batch.pictures)), batch.tokens))

    weights = {"lr": given.learning_rate, "weight_decay": given.weight_decay}
    return Contestant(model, loss, torch.optim.AdamW(model.parameters(), **weights))


def measure(experiment: Experiment, blocks: int, steps: int) -> dict[str, Any]:
    """Pairs a second of CPU of both, and their ratio: the median over blocks that take turns."""
    source = WorldSource(experiment)
    captions = list(source.captions("pretrain"))
    clip = MODELS[experiment.model](WordTokenizer.count(caption.text for caption in captions), seed=0)
    pool = caption_pool(captions, source.picture, clip.tokenize)
    contestants = {make.__name__: make(clip, pool, experiment) for make in (defaults, ours)}
    first = {name: one.step(0, experiment.pretrain.gradient_clip) for name, one in contestants.items()}
    if abs(first["ours"] - first["defaults"]) > 1e-4:
        raise AssertionError(f"the two do not compute the same loss: {first}")

    def block(one: Contestant) -> None:
        for _ in range(steps):
            one.step(next(counted[one.model]), experiment.pretrain.gradient_clip)

    counted = {one.model: count(1) for one in contestants.values()}
    seconds = take_turns(
        {name: partial(block, one) for name, one in contestants.items()}, blocks, process_time
    )
    pairs = blocks * steps * experiment.pretrain.pictures
    return {
        "parameters": sum(weight.numel() for weight in clip.model.parameters()),
        "pairs a step": experiment.pretrain.pictures,
        "pairs a second, defaults": round(pairs / sum(seconds["defaults"])),
        "pairs a second, ours": round(pairs / sum(seconds["ours"])),
        "faster": ratio(seconds["defaults"], seconds["ours"]),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--blocks", type=int, default=8, help="turns that the two take")
    parser.add_argument("--steps", type=int, default=4, help="training steps a turn")
    parser.add_argument("--out", type=Path, help="a results file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    given = config.load("mini", "world.pretrain_scenes=600", PARAMS)
    publish(measure(given, options.blocks, options.steps), options.out)
