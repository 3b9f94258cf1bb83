"""The optimiser and its schedule."""

import math

import torch
from torch import nn

from slipform_core.config import Training

MAX_LOG_SCALE = math.log(100)
BETAS = (0.9, 0.98)


def learning_rate(step: int, settings: Training) -> float:
    """Linear warm-up over `warmup` steps, never zero, then a cosine that reaches zero after the last step."""
    if step < settings.warmup:
        return settings.learning_rate * (step + 1) / settings.warmup
    done = (step - settings.warmup) / max(settings.steps - settings.warmup, 1)
    return settings.learning_rate * 0.5 * (1 + math.cos(math.pi * done))


def make_optimizer(model: nn.Module, settings: Training, *more: nn.Module) -> torch.optim.AdamW:
    """AdamW that decays matrices only: not biases, norms, positions, nor the logit scale, as in open_clip.

    more: modules whose weights are learnt too, such as an objective's.
    """
    decay, rest = [], []
    for name, weight in (named for module in (model, *more) for named in module.named_parameters()):
        plain = weight.ndim < 2 or "positional_embedding" in name
        (rest if plain else decay).append(weight)
    groups = [{"params": decay, "weight_decay": settings.weight_decay}, {"params": rest, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, betas=BETAS, fused=True)
