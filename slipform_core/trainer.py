"""Training: AdamW, warm-up and cosine, clipped gradients, clamped logit scale; exact resume after a kill."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from slipform_core import progress
from slipform_core.config import Training
from slipform_core.data import Batch, Pool
from slipform_core.files import write_text
from slipform_core.gradients import hard_negative_share
from slipform_core.loss import Margin, Pairs, contrastive_logits
from slipform_core.models import Clip, save_weights

MAX_LOG_SCALE = math.log(100)
BETAS = (0.9, 0.98)


def learning_rate(step: int, settings: Training) -> float:
    """Linear warm-up over `warmup` steps, never zero, then a cosine that reaches zero after the last step."""
    if step < settings.warmup:
        return settings.learning_rate * (step + 1) / settings.warmup
    done = (step - settings.warmup) / max(settings.steps - settings.warmup, 1)
    return settings.learning_rate * 0.5 * (1 + math.cos(math.pi * done))


def make_optimizer(model: nn.Module, settings: Training) -> torch.optim.AdamW:
    """AdamW that decays matrices only: not biases, norms, positions, nor the logit scale, as in open_clip."""
    decay, rest = [], []
    for name, weight in model.named_parameters():
        plain = weight.ndim < 2 or "positional_embedding" in name
        (rest if plain else decay).append(weight)
    groups = [{"params": decay, "weight_decay": settings.weight_decay}, {"params": rest, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, betas=BETAS, fused=True)


def encode(clip: Clip, batch: Batch) -> Pairs:
    """The pairs of a batch, each tower run once over originals and hard negatives together."""
    size = len(batch.pictures)
    if batch.negative_tokens is None:
        return Pairs(clip.encode_image(batch.pictures), clip.encode_text(batch.tokens))
    images = clip.encode_image(np.concatenate([batch.pictures, batch.negative_pictures]))
    texts = clip.encode_text(torch.cat([batch.tokens, batch.negative_tokens]))
    return Pairs(images[:size], texts[:size], images[size:], texts[size:], batch.concreteness)


class _Run:
    """The state of one training and its files: `checkpoint.pt` and `log.jsonl`."""

    def __init__(self, clip: Clip, settings: Training, folder: Path):
        self.clip, self.settings, self.folder = clip, settings, folder
        self.optimizer = make_optimizer(clip.model, settings)
        folder.mkdir(parents=True, exist_ok=True)
        self.step = self._resume()

    def _resume(self) -> int:
        checkpoint, log = self.folder / "checkpoint.pt", self.folder / "log.jsonl"
        if not checkpoint.is_file():
            log.unlink(missing_ok=True)
            return 0
        state = torch.load(checkpoint, weights_only=True)
        self.clip.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        lines = log.read_text().splitlines(keepends=True)[: state["step"]]
        write_text(log, "".join(lines))
        return state["step"]

    def save(self) -> None:
        state = {
            "model": self.clip.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
        }
        partial = self.folder / "checkpoint.pt.partial"
        torch.save(state, partial)
        partial.replace(self.folder / "checkpoint.pt")

    def advance(self, loss: Tensor) -> dict[str, float]:
        """One step of the optimiser; the learning rate, the gradient's norm and the scale after it."""
        rate = learning_rate(self.step, self.settings)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.clip.model.parameters(), self.settings.gradient_clip)
        self.optimizer.step()
        with torch.no_grad():
            self.clip.model.logit_scale.clamp_(0, MAX_LOG_SCALE)
        self.step += 1
        return {"learning_rate": rate, "gradient_norm": norm.item(), "scale": self.clip.logit_scale.item()}


def train(
    clip: Clip,
    pool: Pool,
    objective: Callable[[Pairs, Tensor], Tensor],
    settings: Training,
    *,
    folder: Path,
    name: str,
    margin: Margin | None = None,
) -> Path:
    """Train `clip` in place on batches of `pool`; the path of the weights, safetensors.

    objective: a loss of `pairs` and the logit scale. margin: the objective's own, for the logged share of the
    hard negative. name: on the progress bar. A batch holds `settings.pictures` pictures, half of them hard
    negatives where the pool has them. `log.jsonl` has a line a step: loss, share, scale, learning rate,
    gradient norm. A folder with a checkpoint is resumed, to the same weights. Raises ValueError when a batch
    is larger than the pool, FloatingPointError when the loss is not finite.
    """
    run = _Run(clip, settings, folder)
    weights = folder / "weights.safetensors"
    size = settings.pictures if pool.negative_tokens is None else settings.pictures // 2
    clip.model.train()
    bar = progress.bar(initial=run.step, total=settings.steps, desc=name, unit="step")
    with (folder / "log.jsonl").open("a") as log, bar:
        while run.step < settings.steps:
            pairs = encode(clip, pool.batch(run.step, size, seed=settings.seed))
            loss = objective(pairs, clip.logit_scale)
            line = {"step": run.step, "loss": loss.item()}
            if not math.isfinite(line["loss"]):
                raise FloatingPointError(f"the loss of {name} is {line['loss']} at step {run.step}")
            if pairs.negatives:
                with torch.no_grad():
                    logits = contrastive_logits(pairs, clip.logit_scale, margin)
                line["share"] = hard_negative_share(logits).mean().item()
            log.write(json.dumps(line | run.advance(loss)) + "\n")
            bar.update()
            if run.step % settings.checkpoint_every == 0:
                log.flush()
                run.save()
    clip.model.eval()
    save_weights(clip.model, weights)
    (folder / "checkpoint.pt").unlink(missing_ok=True)
    return weights
