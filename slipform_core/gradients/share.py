"""How much of the image-to-text gradient falls on the own hard negative, in closed form.

N pairs with a hard negative each; the 2N x 2N logits have the pairs first, so that i' = (i + N) mod 2N.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class GradientBudget(NamedTuple):
    """Parts of the sum of |dL/ds_ij| over the matrix, adding to 1; `positive` is 1/2, as Eq. 3 says."""

    positive: Tensor
    own_negative: Tensor
    easy_negatives: Tensor


def hard_negative_share(logits: Tensor) -> Tensor:
    """The own hard negative's share of the negatives' gradient, p_ii' / (1 - p_ii), for each row.

    logits: (2N, 2N), margin included if there is one; its transpose gives the text-to-image shares.
    Returns (2N,) in 0..1, also where p_ii rounds to 1, since the share does not depend on s_ii.
    Raises ValueError for another shape.
    Source: arXiv 2604.13313, Eq. 3, where |dL_i/ds_ii| = 1 - p_ii is what the negatives divide among them.
    """
    return _Rows.of(logits).share()


def gradient_budget(logits: Tensor) -> GradientBudget:
    """What fraction of the image-to-text gradient pulls the positives, and pushes own and easy negatives.

    logits: (2N, 2N). The fractions are of the batch's sum of |dL/ds_ij|: a row that is already right weighs
    little, where the mean of `hard_negative_share` weighs all rows alike.
    Raises ValueError for another shape.
    """
    return _Rows.of(logits).budget()


def share_and_budget(logits: Tensor) -> tuple[Tensor, GradientBudget]:
    """`hard_negative_share` and `gradient_budget` from one reading of the logits."""
    rows = _Rows.of(logits)
    return rows.share(), rows.budget()


def share_with_margin(share: Tensor, margin: Tensor | float) -> Tensor:
    """The share after a margin is added to the own hard negative's logit: e^m rho / (1 - rho + e^m rho).

    share: 0..1, any shape; margin: logit units, broadcast to it. Returns the shape of both.
    Source: arXiv 2604.13313.
    """
    return torch.sigmoid(torch.logit(share) + margin)


class _Rows(NamedTuple):
    """s_ii, s_ii' and log sum over j != i of e^s_ij, each (2N,), in float32 or wider."""

    positive: Tensor
    own: Tensor
    negatives: Tensor

    @classmethod
    def of(cls, logits: Tensor) -> "_Rows":
        if logits.ndim != 2 or logits.shape[0] != logits.shape[1] or len(logits) % 2 or len(logits) == 0:
            raise ValueError(f"logits are {tuple(logits.shape)}, expected (2N, 2N)")
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        half = len(logits) // 2
        own = torch.cat([logits.diagonal(half), logits.diagonal(-half)])
        diagonal = torch.eye(len(logits), dtype=torch.bool, device=logits.device)
        return cls(logits.diagonal(), own, logits.masked_fill(diagonal, -torch.inf).logsumexp(1))

    def share(self) -> Tensor:
        return (self.own - self.negatives).exp()

    def budget(self) -> GradientBudget:
        everything = torch.logaddexp(self.negatives, self.positive)
        pushed = (self.negatives - everything).logsumexp(0)
        own_negative = ((self.own - everything).logsumexp(0) - pushed).exp() / 2
        return GradientBudget(torch.full_like(own_negative, 0.5), own_negative, 0.5 - own_negative)
