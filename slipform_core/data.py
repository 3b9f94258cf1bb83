"""Training data in memory and its batches: every picture once an epoch, one picture once a batch.

P pictures, R records (a caption of a picture, maybe with a hard negative), L tokens a text, B pairs a batch.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from torch import Tensor

from slipform_core.records import Caption, HardNegative


@dataclass(frozen=True)
class Batch:
    """B pairs as the towers read them: pictures (B, H, W, 3) uint8, tokens (B, L), concreteness (B,);
    negatives or None.
    """

    pictures: np.ndarray
    tokens: Tensor
    negative_pictures: np.ndarray | None = None
    negative_tokens: Tensor | None = None
    concreteness: Tensor | None = None

    def rows(self, part: slice) -> "Batch":
        """Some of the pairs."""
        values = (getattr(self, field.name) for field in fields(self))
        return Batch(*(None if value is None else value[part] for value in values))


@dataclass(frozen=True)
class Pool:
    """Records sorted by picture: picture p has the records `first[p]` to `first[p + 1]`."""

    pictures: np.ndarray
    first: np.ndarray
    tokens: Tensor
    negative_pictures: np.ndarray | None = None
    negative_tokens: Tensor | None = None
    concreteness: Tensor | None = None

    def __len__(self) -> int:
        return len(self.pictures)

    def take(self, pictures: np.ndarray, records: np.ndarray) -> Batch:
        rows = torch.from_numpy(records)
        if self.negative_tokens is None:
            return Batch(self.pictures[pictures], self.tokens[rows])
        return Batch(
            self.pictures[pictures],
            self.tokens[rows],
            self.negative_pictures[records],
            self.negative_tokens[rows],
            self.concreteness[rows],
        )

    def shuffled(self, *, seed: int) -> "Pool":
        """The same pool with the concreteness of its records permuted among them."""
        order = torch.randperm(len(self.concreteness), generator=torch.Generator().manual_seed(seed))
        return replace(self, concreteness=self.concreteness[order])

    def batch(self, step: int, size: int, *, seed: int, part: tuple[int, int] = (0, 1)) -> Batch:
        """Batch `step`, a function of its arguments alone, so that a resumed training sees the same batches.

        An epoch is a permutation of the pictures, cut into whole batches: 10 pairs at batch 8 are one batch,
        and two that wait for the next epoch. Each picture comes with one of its records at random. part:
        (i, n) is the i-th of n equal parts of the batch, for one of n ranks. Raises ValueError when the pool
        has fewer pictures than a batch.
        """
        each = len(self) // size
        if each == 0:
            raise ValueError(f"a batch of {size} pairs needs as many pictures, and the pool has {len(self)}")
        epoch, position = divmod(step, each)
        rng = np.random.default_rng([seed, epoch])
        index, parts = part
        mine = slice(position * size + index * size // parts, position * size + (index + 1) * size // parts)
        order = rng.permutation(len(self))[mine]
        offsets = rng.random(len(self))[order]
        counts = self.first[order + 1] - self.first[order]
        return self.take(order, self.first[order] + (offsets * counts).astype(np.int64))


def _starts(image_ids: Sequence[str]) -> np.ndarray:
    """Where each picture's records begin, and the end; ValueError for none, or a picture's apart."""
    if not image_ids:
        raise ValueError("there are no records to train on")
    starts = [i for i, image in enumerate(image_ids) if i == 0 or image != image_ids[i - 1]]
    if len({image_ids[i] for i in starts}) != len(starts):
        raise ValueError("the records of a picture must follow each other")
    return np.array([*starts, len(image_ids)])


def caption_pool(
    captions: Sequence[Caption],
    draw: Callable[[Caption], np.ndarray],
    tokenize: Callable[[Sequence[str]], Tensor],
) -> Pool:
    """A pool of plain pairs; `draw` gives the picture (H, W, 3) uint8 of a caption's image."""
    first = _starts([caption.image_id for caption in captions])
    pictures = np.stack([draw(captions[i]) for i in first[:-1]])
    return Pool(pictures, first, tokenize([caption.text for caption in captions]))


def negative_pool(
    records: Iterable[tuple[HardNegative, np.ndarray, np.ndarray]],
    tokenize: Callable[[Sequence[str]], Tensor],
) -> Pool:
    """A pool of pairs with hard negatives, from (record, picture, negative picture) as shards give them."""
    kept, pictures, negatives = [], [], []
    for record, picture, negative in records:
        if not kept or kept[-1].image_id != record.image_id:
            pictures.append(picture)
        kept.append(record)
        negatives.append(negative)
    first = _starts([record.image_id for record in kept])
    return Pool(
        pictures=np.stack(pictures),
        first=first,
        tokens=tokenize([record.caption for record in kept]),
        negative_pictures=np.stack(negatives),
        negative_tokens=tokenize([record.negative_caption for record in kept]),
        concreteness=torch.tensor([record.keyword.concreteness for record in kept]),
    )
