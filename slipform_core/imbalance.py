"""The gradient imbalance at a model's features, as plain values, by batch and by concreteness."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from slipform_core.data import negative_pool
from slipform_core.gradients import drawn, hard_negative_share, share_against_batch, share_by_autograd
from slipform_core.loss import (
    LOSSES,
    PAPER_MARGIN,
    Margin,
    Objective,
    Pairs,
    SigLip,
    contrastive_logits,
    make_objective,
)
from slipform_core.models.clip import Clip
from slipform_core.shards import read_samples

WITH_MARGIN = ("neg_clip", "triplet_clip", "dcl")
BINS = np.arange(1.0, 5.01, 0.5)  # of concreteness
QUARTERS = (0.25, 0.5, 0.75)

ShareOf = Callable[[Pairs], Tensor]


def embedded(clip: Clip, folder: Path, *, batch: int, records: int | None = None) -> Pairs:
    """The first record of each picture of a ConcreteBatch, so that no picture meets itself in a batch.

    The picture's next caption, where it has one, is its paraphrase. records: read so many at most.
    """
    samples = islice(read_samples(folder), records)
    pool = negative_pool(((s.record, s.picture, s.negative_picture) for s in samples), clip.tokenize)
    first = pool.first[:-1]
    second = np.minimum(first + 1, pool.first[1:] - 1)
    parts: list[list[Tensor]] = [[], [], [], [], []]
    with torch.inference_mode():
        for start in range(0, len(pool), batch):
            rows = slice(start, start + batch)
            taken = pool.take(np.arange(len(pool))[rows], first[rows])
            parts[0].append(clip.encode_image(taken.pictures))
            parts[1].append(clip.encode_text(taken.tokens))
            parts[2].append(clip.encode_image(taken.negative_pictures))
            parts[3].append(clip.encode_text(taken.negative_tokens))
            parts[4].append(clip.encode_text(pool.tokens[torch.from_numpy(second[rows])]))
    *features, paraphrases = (torch.cat(part) for part in parts)
    words = pool.concreteness[torch.from_numpy(first)]
    return Pairs(*features, concreteness=words, positive_text=paraphrases)


def closed_forms(scale: float, margins: Mapping[str, Margin]) -> dict[str, ShareOf]:
    """InfoNCE's share and that with each margin, from the logits."""

    def share(pairs: Pairs, margin: Margin | None) -> Tensor:
        return hard_negative_share(contrastive_logits(pairs, scale, margin))

    return {name: partial(share, margin=margin) for name, margin in {"info_nce": None, **margins}.items()}


def by_autograd(scale: float) -> dict[str, ShareOf]:
    """The share of each objective of `LOSSES` with its own settings, and with Cement's margin.

    An objective with a state sees a batch once before it is asked.
    """
    objectives: dict[str, Objective] = {name: make_objective(name) for name in LOSSES}
    objectives |= {f"{name} + margin": make_objective(name, margin=PAPER_MARGIN) for name in WITH_MARGIN}
    return {name: partial(_share, objective, scale) for name, objective in objectives.items()}


def _share(objective: Objective, scale: float, pairs: Pairs) -> Tensor:
    if isinstance(objective, nn.Module):
        objective(pairs, scale)
    # SigLIP's questions are of single logits, which have no directions.
    return share_by_autograd(
        objective, pairs, scale, "both" if isinstance(objective, SigLip) else "image_to_text"
    )


def against_batch(pool: Pairs, shares: Mapping[str, ShareOf], *, seed: int, **sizes: Any) -> dict[str, Any]:
    """Each loss's mean share for each 2N and its standard error, all losses in the same batches.

    sizes: `pictures` and `batches` of `share_against_batch`.
    """
    return {
        name: {
            str(point.pictures): {"mean": point.mean, "stderr": point.stderr}
            for point in share_against_batch(
                pool, share_of, generator=torch.Generator().manual_seed(seed), **sizes
            )
        }
        for name, share_of in shares.items()
    }


def against_concreteness(
    pool: Pairs, shares: Mapping[str, ShareOf], *, pictures: int, batches: int, seed: int
) -> dict[str, Any]:
    """Quartiles of each loss's shares in bins of the changed word's concreteness, at one 2N.

    The rows of pairs alone, whose picture chooses among captions; an empty bin has none.
    """
    found = drawn(pool, pictures, batches, torch.Generator().manual_seed(seed))
    words = torch.cat([batch.concreteness for batch in found]).double().numpy()
    bins = np.digitize(words, BINS[1:-1])
    inside = [bins == bin_ for bin_ in range(len(BINS) - 1)]
    quartiles = {}
    for name, share_of in shares.items():
        measured = torch.cat([share_of(batch)[: len(batch.image)] for batch in found]).double().numpy()
        quartiles[name] = [
            np.quantile(measured[mine], QUARTERS).round(5).tolist() if mine.any() else None for mine in inside
        ]
    count = [int(mine.sum()) for mine in inside]
    return {"pictures": pictures, "bins": BINS.tolist(), "count": count, "quartiles": quartiles}
