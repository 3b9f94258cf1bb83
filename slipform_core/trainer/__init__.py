"""Training: AdamW, warm-up and cosine, clamped logit scale; exact resume, cached batches, several ranks."""

from slipform_core.trainer.loop import Stopped, train
from slipform_core.trainer.optimizer import MAX_LOG_SCALE, learning_rate, make_optimizer
from slipform_core.trainer.ranks import ranks
from slipform_core.trainer.towers import Towers, encode

__all__ = [
    "MAX_LOG_SCALE",
    "Stopped",
    "Towers",
    "encode",
    "learning_rate",
    "make_optimizer",
    "ranks",
    "train",
]
