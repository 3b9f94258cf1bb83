"""Arms: which negatives meet which loss, with which margin."""

from typing import Literal

from pydantic import model_validator

from slipform_core.config.sections import Fraction, Positive, Section, tagged


class FermiDirac(Section):
    """A margin of logits over concreteness.

    "fermi_dirac" rises from low to high, "reversed" falls; "mean" is the same for every word, the mean that
    "fermi_dirac" has over the arm's negatives.
    """

    kind: Literal["fermi_dirac", "reversed", "mean"]
    low: float
    high: float
    midpoint: float
    width: Positive


class Static(Section):
    """The same margin for every word, in logits."""

    kind: Literal["static"]
    value: float


Margin = tagged(FermiDirac, Static)

MARGIN_IN = ("cement", "neg_clip", "triplet_clip", "dcl")
NEED_NEGATIVES = ("cement", "neg_clip", "tsvlc", "ce_clip", "triplet_clip", "degla", "fsc_clip", "clic")
CHOICES = ("hc", "lc", "wo")
MATCHED = tuple(f"{choice}_matched" for choice in CHOICES)


class Arm(Section):
    """One fine-tuning: which negatives (a choice of ConcretePlant, or none) meet which loss.

    "hc_matched" and so on are the records of that choice that the three choices have alike in part of speech
    and similarity. concreteness "shuffled": c is permuted among the records. batch: so many times the
    pictures of a step, at as many pictures in all; the learning rate goes with the square root. settings: of
    the loss, where they are not its own. ema: of the averaged weights, in place of the training's.
    """

    negatives: Literal["hc", "lc", "wo", "swap", "hc_matched", "lc_matched", "wo_matched"] | None
    loss: str
    margin: Margin | None = None
    concreteness: Literal["shuffled"] | None = None
    batch: Positive | None = None
    settings: dict[str, float] | None = None
    ema: Fraction | None = None

    @model_validator(mode="after")
    def _fits_its_loss(self) -> "Arm":
        if self.margin is not None and self.loss not in MARGIN_IN:
            raise ValueError(f"{self.loss} has no margin; these have: {', '.join(MARGIN_IN)}")
        if self.margin is None and self.loss == "cement":
            raise ValueError("cement is a margin in InfoNCE, and none is given")
        if self.negatives is None and self.loss in NEED_NEGATIVES:
            raise ValueError(f"{self.loss} needs negatives")
        if self.concreteness and self.margin is None:
            raise ValueError("concreteness is shuffled for a margin to read, and there is none")
        return self

    @property
    def choice(self) -> str | None:
        """The choice of ConcretePlant that made the negatives."""
        return self.negatives and self.negatives.removesuffix("_matched")
