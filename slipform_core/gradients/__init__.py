"""The gradient imbalance: what part of the push falls on the own hard negative, and what a margin does."""

from slipform_core.gradients.autograd import logit_gradients, share_by_autograd
from slipform_core.gradients.batch import BatchShare, drawn, share_against_batch
from slipform_core.gradients.share import (
    GradientBudget,
    gradient_budget,
    hard_negative_share,
    share_and_budget,
    share_with_margin,
)

__all__ = [
    "BatchShare",
    "GradientBudget",
    "drawn",
    "gradient_budget",
    "hard_negative_share",
    "logit_gradients",
    "share_against_batch",
    "share_and_budget",
    "share_by_autograd",
    "share_with_margin",
]
