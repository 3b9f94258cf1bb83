"""What every objective reads: a batch of embedded pairs and their hard negatives.

B pairs in a batch, D embedding width, K hard negatives a pair.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Unit embeddings of B pairs, and of K hard negatives of each.

    image, text: (B, D). negative_image, negative_text: (B, D) or (B, K, D); pictures come with captions.
    concreteness: (B,) for all K or (B, K), 1..5, of the word that was changed; NaN where it is not known.
    mask: bool (B, K), False where a negative is missing; a finite filler stands for its embedding.
    positive_text: (B, D) or (B, K, D), paraphrases, for the objectives that use them.
    teacher: the same pairs as a teacher embeds them, without gradients, for distillation.

    Raises ValueError that names the value and the rule. That the embeddings are unit vectors and finite is
    the encoder's contract and is not checked at each step. Concreteness is checked in host memory only, since
    reading it on an accelerator would stall the step: leave it on the host, the objectives move the margins.
    """

    image: Tensor
    text: Tensor
    negative_image: Tensor | None = None
    negative_text: Tensor | None = None
    concreteness: Tensor | None = None
    mask: Tensor | None = None
    positive_text: Tensor | None = None
    teacher: "Pairs | None" = None

    def __post_init__(self) -> None:
        if self.image.ndim != 2 or len(self.image) == 0:
            raise ValueError(f"image is {_shape(self.image)}, expected (B, D) with B >= 1")
        if self.text.shape != self.image.shape:
            raise ValueError(f"text is {_shape(self.text)}, expected image's {_shape(self.image)}")
        for name in ("negative_image", "negative_text", "positive_text"):
            self._check_several(name)
        if self.teacher is not None and self._shapes() != self.teacher._shapes():
            raise ValueError(f"the teacher's pairs are {self.teacher._shapes()}, expected {self._shapes()}")
        if self.negative_text is None:
            for name in ("negative_image", "concreteness", "mask"):
                if getattr(self, name) is not None:
                    raise ValueError(f"{name} is given without negative_text, to which it belongs")
            return
        if self.negative_image is not None and _several(self.negative_image) != self.negatives:
            raise ValueError(
                f"negative_image is {_shape(self.negative_image)} and negative_text "
                f"{_shape(self.negative_text)}: a pair has as many negative pictures as negative captions"
            )
        self._check_mask()
        self._check_concreteness()

    @property
    def negatives(self) -> int:
        """K, the number of hard negatives a pair; 0 without negative captions."""
        return 0 if self.negative_text is None else _several(self.negative_text)

    @property
    def negative_concreteness(self) -> Tensor:
        """Concreteness of each negative, (B, K), NaN where it is not known."""
        shape = (len(self.image), self.negatives)
        if self.concreteness is None:
            return torch.full(shape, torch.nan)
        return self.concreteness.reshape(len(self.image), -1).expand(shape)

    def take(self, rows: Tensor) -> "Pairs":
        """Some of the pairs, by their indices (M,)."""
        return self.each(lambda value: value[rows.to(value.device)])

    def each(self, change: Callable[[Tensor], Tensor]) -> "Pairs":
        """The same fields with every tensor changed, the teacher's too."""
        changed = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                changed[field.name] = value.each(change) if isinstance(value, Pairs) else change(value)
        return Pairs(**changed)

    def _shapes(self) -> tuple[int, int, int]:
        """B, D and K."""
        return (*self.image.shape, self.negatives)

    def _check_several(self, name: str) -> None:
        value = getattr(self, name)
        if value is None:
            return
        batch, width = self.image.shape
        if (
            value.ndim not in (2, 3)
            or len(value) != batch
            or value.shape[-1] != width
            or _several(value) == 0
        ):
            raise ValueError(
                f"{name} is {_shape(value)}, expected ({batch}, {width}) or ({batch}, K, {width}) as "
                f"image is {_shape(self.image)}"
            )

    def _check_mask(self) -> None:
        if self.mask is None:
            return
        expected = (len(self.image), self.negatives)
        if self.mask.dtype != torch.bool or self.mask.shape != expected:
            raise ValueError(
                f"mask is {self.mask.dtype} {_shape(self.mask)}, expected torch.bool (B, K) = {expected}"
            )

    def _check_concreteness(self) -> None:
        value = self.concreteness
        if value is None:
            return
        batch = len(self.image)
        if value.shape not in ((batch,), (batch, self.negatives)):
            raise ValueError(
                f"concreteness is {_shape(value)}, expected ({batch},) or (B, K) = "
                f"({batch}, {self.negatives})"
            )
        if value.device.type == "cpu":
            each = self.negative_concreteness
            outside = (each < 1) | (each > 5)
            if self.mask is not None:
                outside &= self.mask.cpu()
            if outside.any():
                pair, k = outside.nonzero()[0].tolist()
                raise ValueError(
                    f"concreteness {each[pair, k].item():g} of pair {pair} is outside 1..5, Brysbaert's scale"
                )


def _several(value: Tensor) -> int:
    return 1 if value.ndim == 2 else value.shape[1]


def _shape(value: Tensor) -> str:
    return str(tuple(value.shape))
