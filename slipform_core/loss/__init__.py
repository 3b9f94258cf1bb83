"""Contrastive objectives over `Pairs`: `objective(pairs, logit_scale, **settings)` returns a scalar."""

from collections.abc import Callable
from functools import partial
from inspect import isclass, signature

from torch import Tensor

from slipform_core.loss.contrastive import cement, contrastive_logits, info_nce, own_entries
from slipform_core.loss.gather import gather_pairs
from slipform_core.loss.margins import (
    PAPER_MARGIN,
    Margin,
    fermi_dirac_margin,
    reversed_margin,
    static_margin,
)
from slipform_core.loss.objectives import (
    clic,
    dcl,
    degla,
    fsc_clip,
    hard_positives,
    neg_clip,
    triplet_clip,
    tsvlc,
)
from slipform_core.loss.open_clip_loop import CementLoss
from slipform_core.loss.pairs import Pairs
from slipform_core.loss.stateful import CeClip, SigLip

Objective = Callable[[Pairs, Tensor | float], Tensor]

LOSSES: dict[str, Callable] = {
    "info_nce": info_nce,
    "cement": cement,
    "neg_clip": neg_clip,
    "tsvlc": tsvlc,
    "ce_clip": CeClip,
    "triplet_clip": triplet_clip,
    "degla": degla,
    "fsc_clip": fsc_clip,
    "hard_positives": hard_positives,
    "dcl": dcl,
    "sig_lip": SigLip,
    "clic": clic,
}


def needs_teacher(objective: Objective) -> bool:
    """Whether the objective reads `Pairs.teacher`."""
    return getattr(objective, "func", objective) is degla


def make_objective(name: str, **settings) -> Objective:
    """The objective of this name with its settings; a new module where it has a state.

    Raises ValueError that names the choices, TypeError for a setting that it does not have.
    """
    if name not in LOSSES:
        raise ValueError(f"unknown loss {name!r}; the losses are: {', '.join(LOSSES)}")
    loss = LOSSES[name]
    known = [
        parameter for parameter in signature(loss).parameters if parameter not in ("pairs", "logit_scale")
    ]
    if unknown := settings.keys() - known:
        raise TypeError(f"{name} has no setting {min(unknown)!r}; it has: {', '.join(known) or 'none'}")
    return loss(**settings) if isclass(loss) else partial(loss, **settings)


__all__ = [
    "LOSSES",
    "PAPER_MARGIN",
    "CeClip",
    "CementLoss",
    "Margin",
    "Objective",
    "Pairs",
    "SigLip",
    "cement",
    "clic",
    "contrastive_logits",
    "dcl",
    "degla",
    "fermi_dirac_margin",
    "fsc_clip",
    "gather_pairs",
    "hard_positives",
    "info_nce",
    "make_objective",
    "neg_clip",
    "needs_teacher",
    "own_entries",
    "reversed_margin",
    "static_margin",
    "triplet_clip",
    "tsvlc",
]
