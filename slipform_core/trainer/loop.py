"""The loop: a batch, its gradients, a step, a line in the log; checkpoints, evaluations, a clean stop."""

import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from slipform_core import progress
from slipform_core.config import Training
from slipform_core.data import Batch, Pool
from slipform_core.gradients import share_and_budget
from slipform_core.loss import Margin, Objective, Pairs, contrastive_logits, gather_pairs, needs_teacher
from slipform_core.models.clip import Clip
from slipform_core.models.weights import save_weights
from slipform_core.trainer import checkpoint
from slipform_core.trainer.log import Log
from slipform_core.trainer.optimizer import MAX_LOG_SCALE, learning_rate, make_optimizer
from slipform_core.trainer.ranks import any_rank, current, wait
from slipform_core.trainer.towers import Towers, backward, taught

FLUSH = 10  # steps between looks at what an accelerator has computed: a look a step would stall it
LOGGED = 2**13  # pictures whose matrix is computed once more for the log
COLLAPSED = 0.5  # of the first accuracy, our choice


class Stopped(SystemExit):
    """SIGTERM came: the checkpoint is written, and the same call goes on from there."""


def train(
    clip: Clip,
    pool: Pool,
    objective: Objective,
    settings: Training,
    *,
    folder: Path,
    name: str,
    margin: Margin | None = None,
    evaluate: Callable[[Clip], float] | None = None,
) -> Path:
    """Train `clip` in place on batches of `pool`; the path of the weights, safetensors.

    objective: a loss of `pairs` and the logit scale; a module's weights are learnt and its state is kept.
    margin: the objective's own, for the logged shares. name: on the progress bar. evaluate: an accuracy of
    the model, asked for every `settings.evaluate_every` steps. A batch holds `settings.pictures` pictures
    over all ranks, half of them hard negatives where the pool has them.

    `log.jsonl` has a line a step: loss, the hard negative's share and its part of the gradient budget in the
    softmax over the batch (what an objective adds to that has no part in them), learning rate, gradient norm,
    scale; `evaluations.jsonl` one an evaluation. A folder with a checkpoint is
    resumed, to the same weights. With `settings.ema` the averaged weights are in `average.safetensors`, and
    an objective's own in `objective.safetensors`.
    Raises ValueError when a batch is larger than the pool or no multiple of the ranks, FloatingPointError
    when the loss is not finite, Stopped after SIGTERM. Warns when the accuracy falls below half of the first.
    """
    training = _Training(clip, pool, objective, settings, folder, name)
    with _sigterm() as asked:
        training.run(asked, margin, evaluate)
    return training.finish()


