import dataclasses
import math
from functools import partial

import pytest
import torch
from torch.nn.functional import normalize

from slipform_core.gradients import (
    gradient_budget,
    hard_negative_share,
    logit_gradients,
    share_against_batch,
    share_and_budget,
    share_by_autograd,
    share_with_margin,
)
from slipform_core.loss import (
    Pairs,
    cement,
    contrastive_logits,
    fermi_dirac_margin,
    hard_positives,
    info_nce,
    static_margin,
)

PAPER = fermi_dirac_margin(low=-2, high=2, midpoint=4, width=0.15)


def make_pairs(n=6, k=1, pictures=True, seed=0) -> Pairs:
    generator = torch.Generator().manual_seed(seed)
    image, text = normalize(torch.randn(2, n, 5, generator=generator, dtype=torch.float64), dim=-1)
    others = normalize(torch.randn(2, n, k, 5, generator=generator, dtype=torch.float64), dim=-1)
    words = 3.7 + 0.6 * torch.rand(n, k, generator=generator, dtype=torch.float64)
    return Pairs(image, text, others[0] if pictures else None, others[1], concreteness=words)


def probabilities(row):
    top = max(row)
    weights = [math.exp(score - top) for score in row]
    return [weight / math.fsum(weights) for weight in weights]


def slow_shares(logits):
    shares = []
    for i, row in enumerate(logits.tolist()):
        p = probabilities(row)
        rest = math.fsum(p[j] for j in range(len(p)) if j != i)
        shares.append(p[(i + len(p) // 2) % len(p)] / rest)
    return shares


@pytest.mark.parametrize("scale", [1.0, 15.0])
def test_share_is_the_slow_loop(scale):
    logits = contrastive_logits(make_pairs(), scale)
    assert hard_negative_share(logits).tolist() == pytest.approx(slow_shares(logits))


def test_share_stays_right_where_p_ii_rounds_to_one():
    scores = torch.tensor([[1e4, 3.0, 2.0, 1.0], [0, 1e4, 0, 5], [0, 0, 900, -900], [0, -1e4, 0, 1e4]])
    shares = hard_negative_share(scores)
    expected = [math.exp(2) / (math.exp(3) + math.exp(2) + math.exp(1)), math.exp(5) / (math.exp(5) + 2)]
    assert shares[:2].tolist() == pytest.approx(expected, rel=1e-6)
    assert shares[2:].tolist() == pytest.approx([0.5, 0])
    assert hard_negative_share(scores.bfloat16()).dtype == torch.float32


def test_the_paper_s_shares_with_a_margin():
    margins = torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0], dtype=torch.float64)
    shares = share_with_margin(torch.tensor(0.2, dtype=torch.float64), margins)
    assert shares.tolist() == pytest.approx([0.033, 0.084, 0.2, 0.405, 0.649], abs=5e-4)
    for m, share in zip(margins.tolist(), shares.tolist(), strict=True):
        assert share == pytest.approx(math.exp(m) * 0.2 / (0.8 + math.exp(m) * 0.2))
    assert share_with_margin(torch.tensor([0.0, 1.0]), 2).tolist() == [0, 1]


def test_equation_3_and_easy_negatives_under_a_margin():
    pairs, m = make_pairs(), 1.3
    logits, moved = (contrastive_logits(pairs, 9.0, margin) for margin in (None, static_margin(m)))
    plain, margined = (
        4 * 6 * logit_gradients(loss, pairs, 9.0)
        for loss in (info_nce, partial(cement, margin=static_margin(m)))
    )
    for i in range(12):
        own, p, p_moved = (i + 6) % 12, probabilities(logits[i].tolist()), probabilities(moved[i].tolist())
        easy = [j for j in range(12) if j not in (i, own)]
        pushed = plain[i, own] + plain[i, easy].sum()
        assert pushed.item() == pytest.approx(1 - p[i])
        assert margined[i, own].item() == pytest.approx(p_moved[own])
        assert (margined[i, easy] / plain[i, easy]).tolist() == pytest.approx(
            [1 / (1 + p[own] * (math.exp(m) - 1))] * 10
        )


@pytest.mark.parametrize("scale", [1.0, 14.0, 100.0])
@pytest.mark.parametrize("directions", ["both", "image_to_text", "text_to_image"])
def test_autograd_gives_the_closed_form(scale, directions):
    pairs = make_pairs()
    plain = hard_negative_share(contrastive_logits(pairs, scale))
    torch.testing.assert_close(share_by_autograd(info_nce, pairs, scale), plain, rtol=1e-9, atol=1e-14)
    expected = plain
    if directions != "text_to_image":
        expected = hard_negative_share(contrastive_logits(pairs, scale, PAPER))
    shares = share_by_autograd(partial(cement, directions=directions), pairs, scale)
    torch.testing.assert_close(shares, expected, rtol=1e-9, atol=1e-14)


def test_autograd_reads_captions_without_pictures():
    pairs = make_pairs(n=4, k=3, pictures=False)
    logits = contrastive_logits(pairs, 6.0)
    shares = share_by_autograd(info_nce, pairs, 6.0)
    for i, row in enumerate(logits.tolist()):
        p = probabilities(row)
        assert shares[i].item() == pytest.approx(math.fsum(p[4 + 3 * i : 7 + 3 * i]) / (1 - p[i]))


def test_autograd_leaves_out_choices_among_pictures_of_any_kind():
    """Rows without their positive, a private hinge, columns over one block or over a pair's own pictures."""
    pairs = make_pairs()

    def objective(pairs, scale):
        logits = contrastive_logits(pairs, scale)
        own, back = logits.diagonal(6), logits.diagonal(-6)
        positives = torch.eye(12, dtype=torch.bool)
        decoupled = logits.masked_fill(positives, -math.inf).logsumexp(1) - logits.diagonal()
        hinge = (50 + own - logits.diagonal()[:6]).relu()
        block = logits[:6, :6].logsumexp(0) - logits.diagonal()[:6]
        private = torch.logaddexp(logits.diagonal()[:6], back) - logits.diagonal()[:6]
        return decoupled.sum() + 0.2 * hinge.sum() + block.sum() + private.sum()

    rho = slow_shares(contrastive_logits(pairs, 9.0))
    expected = [(r + 0.2) / 1.2 for r in rho[:6]] + rho[6:]
    assert share_by_autograd(objective, pairs, 9.0).tolist() == pytest.approx(expected)


def test_both_directions_are_the_gradient_of_the_whole_loss():
    pairs = make_pairs()
    logits = contrastive_logits(pairs, 9.0).requires_grad_()
    loss = (logits.logsumexp(1) + logits.logsumexp(0) - 2 * logits.diagonal()).sum() / 24
    (expected,) = torch.autograd.grad(loss, logits)
    torch.testing.assert_close(logit_gradients(info_nce, pairs, 9.0, direction="both"), expected)
    with pytest.raises(ValueError, match="direction = 'rows'"):
        logit_gradients(info_nce, pairs, 9.0, direction="rows")


def test_a_missing_negative_has_no_share():
    pairs = make_pairs()
    mask = torch.ones(6, 1, dtype=torch.bool)
    mask[2] = False
    shares = share_by_autograd(cement, dataclasses.replace(pairs, mask=mask), 9.0)
    assert shares[2] == 0 and shares[8].isnan()
    assert shares.isnan().sum() == 1
    with pytest.raises(ValueError, match="needs negative_text"):
        share_by_autograd(info_nce, Pairs(pairs.image, pairs.text), 9.0)


def test_own_paraphrases_are_no_negatives_and_those_of_others_are():
    pairs = make_pairs(n=4, pictures=False)
    others = normalize(torch.randn(4, 2, 5, generator=torch.Generator().manual_seed(4)).double(), dim=-1)
    asked = dataclasses.replace(pairs, positive_text=others)
    logits = contrastive_logits(pairs, 6.0)
    paraphrases = 6.0 * torch.einsum("id,jpd->ijp", pairs.image, others)
    shares = share_by_autograd(hard_positives, asked, 6.0)
    for i in range(4):
        own = rest = 0.0
        for positives in (logits[:, :4], paraphrases[..., 0], paraphrases[..., 1]):
            p = probabilities([*positives[i].tolist(), *logits[i, 4:].tolist()])
            own += p[4 + i]
            rest += math.fsum(p) - p[i]
        assert shares[i].item() == pytest.approx(own / rest)
    torch.testing.assert_close(
        share_by_autograd(info_nce, asked, 6.0), share_by_autograd(info_nce, pairs, 6.0)
    )


@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_budget_is_the_slow_sum(scale):
    logits = contrastive_logits(make_pairs(), scale)
    positive = own = easy = 0.0
    for i, row in enumerate(logits.tolist()):
        p = probabilities(row)
        positive += 1 - p[i]
        own += p[(i + 6) % 12]
        easy += math.fsum(p) - p[i] - p[(i + 6) % 12]
    total = positive + own + easy
    expected = [positive / total, own / total, easy / total]
    assert [part.item() for part in gradient_budget(logits)] == pytest.approx(expected)
    shares, budget = share_and_budget(logits)
    assert torch.equal(shares, hard_negative_share(logits)) and budget == gradient_budget(logits)


def test_budget_stays_right_where_p_ii_rounds_to_one():
    scores = torch.tensor([[500.0, 1.0, 1.0, 1.0]] * 4)
    for i in range(4):
        scores[i, [0, i]] = scores[i, [i, 0]]
    assert [part.item() for part in gradient_budget(scores)] == pytest.approx([1 / 2, 1 / 6, 1 / 3], rel=1e-4)


def pool(n=64, seed=3):
    generator = torch.Generator().manual_seed(seed)
    image = torch.randn(n, 16, generator=generator)
    text = image + 0.5 * torch.randn(n, 16, generator=generator)
    changed = torch.randn(n, 16, generator=generator)
    parts = (image, text, image + 0.7 * changed, text + 0.7 * changed)
    words = 1 + 4 * torch.rand(n, generator=generator)
    return Pairs(*(normalize(part, dim=-1) for part in parts), concreteness=words)


def closed_form(margin=None):
    return lambda pairs: hard_negative_share(contrastive_logits(pairs, 15.0, margin))


def test_the_share_falls_with_the_batch_and_a_margin_is_the_closed_form():
    pairs = pool()
    settings = {"pictures": [8, 32, 128], "batches": 5}

    def seeded():
        return torch.Generator().manual_seed(1)

    plain = share_against_batch(pairs, closed_form(), **settings, generator=seeded())
    assert plain == share_against_batch(pairs, closed_form(), **settings, generator=seeded())
    assert [point.pictures for point in plain] == [8, 32, 128]
    assert plain[0].mean > plain[1].mean > plain[2].mean
    curve = share_against_batch(pairs, closed_form(PAPER), **settings, generator=seeded())
    parts = (pairs.image, pairs.text, pairs.negative_image, pairs.negative_text)
    generator = seeded()
    for point, margined in zip(plain, curve, strict=True):
        bare, closed = [], []
        for _ in range(5):
            drawn = torch.randperm(64, generator=generator)[: point.pictures // 2]
            image, text, other_image, other_text = (part[drawn].double() for part in parts)
            rho = hard_negative_share(15 * torch.cat([image, other_image]) @ torch.cat([text, other_text]).T)
            bare.append(rho.mean())
            closed.append(share_with_margin(rho, PAPER(pairs.concreteness[drawn].double()).repeat(2)).mean())
        for values, got in ((torch.stack(bare), point), (torch.stack(closed), margined)):
            assert got.mean == pytest.approx(values.mean().item(), rel=1e-5)
            assert got.stderr == pytest.approx((values.var() / 5).sqrt().item(), rel=1e-3, abs=1e-7)
    assert curve[2].stderr == pytest.approx(0, abs=1e-6), "the whole pool is one batch, in any order"


def test_mistakes_are_named():
    pairs = pool(8)
    settings = {"batches": 2, "generator": torch.Generator()}
    for size in (7, 18, 0):
        with pytest.raises(ValueError, match=f"pictures = {size} is not an even number of 2 to 16"):
            share_against_batch(pairs, closed_form(), **settings, pictures=[size])
    with pytest.raises(ValueError, match="batches = 1"):
        share_against_batch(pairs, closed_form(), **{**settings, "batches": 1}, pictures=[4])
    with pytest.raises(ValueError, match="needs the concreteness"):
        wordless = dataclasses.replace(pairs, concreteness=None)
        share_against_batch(wordless, closed_form(PAPER), **settings, pictures=[4])
    for shape in ((4, 6), (3, 3), (4,)):
        with pytest.raises(ValueError, match=r"expected \(2N, 2N\)"):
            hard_negative_share(torch.zeros(shape))
