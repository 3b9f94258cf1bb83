"""Evaluation: every unique picture and text encoded once, scores by strict metrics."""

from .arrays import embed, evaluate, zero_shot_accuracy
from .encoding import Encoder
from .scores import RECALLS, Evaluation, score

__all__ = [
    "RECALLS",
    "Encoder",
    "Evaluation",
    "embed",
    "evaluate",
    "score",
    "zero_shot_accuracy",
]