class _Training:
    """The state of one training, and its files."""

    def __init__(
        self, clip: Clip, pool: Pool, objective: Objective, settings: Training, folder: Path, name: str
    ):
        self.clip, self.pool, self.objective, self.settings = clip, pool, objective, settings
        self.folder, self.name, self.rank = folder, name, current()
        self.size = settings.pictures if pool.negative_tokens is None else settings.pictures // 2
        if self.size % self.rank.count:
            raise ValueError(f"a batch of {self.size} pairs cannot be divided among {self.rank.count} ranks")
        if needs_teacher(objective) and settings.ema is None:
            raise ValueError(
                f"the loss of {name} learns from the averaged model: give ema (0.9996 in its paper)"
            )
        learnt = {"objective": objective} if isinstance(objective, nn.Module) else {}
        self.optimizer = make_optimizer(clip.model, settings, *learnt.values())
        self.state = {"model": clip.model, "optimizer": self.optimizer} | learnt
        self.average = None
        if settings.ema is not None:
            self.state["average"] = self.average = _average(clip.model, settings.ema)
        self.teacher = None
        if needs_teacher(objective):
            self.teacher = Towers(replace(clip, model=self.average.module), settings.precision)
        folder.mkdir(parents=True, exist_ok=True)
        self.log, self.evaluations = (
            Log(folder / f"{kind}.jsonl", of=name, writes=self.rank.index == 0)
            for kind in ("log", "evaluations")
        )
        self.step = self._resume()
        self.towers = self._parallel(Towers(clip, settings.precision))

    def _resume(self) -> int:
        kept = checkpoint.load(self.folder, self.settings)
        step = kept["step"] if kept else 0
        for name, part in self.state.items() if kept else ():
            part.load_state_dict(kept[name])
        self.log.cut(step)
        self.evaluations.cut(step + 1 if kept else 0)
        wait()
        return step

    def _parallel(self, towers: nn.Module) -> nn.Module:
        if self.settings.compile:
            towers.compile(mode=self.settings.compile)
        if self.rank.count == 1:
            return towers
        device = self.clip.device
        return DistributedDataParallel(towers, [device.index] if device.type == "cuda" else None)

    def run(self, asked: threading.Event, margin: Margin | None, evaluate: Callable | None) -> None:
        every = self.settings.evaluate_every if evaluate else None
        self.clip.model.train()
        if every and self.step == 0:
            self._evaluate(evaluate)
        with progress.bar(initial=self.step, total=self.settings.steps, desc=self.name, unit="step") as bar:
            while self.step < self.settings.steps:
                self._advance(margin)
                bar.update()
                due = self.step % self.settings.checkpoint_every == 0
                if due or self.step % FLUSH == 0 or self.step == self.settings.steps:
                    self.log.flush()
                    if any_rank(asked.is_set(), self.clip.device):
                        self.save()
                        raise Stopped(f"{self.name} was stopped at step {self.step}; run it again to go on")
                if every and self.step % every == 0:
                    self._evaluate(evaluate)
                if due:
                    self.save()

    def _advance(self, margin: Margin | None) -> None:
        """One step."""
        rate = learning_rate(self.step, self.settings)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        batch = self.pool.batch(self.step, self.size, seed=self.settings.seed, part=self.rank)
        loss = backward(self.towers, batch, partial(self._loss, batch), self.settings.chunk)
        line = {"step": self.step, "loss": loss} | self._shares(margin)
        weights = [weight for group in self.optimizer.param_groups for weight in group["params"]]
        norm = nn.utils.clip_grad_norm_(weights, self.settings.gradient_clip)
        self.optimizer.step()
        with torch.no_grad():
            self.clip.model.logit_scale.clamp_(0, MAX_LOG_SCALE)
        if self.average:
            self.average.update_parameters(self.clip.model)
        self.step += 1
        scale = self.clip.logit_scale.detach()
        self.log.add(line | {"learning_rate": rate, "gradient_norm": norm, "scale": scale})

    def _loss(self, batch: Batch, pairs: Pairs, scale: Tensor) -> Tensor:
        self.pairs, self.scale = gather_pairs(taught(pairs, self.teacher, batch)), scale
        return self.objective(self.pairs, scale)

    @torch.no_grad()
    def _shares(self, margin: Margin | None) -> dict[str, Tensor]:
        """The hard negative's mean share of a row's gradient, and its part of the whole batch's."""
        pairs = self.pairs
        if pairs.negative_image is None or pairs.negatives != 1 or 2 * len(pairs.image) > LOGGED:
            return {}
        shares, budget = share_and_budget(contrastive_logits(pairs, self.scale, margin))
        return {"share": shares.mean(), "budget": budget.own_negative}

    def _evaluate(self, evaluate: Callable[[Clip], float]) -> None:
        if self.rank.index == 0:
            self.clip.model.eval()
            with torch.random.fork_rng(), torch.no_grad():
                accuracy = evaluate(self.clip)
            self.clip.model.train()
            self.evaluations.add({"step": self.step, "accuracy": accuracy})
            self.evaluations.flush()
            first = self.evaluations.read()[0]["accuracy"]
            if accuracy < COLLAPSED * first:
                warnings.warn(
                    f"{self.name}: the accuracy fell from {first:.3f} to {accuracy:.3f} at step {self.step}",
                    stacklevel=2,
                )
        wait()

    def save(self) -> None:
        if self.rank.index == 0:
            state = {name: part.state_dict() for name, part in self.state.items()}
            checkpoint.save(self.folder, step=self.step, settings=self.settings.model_dump(), **state)
        wait()

    def finish(self) -> Path:
        weights = self.folder / "weights.safetensors"
        self.clip.model.eval()
        if self.rank.index == 0:
            if self.average:
                save_weights(self.average.module, self.folder / "average.safetensors")
            if "objective" in self.state:
                save_weights(self.objective, self.folder / "objective.safetensors")
            save_weights(self.clip.model, weights)
            (self.folder / checkpoint.NAME).unlink(missing_ok=True)
        wait()
        return weights


def _average(model: nn.Module, decay: float) -> AveragedModel:
    """The exponential moving average of the weights, begun at what they are now."""
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(decay)).requires_grad_(False)
    average.n_averaged.fill_(1)  # 0 would let the first update overwrite the beginning
    return average


@contextmanager
def _sigterm() -> Iterator[threading.Event]:
    """An event that SIGTERM sets; only the main thread may ask for signals."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = signal.signal(signal.SIGTERM, lambda *_: asked.set())
    try:
        yield asked
    finally:
        signal.signal(signal.SIGTERM, before)
