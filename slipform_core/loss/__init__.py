"""Contrastive objectives over `Pairs`: `objective(pairs, logit_scale, **settings)` returns a scalar."""

from collections.abc import Callable

from torch import Tensor

from slipform_core.loss.contrastive import cement, contrastive_logits, info_nce, own_entries
from slipform_core.loss.margins import (
    PAPER_MARGIN,
    Margin,
    fermi_dirac_margin,
    reversed_margin,
    static_margin,
)
from slipform_core.loss.pairs import Pairs

LOSSES: dict[str, Callable[..., Tensor]] = {"info_nce": info_nce, "cement": cement}

__all__ = [
    "LOSSES",
    "PAPER_MARGIN",
    "Margin",
    "Pairs",
    "cement",
    "contrastive_logits",
    "fermi_dirac_margin",
    "info_nce",
    "own_entries",
    "reversed_margin",
    "static_margin",
]
