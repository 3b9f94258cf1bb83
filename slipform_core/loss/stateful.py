"""Objectives with a state of their own, which belongs in the checkpoint: modules called like the others.

N pairs, K hard negatives a pair; s_ij = a <v_i, t_j> with a the logit scale.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import relu, softplus

from slipform_core.loss.contrastive import present, scalar
from slipform_core.loss.objectives import neg_clip
from slipform_core.loss.own import image_to_own_captions, mean_where
from slipform_core.loss.pairs import Pairs

HIGHEST_THRESHOLD = 10.0


class SigLip(nn.Module):
    """SigLIP: each picture and caption a yes-no question; the learnt bias is its state.

    sum_ij softplus(-z_ij (s_ij + bias)) / R, z = 1 for pairs and -1 else; hard negatives enlarge the matrix
    as in `info_nce` (our choice), R is its number of rows. The published scale starts at 10, CLIP's at 14.
    Source: arXiv 2303.15343, open_clip.
    """

    def __init__(self, bias: float = -10.0):
        super().__init__()
        self.bias = nn.Parameter(torch.tensor(bias))

    def forward(self, pairs: Pairs, logit_scale: Tensor | float) -> Tensor:
        image, text = (torch.cat(part) for part in present(pairs))
        with torch.autocast(image.device.type, enabled=False):
            logits = (scalar(logit_scale, image) * image) @ text.T + self.bias.to(image)
            # softplus(-x) = softplus(x) - x
            return (softplus(logits).sum() - logits.diagonal().sum()) / len(image)


class CeClip(nn.Module):
    """CE-CLIP: NegCLIP, a ranking of own captions with adaptive thresholds, a contrast among captions.

    NegCLIP + rank_weight mean_ik relu(theta_k + s_ii'k - s_ii)
    + text_weight mean_i [-s_ii + log(e^{s_ii} + sum_jk e^{a <t_i, t'_jk>})]. theta_k, the state, starts at 0,
    and each training call ends with theta_k = mean_i s_ii - mean_i s_ii'k within 0..10 logits. negatives: K.
    Raises ValueError without negative captions and for another K.
    Source: arXiv 2306.08832 and its code.
    """

    def __init__(self, negatives: int = 1, rank_weight: float = 0.2, text_weight: float = 0.3):
        super().__init__()
        self.rank_weight, self.text_weight = rank_weight, text_weight
        self.register_buffer("thresholds", torch.zeros(negatives))

    def forward(self, pairs: Pairs, logit_scale: Tensor | float) -> Tensor:
        own = image_to_own_captions(pairs, logit_scale)
        if pairs.negatives != len(self.thresholds):
            raise ValueError(f"ce_clip was made for K = {len(self.thresholds)} and gets {pairs.negatives}")
        positive, negative = own[:, :1], own[:, 1:]
        there = negative > -torch.inf
        rank = mean_where(relu(self.thresholds.to(own.dtype) + negative - positive), there)
        loss = neg_clip(pairs, logit_scale) + self.rank_weight * rank
        loss = loss + self.text_weight * self._among_captions(pairs, logit_scale, positive)
        if self.training:
            with torch.no_grad():
                count = there.sum(0)
                means = negative.masked_fill(~there, 0).sum(0) / count
                new = (positive.mean() - means).clamp(0, HIGHEST_THRESHOLD).to(self.thresholds.dtype)
                self.thresholds.copy_(torch.where(count > 0, new, self.thresholds))
        return loss

    @staticmethod
    def _among_captions(pairs: Pairs, logit_scale: Tensor | float, positive: Tensor) -> Tensor:
        text, negatives = present(pairs)[1]
        with torch.autocast(text.device.type, enabled=False):
            among = (scalar(logit_scale, text) * text) @ negatives.T
            candidates = torch.cat([positive.to(text), among], dim=1)
        return (candidates.logsumexp(1) - positive[:, 0]).mean()
