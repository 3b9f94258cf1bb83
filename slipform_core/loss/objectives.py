"""The field's hard-negative objectives, side by side over `Pairs`.

N pairs, K hard negatives a pair, D embedding width; v a picture, t its caption, t'_k its hard negatives, p
its paraphrases; s_ij = a <v_i, t_j> with a the logit scale. NegCLIP and those that contain it read no
negative pictures. A missing negative is no candidate, no query and no part of a mean. Each takes `pairs` and
a scalar logit scale > 0 and returns a scalar in float32 (float64 stays float64); each needs negative captions
where nothing else is said, and raises ValueError without.
"""

from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import softplus

from slipform_core.loss.contrastive import contrast, info_nce
from slipform_core.loss.margins import Margin
from slipform_core.loss.own import (
    focal_cross_entropy,
    image_to_own_captions,
    mean_where,
    need_negatives,
    own_cross_entropy,
    own_logits,
)
from slipform_core.loss.pairs import Pairs


def neg_clip(pairs: Pairs, logit_scale: Tensor | float, margin: Margin | None = None) -> Tensor:
    """NegCLIP: pictures choose among all captions and hard negatives, true captions among pictures.

    1/2 [mean_i -log softmax_j(s_i,[t, t'])_i + mean_i -log softmax_j(s_ji)_i]. margin: Cement's, added to the
    own negatives' logits in the pictures' choice.
    Source: arXiv 2210.01936.
    """
    return contrast(_captions_only(pairs), logit_scale, margin)


def dcl(pairs: Pairs, logit_scale: Tensor | float, margin: Margin | None = None) -> Tensor:
    """Decoupled contrastive learning: the positive is no candidate of its own query.

    1/2 mean_i [-s_ii + log sum_{j != i} e^{s_ij}], and the same over columns; negatives, where there are any,
    as in `info_nce`. margin: Cement's, on the own negatives. Raises ValueError for a single pair.
    Source: arXiv 2110.06848; hard negatives and the margin in it are our choice.
    """
    if len(pairs.image) < 2:
        raise ValueError("dcl has no candidates in a batch of 1 pair: the positive is none")
    return contrast(pairs, logit_scale, margin, decoupled=True)


def triplet_clip(pairs: Pairs, logit_scale: Tensor | float, margin: Margin | None = None) -> Tensor:
    """TripletCLIP: NegCLIP of the pairs, and NegCLIP of the hard negatives whose negatives are the pairs.

    L(v, t; t') + L(v', t'; t). The second is over the pairs that have a negative. margin: Cement's, in both.
    Raises ValueError without negative pictures and for K > 1.
    Source: arXiv 2411.02545.
    """
    if pairs.negative_image is None or pairs.negatives != 1:
        raise ValueError(
            f"triplet_clip needs one negative caption and picture a pair, and it has {pairs.negatives} and "
            f"{0 if pairs.negative_image is None else pairs.negatives}"
        )
    loss = neg_clip(pairs, logit_scale, margin)
    rows = torch.ones(len(pairs.image), dtype=torch.bool) if pairs.mask is None else pairs.mask[:, 0]
    if not rows.any():
        return loss
    image, text = (part.flatten(0, -2)[rows] for part in (pairs.negative_image, pairs.negative_text))
    words = pairs.negative_concreteness[rows.to(pairs.negative_concreteness.device), 0]
    turned = Pairs(image, text, negative_text=pairs.text[rows], concreteness=words)
    return loss + neg_clip(turned, logit_scale, margin)


def tsvlc(pairs: Pairs, logit_scale: Tensor | float, weight: float = 1.0) -> Tensor:
    """TSVLC: NegCLIP and each picture's choice among its own captions.

    NegCLIP + weight mean_i -log softmax(s_ii, s_ii'1, ..., s_ii'K)_0.
    Source: arXiv 2211.11733.
    """
    own = own_cross_entropy(image_to_own_captions(pairs, logit_scale))
    return neg_clip(pairs, logit_scale) + weight * own


def fsc_clip(
    pairs: Pairs,
    logit_scale: Tensor | float,
    weight: float = 0.5,
    gamma: float = 2.0,
    smoothing: float = 0.02,
) -> Tensor:
    """FSC-CLIP without its local term: CLIP, and a focal choice with smoothed targets among own captions.

    CLIP + weight mean_i -sum_k q_k (1 - p_k)^gamma log p_k, p = softmax(s_ii, s_ii'1, ..., s_ii'K), q the
    target with `smoothing` spread over the captions that are there. The local term needs the embeddings of
    tokens and patches, which `Pairs` does not hold.
    Source: arXiv 2410.05210.
    """
    own = focal_cross_entropy(image_to_own_captions(pairs, logit_scale), gamma, smoothing)
    return info_nce(_plain(pairs), logit_scale) + weight * own


