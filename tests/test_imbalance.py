"""Shares at a model's features against slow loops over one batch at a time."""

import math

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from slipform_core import imbalance
from slipform_core.gradients import hard_negative_share
from slipform_core.loss import LOSSES, PAPER_MARGIN, Pairs, contrastive_logits

SCALE = 12.0


def pool(n: int = 24) -> Pairs:
    generator = torch.Generator().manual_seed(2)
    image = torch.randn(n, 12, generator=generator)
    near = [
        normalize(image + a * torch.randn(n, 12, generator=generator), dim=-1) for a in (0, 0.4, 1, 1, 0.5)
    ]
    words = torch.linspace(1, 5, n)
    return Pairs(*near[:4], concreteness=words, positive_text=near[4])


WRITTEN = ("info_nce", "neg_clip", "neg_clip + margin", "tsvlc", "sig_lip")


def p_of(row: list[float]) -> list[float]:
    weights = [math.exp(score) for score in row]
    return [weight / sum(weights) for weight in weights]


def slow(pairs: Pairs) -> dict[str, list[float]]:
    """The rows' shares of objectives whose picture-to-caption gradient can be written down."""
    n = len(pairs.image)
    logits = contrastive_logits(Pairs(*(f.double() for f in features(pairs))), SCALE).tolist()
    margin = PAPER_MARGIN(pairs.concreteness).tolist()
    found: dict[str, list[float]] = {name: [] for name in WRITTEN}
    for i in range(n):
        row, own = logits[i], logits[i][i + n]
        p = p_of(row)
        found["info_nce"].append(p[i + n] / (1 - p[i]))
        found["neg_clip"].append(p[i + n] / (1 - p[i]))
        q = p_of([s + (margin[i] if j == i + n else 0) for j, s in enumerate(row)])
        found["neg_clip + margin"].append(q[i + n] / (1 - q[i]))
        private = 1 / (1 + math.exp(row[i] - own))
        # Half of NegCLIP's two directions, beside the whole private term.
        found["tsvlc"].append((p[i + n] / 2 + private) / ((1 - p[i]) / 2 + private))
        yes = [1 / (1 + math.exp(10 - s)) for s in row]
        found["sig_lip"].append(yes[i + n] / (sum(yes) - yes[i]))
    return found


def features(pairs: Pairs) -> list[torch.Tensor]:
    return [pairs.image, pairs.text, pairs.negative_image, pairs.negative_text]


def test_shares_by_autograd_are_those_written_down() -> None:
    pairs = pool()
    shares = imbalance.by_autograd(SCALE)
    assert set(shares) == {*LOSSES, *(f"{name} + margin" for name in imbalance.WITH_MARGIN)}
    for name, expected in slow(pairs).items():
        assert shares[name](pairs)[: len(expected)].tolist() == pytest.approx(expected, rel=1e-4), name


def test_what_is_the_same_choice_among_captions_has_the_same_share() -> None:
    """A picture of TripletCLIP and of DCL chooses as in InfoNCE: a share is not of the positive's weight."""
    pairs, shares = pool(), imbalance.by_autograd(SCALE)
    for name in ("triplet_clip", "dcl"):
        torch.testing.assert_close(shares[name](pairs), shares["info_nce"](pairs), rtol=1e-6, atol=1e-9)
        torch.testing.assert_close(
            shares[f"{name} + margin"](pairs), shares["cement"](pairs), rtol=1e-5, atol=1e-9
        )


def test_an_objective_with_a_state_is_asked_after_it_has_seen_the_batch() -> None:
    pairs = pool()
    first, again = (imbalance.by_autograd(SCALE)["ce_clip"](pairs) for _ in range(2))
    torch.testing.assert_close(first, again, rtol=0, atol=0, equal_nan=True)
    share = imbalance.by_autograd(SCALE)["ce_clip"]
    objective = share.args[0]
    share(pairs)
    logits = contrastive_logits(pairs, SCALE)
    own = logits.diagonal(24)[:24]
    expected = (logits.diagonal()[:24].mean() - own.mean()).clamp(0, 10)
    assert objective.thresholds.item() == pytest.approx(expected.item(), rel=1e-5)


def test_all_losses_meet_the_same_batches() -> None:
    shares = imbalance.closed_forms(SCALE, {"paper": PAPER_MARGIN, "again": PAPER_MARGIN})
    found = imbalance.against_batch(pool(), shares, seed=4, pictures=[8, 16], batches=3)
    assert list(found) == ["info_nce", "paper", "again"] and list(found["paper"]) == ["8", "16"]
    assert found["paper"] == found["again"] != found["info_nce"]
    assert found["paper"]["8"]["stderr"] > 0
    other = imbalance.against_batch(pool(), shares, seed=5, pictures=[8, 16], batches=3)
    assert other["paper"]["8"] != found["paper"]["8"]


def test_quartiles_are_of_the_pairs_with_a_word_in_the_bin() -> None:
    pairs = pool()
    shares = imbalance.closed_forms(SCALE, {"paper": PAPER_MARGIN})
    # The whole pool is the batch, in any order: each pair counts once a batch.
    found = imbalance.against_concreteness(pairs, shares, pictures=48, batches=2, seed=4)
    assert sum(found["count"]) == 2 * 24 and found["pictures"] == 48
    for name, margin in {"info_nce": None, "paper": PAPER_MARGIN}.items():
        rows = hard_negative_share(contrastive_logits(pairs, SCALE, margin))[:24].numpy()
        for low, count, quartiles in zip(
            found["bins"], found["count"], found["quartiles"][name], strict=False
        ):
            words = pairs.concreteness.numpy()
            mine = rows[(words >= low) & ((words < low + 0.5) | (low == 4.5))]
            assert count == 2 * len(mine)
            assert quartiles == pytest.approx(np.quantile(mine.repeat(2), [0.25, 0.5, 0.75]), abs=2e-5)


def test_an_empty_bin_has_no_quartiles() -> None:
    pairs = pool()
    pairs.concreteness.clamp_(min=3)
    shares = imbalance.closed_forms(SCALE, {})
    found = imbalance.against_concreteness(pairs, shares, pictures=8, batches=3, seed=4)
    assert found["count"][0] == 0 and found["quartiles"]["info_nce"][0] is None
