"""Margins: frozen callables from a word's concreteness (any shape, 1..5) to logit units (the same shape).

They are added to the own hard negative's logit, after the temperature. A NaN concreteness (not known) gives a
NaN margin, which the objectives refuse, unless the margin does not depend on the word.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Margin = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class fermi_dirac_margin:
    """The margin that rises with concreteness: m(c) = (high - low) sigmoid((c - midpoint) / width) + low.

    low, high: logit units, low <= high. midpoint, width: on the scale of concreteness, width > 0; width -> 0
    is a step. Raises ValueError outside these. Source: Cement, arXiv 2604.13313, with -2, 2, 4 and 0.15; the
    sigmoid is 1 / (1 + exp(-x)) without the overflow of a small width.
    """

    low: float
    high: float
    midpoint: float
    width: float

    def __post_init__(self) -> None:
        for name in ("low", "high", "midpoint", "width"):
            if not math.isfinite(getattr(self, name)):
                raise ValueError(f"{name} = {getattr(self, name)} of a margin is not finite")
        if self.low > self.high:
            raise ValueError(f"low = {self.low} is above high = {self.high}; reversed_margin exchanges them")
        if self.width <= 0:
            raise ValueError(f"width = {self.width} is not positive")

    def __call__(self, concreteness: Tensor) -> Tensor:
        return self.low + (self.high - self.low) * self._occupation(concreteness)

    def _occupation(self, concreteness: Tensor) -> Tensor:
        return torch.sigmoid((concreteness - self.midpoint) / self.width)


@dataclass(frozen=True)
class reversed_margin(fermi_dirac_margin):
    """The margin that falls with concreteness: `fermi_dirac_margin` with high and low exchanged, an ablation.

    Shapes, units and errors are the same: low <= high, and the most concrete words get low.
    """

    def __call__(self, concreteness: Tensor) -> Tensor:
        return self.high + (self.low - self.high) * self._occupation(concreteness)


@dataclass(frozen=True)
class static_margin:
    """The same margin for every word, an ablation; it needs no concreteness.

    value: logit units; -inf drops the own hard negative, 0 changes nothing, ln k counts it k times.
    Raises ValueError for NaN and +inf.
    """

    value: float

    def __post_init__(self) -> None:
        if not self.value < math.inf:
            raise ValueError(f"value = {self.value} of a margin is neither finite nor -inf")

    def __call__(self, concreteness: Tensor) -> Tensor:
        return torch.full_like(concreteness, self.value)


PAPER_MARGIN = fermi_dirac_margin(low=-2, high=2, midpoint=4, width=0.15)