def clic(
    pairs: Pairs,
    logit_scale: Tensor | float,
    contrast_weight: float = 0.5,
    negative_weight: float = 0.5,
    paraphrase_weight: float = 1.0,
) -> Tensor:
    """CLIC: CLIP for each positive, a two-way choice against each own negative, and near paraphrases.

    Means over the caption and the paraphrases p of contrast_weight CLIP(v, p) + negative_weight mean_ik
    softplus(s_ii'k - <v_i, p_i> a), and paraphrase_weight mean_i |t_i - p_i|^2 where there are paraphrases
    (with the first). Its concatenated pictures are a matter of data.
    Source: arXiv 2505.24424.
    """
    need_negatives(pairs)
    positives = _positives(pairs)
    loss = pairs.image.new_zeros((), dtype=torch.promote_types(pairs.image.dtype, torch.float32))
    for positive in positives:
        plain = Pairs(pairs.image, positive)
        own = own_logits(pairs.image, positive, pairs.negative_text, logit_scale, pairs.mask)
        against = mean_where(softplus(own[:, 1:] - own[:, :1]), own[:, 1:] > -torch.inf)
        loss = loss + contrast_weight * info_nce(plain, logit_scale) + negative_weight * against
    loss = loss / len(positives)
    if len(positives) > 1:
        loss = loss + paraphrase_weight * (positives[0] - positives[1]).square().sum(1).mean()
    return loss


def hard_positives(pairs: Pairs, logit_scale: Tensor | float) -> Tensor:
    """NegCLIP (CLIP without negatives) with paraphrases as further positives: a mean over the positives.

    mean over q in {t, p_1, ..., p_P} of L(v, q; t'): no positive is ever a candidate of its own picture
    beside another (our reading). Raises ValueError without `positive_text`.
    Source: arXiv 2409.17958.
    """
    if pairs.positive_text is None:
        raise ValueError("hard_positives needs paraphrases, and positive_text is None")
    single = replace(pairs, negative_image=None, positive_text=None)
    losses = [contrast(replace(single, text=text), logit_scale) for text in _positives(pairs)]
    return torch.stack(losses).mean()


def degla(
    pairs: Pairs,
    logit_scale: Tensor | float,
    image_weight: float = 0.1,
    text_weight: float = 0.1,
    text_scale: float = 10.0,
    distil_weight: float = 0.005,
) -> Tensor:
    """DeGLA: NegCLIP, choices among own captions by the picture and by the caption, and a slow teacher.

    NegCLIP + image_weight mean_i CE(v_i; t_i, t'_i) + text_weight mean_i CE(t_i; T(t_i), t'_i) at the scale
    `text_scale` + distil_weight (sum of squared differences of all embeddings to the teacher's T). The
    teacher, an exponential moving average of the model (decay .9996), embeds the same pairs:
    `pairs.teacher`. Raises ValueError without.
    Source: arXiv 2504.16801 and its code, which sums the squares over the batch.
    """
    teacher = pairs.teacher
    if teacher is None:
        raise ValueError("degla learns from a teacher, and pairs.teacher is None")
    by_image = own_cross_entropy(image_to_own_captions(pairs, logit_scale))
    by_text = own_logits(pairs.text, teacher.text, pairs.negative_text, text_scale, pairs.mask)
    squares = (pairs.image - teacher.image).square().sum() + (pairs.text - teacher.text).square().sum()
    distances = (pairs.negative_text - teacher.negative_text).square().sum(-1)
    if pairs.mask is not None:
        distances = distances.view(pairs.mask.shape)[pairs.mask.to(distances.device)]
    return (
        neg_clip(pairs, logit_scale)
        + image_weight * by_image
        + text_weight * own_cross_entropy(by_text)
        + distil_weight * (squares + distances.sum())
    )


def _captions_only(pairs: Pairs) -> Pairs:
    need_negatives(pairs)
    return replace(pairs, negative_image=None)


def _plain(pairs: Pairs) -> Pairs:
    return Pairs(pairs.image, pairs.text)


def _positives(pairs: Pairs) -> list[Tensor]:
    if pairs.positive_text is None:
        return [pairs.text]
    return [pairs.text, *pairs.positive_text.view(len(pairs.text), -1, pairs.text.shape[1]).unbind(1)]
