"""Cement for training loops that were written for open_clip's ClipLoss."""

from torch import Tensor, nn

from slipform_core.loss.contrastive import cement
from slipform_core.loss.gather import gather_pairs
from slipform_core.loss.margins import PAPER_MARGIN, Margin
from slipform_core.loss.pairs import Pairs


class CementLoss(nn.Module):
    """Cement in the place of open_clip's ClipLoss, on batches whose second part are the hard negatives.

    margin, directions: as in `cement`. With several ranks the features are gathered with gradients, as
    ClipLoss(gather_with_grad=True) does, each rank's positives before any negatives.
    """

    def __init__(self, margin: Margin = PAPER_MARGIN, directions: str = "both"):
        super().__init__()
        self.margin, self.directions = margin, directions

    def forward(
        self,
        image_features: Tensor,
        text_features: Tensor,
        logit_scale: Tensor | float,
        concreteness: Tensor,
        logit_bias: Tensor | None = None,
        output_dict: bool = False,
    ) -> Tensor | dict[str, Tensor]:
        """The loss of B pairs and their hard negatives, or {"contrastive_loss": it} for `output_dict`.

        image_features: (2B, D) unit vectors, the B originals first, then their negatives in the same order,
        or the B originals alone. text_features: (2B, D), likewise. concreteness: (B,), 1..5, of the changed
        words. Raises ValueError for other sizes and for a bias, which belongs to SigLIP.
        """
        batch = len(concreteness)
        if logit_bias is not None:
            raise ValueError(
                "logit_bias belongs to SigLIP; cement has none: build the model without init_logit_bias"
            )
        if len(text_features) != 2 * batch or len(image_features) not in (batch, 2 * batch):
            raise ValueError(
                f"{len(image_features)} pictures and {len(text_features)} captions with {batch} words: "
                f"expected {2 * batch} (or {batch}) and {2 * batch}, originals first"
            )
        image, *negative = image_features.split(batch)
        text, negative_text = text_features.split(batch)
        pairs = Pairs(image, text, *negative or (None,), negative_text, concreteness)
        loss = cement(gather_pairs(pairs), logit_scale, self.margin, self.directions)
        return {"contrastive_loss": loss} if output_dict else loss
