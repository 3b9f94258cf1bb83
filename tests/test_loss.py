import dataclasses
import math

import pytest
import torch
from torch.nn.functional import cross_entropy, normalize

from slipform_core.loss import (
    Pairs,
    cement,
    contrastive_logits,
    fermi_dirac_margin,
    info_nce,
    reversed_margin,
    static_margin,
)

PAPER = fermi_dirac_margin(low=-2, high=2, midpoint=4, width=0.15)
LAYOUTS = ["plain", "captions 1", "captions 3", "pictures 1", "pictures 2"]


def make_pairs(layout: str, n: int = 4, dtype=torch.float64, masked: bool = False, seed: int = 0) -> Pairs:
    generator = torch.Generator().manual_seed(seed)

    def unit(*shape):
        return normalize(torch.randn(*shape, 6, generator=generator, dtype=torch.float64), dim=-1).to(dtype)

    image, text = unit(n), unit(n)
    if layout == "plain":
        return Pairs(image, text)
    kind, k = layout.split()
    k = int(k)
    mask = torch.rand(n, k, generator=generator) < 0.6 if masked else None
    return Pairs(
        image,
        text,
        negative_image=unit(n, k) if kind == "pictures" else None,
        negative_text=unit(n, k),
        concreteness=3.7 + 0.6 * torch.rand(n, k, generator=generator, dtype=torch.float64),
        mask=mask,
    )


def slow_loss(pairs: Pairs, scale: float, margin, directions: str = "both", copies: int = 1) -> torch.Tensor:
    """The formula query by query: candidates as (pair, slot, embedding), slot None for the true pair."""
    n, k = len(pairs.image), pairs.negatives
    slots = [(i, s) for i in range(n) for s in range(k) if pairs.mask is None or pairs.mask[i, s]]
    texts = [(i, None, pairs.text[i]) for i in range(n)]
    texts += [(i, s, pairs.negative_text.view(n, k, -1)[i, s]) for i, s in slots]
    images = [(i, None, pairs.image[i]) for i in range(n)]
    if pairs.negative_image is not None:
        images += [(i, s, pairs.negative_image.view(n, k, -1)[i, s]) for i, s in slots]

    def query_loss(query, candidates, with_margin):
        i, slot, embedding = query
        terms = []
        for j, other, candidate in candidates:
            score = scale * (embedding * candidate).sum()
            if (j, other) == (i, slot):
                positive = score
            own = j == i and (slot is None) != (other is None)
            if own and with_margin:
                score = score + margin(i, other if slot is None else slot)
            terms += [score] * (copies if own else 1)
        kept = [term for term in terms if term > -math.inf]
        return torch.stack(kept).logsumexp(0) - positive

    rows = [query_loss(q, texts, directions != "text_to_image") for q in images]
    captions = texts if pairs.negative_image is not None else texts[:n]
    columns = [query_loss(q, images, directions != "image_to_text") for q in captions]
    return (torch.stack(rows).mean() + torch.stack(columns).mean()) / 2


def paper_margin(pairs):
    return lambda i, slot: 2 * torch.tanh((pairs.concreteness[i, slot] - 4) / 0.3)


def gradients(loss, pairs):
    names = [f.name for f in dataclasses.fields(pairs)]
    names = [n for n in names if "image" in n or "text" in n]
    leaves = {n: getattr(pairs, n).clone().requires_grad_() for n in names if getattr(pairs, n) is not None}
    value = loss(dataclasses.replace(pairs, **leaves))
    return value.detach(), torch.autograd.grad(value, list(leaves.values()))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_info_nce_is_the_slow_loop(layout, masked):
    pairs = make_pairs(layout, masked=masked)
    value, gradient = gradients(lambda p: info_nce(p, 7.0), pairs)
    expected, slow_gradient = gradients(lambda p: slow_loss(p, 7.0, lambda i, s: 0), pairs)
    torch.testing.assert_close(value, expected)
    torch.testing.assert_close(gradient, slow_gradient)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS[1:])
@pytest.mark.parametrize("directions", ["both", "image_to_text", "text_to_image"])
def test_cement_is_the_slow_loop(layout, directions, masked):
    pairs = make_pairs(layout, masked=masked)
    if directions == "text_to_image" and pairs.negative_image is None:
        with pytest.raises(ValueError, match="text_to_image.*negative_image is None"):
            cement(pairs, 7.0, directions=directions)
        return
    value, gradient = gradients(lambda p: cement(p, 7.0, directions=directions), pairs)
    expected, slow = gradients(lambda p: slow_loss(p, 7.0, paper_margin(pairs), directions), pairs)
    torch.testing.assert_close(value, expected)
    torch.testing.assert_close(gradient, slow)


def test_info_nce_without_negatives_is_clip_s_cross_entropy():
    pairs = make_pairs("plain", n=5)
    logits, target = 9 * pairs.image @ pairs.text.T, torch.arange(5)
    expected = (cross_entropy(logits, target) + cross_entropy(logits.T, target)) / 2
    torch.testing.assert_close(info_nce(pairs, 9.0), expected)


@pytest.mark.parametrize("layout", ["captions 2", "pictures 1"])
def test_gradcheck(layout):
    pairs = make_pairs(layout, n=3, masked=True, seed=2)

    def loss(image, text, negative_text, scale):
        changed = dataclasses.replace(pairs, image=image, text=text, negative_text=negative_text)
        return cement(changed, scale) + info_nce(changed, scale)

    inputs = (pairs.image, pairs.text, pairs.negative_text, torch.tensor(5.0, dtype=torch.float64))
    assert torch.autograd.gradcheck(loss, [value.clone().requires_grad_() for value in inputs])


@pytest.mark.parametrize("layout", LAYOUTS[1:])
def test_limits_of_the_margin(layout):
    pairs = make_pairs(layout)
    zero = cement(pairs, 7.0, margin=static_margin(0))
    torch.testing.assert_close(zero, info_nce(pairs, 7.0))
    thrice = cement(pairs, 7.0, margin=static_margin(math.log(3)))
    torch.testing.assert_close(thrice, slow_loss(pairs, 7.0, lambda i, s: 0, copies=3))
    value, gradient = gradients(lambda p: cement(p, 7.0, margin=static_margin(-math.inf)), pairs)
    expected, slow = gradients(lambda p: slow_loss(p, 7.0, lambda i, s: -math.inf), pairs)
    torch.testing.assert_close(value, expected)
    torch.testing.assert_close(gradient, slow)


def test_ln_k_is_k_copies_of_the_own_caption():
    pairs = make_pairs("captions 1", n=2)
    logits = contrastive_logits(pairs, 7.0)
    copied = torch.stack([torch.cat([logits[i], logits[i, 2 + i].repeat(3)]) for i in range(2)])
    target = torch.arange(2)
    expected = (cross_entropy(copied, target) + cross_entropy(logits[:, :2].T, target)) / 2
    torch.testing.assert_close(cement(pairs, 7.0, margin=static_margin(math.log(4))), expected)


def test_the_margin_is_at_the_own_negatives_alone():
    """DeGLA's fault: negatives laid out by sample, masked by type."""
    pairs = make_pairs("pictures 2", n=2)
    moved = contrastive_logits(pairs, 1.0, static_margin(1)) - contrastive_logits(pairs, 1.0)
    expected = torch.zeros(6, 6, dtype=torch.float64)
    for i, own in ((0, (2, 3)), (1, (4, 5))):
        for j in own:
            expected[i, j] = expected[j, i] = 1
    torch.testing.assert_close(moved, expected)
    third = contrastive_logits(pairs, 1.0)[1, 4]
    torch.testing.assert_close(third, pairs.image[1] @ pairs.negative_text[1, 0])


def test_one_negative_may_be_flat_and_a_word_may_serve_all_negatives():
    pairs = make_pairs("pictures 1")
    flat = {n: getattr(pairs, n)[:, 0] for n in ("negative_image", "negative_text", "concreteness")}
    assert cement(dataclasses.replace(pairs, **flat), 7.0) == cement(pairs, 7.0)
    several = make_pairs("captions 3")
    shared = dataclasses.replace(several, concreteness=several.concreteness[:, 0])
    spread = dataclasses.replace(several, concreteness=several.concreteness[:, :1].expand(-1, 3))
    assert cement(shared, 7.0) == cement(spread, 7.0)


@pytest.mark.parametrize("filler", [math.nan, 0.0])
@pytest.mark.parametrize("layout", ["captions 3", "pictures 1"])
def test_without_any_present_negative_the_loss_is_the_plain_one(layout, filler):
    """All logits are near -100 here: a mask of -103 instead of -inf would show beside them."""
    pairs = make_pairs(layout)
    texts = normalize(pairs.text[:1] + 0.01 * pairs.text, dim=-1)
    pairs = dataclasses.replace(pairs, image=-texts, text=texts)
    absent = dataclasses.replace(
        pairs,
        mask=torch.zeros(pairs.negative_text.shape[:2], dtype=torch.bool),
        concreteness=torch.full_like(pairs.concreteness, filler),
    )
    value, gradient = gradients(lambda p: cement(p, 100.0), absent)
    torch.testing.assert_close(value, info_nce(Pairs(pairs.image, pairs.text), 100.0))
    assert gradient[-1].abs().max() == 0


def test_logits_are_float32_whatever_the_autocast():
    pairs = make_pairs("pictures 1", dtype=torch.float32)
    scale = torch.tensor(20.0)
    for read in (cement, contrastive_logits):
        expected = read(pairs, scale)
        with torch.autocast("cpu", torch.bfloat16):
            inside = read(pairs, scale)
        assert inside.dtype == torch.float32 and torch.equal(inside, expected)
    names = ("image", "text", "negative_image", "negative_text")
    half = dataclasses.replace(pairs, **{n: getattr(pairs, n).bfloat16() for n in names})
    widened = dataclasses.replace(half, **{n: getattr(half, n).float() for n in names})
    assert torch.equal(cement(half, scale.bfloat16()), cement(widened, scale))
    assert cement(make_pairs("pictures 1"), scale).dtype == torch.float64


def test_nothing_overflows():
    one = torch.nn.functional.one_hot(torch.zeros(8, dtype=torch.long), 4).float().requires_grad_()
    words = torch.tensor([1.0, 3.999, 4.0, 4.001, 5, 5, 1, 2])
    pairs = Pairs(one, one, one, one, concreteness=words)
    torch.testing.assert_close(info_nce(pairs, 100.0).item(), math.log(16), rtol=0, atol=2e-5)
    step = fermi_dirac_margin(low=-2, high=2, midpoint=4, width=1e-9)
    loss = cement(pairs, 100.0, margin=step)
    loss.backward()
    assert loss.isfinite() and one.grad.isfinite().all()
    assert step(words)[:5].tolist() == [-2, -2, 0, 2, 2]


def test_float32_is_near_float64_at_scale_100():
    single, double = (make_pairs("pictures 1", n=32, dtype=d) for d in (torch.float32, torch.float64))
    (value, gradient), (exact, exact_gradient) = (
        gradients(lambda p: cement(p, 100.0), p) for p in (single, double)
    )
    assert abs(value - exact) < 5e-5
    for got, want in zip(gradient, exact_gradient, strict=True):
        torch.testing.assert_close(got.double(), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("loss", [info_nce, cement])
def test_the_backward_pass_keeps_one_matrix(loss):
    n, kept = 32, {}
    pairs = make_pairs("pictures 1", n=n)
    leaf = pairs.image.clone().requires_grad_()

    def keep(tensor):
        if tensor.untyped_storage().nbytes() >= (2 * n) ** 2 * 8:
            kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss(dataclasses.replace(pairs, image=leaf), 7.0).backward()
    assert len(kept) == 1


def test_fermi_dirac_margin_has_the_paper_s_values():
    words = torch.tensor([5.0, 3.0, 4.15, 3.85, 4.0], dtype=torch.float64)
    expected = torch.tensor([1.99492, -1.99492, 0.92423, -0.92423, 0.0], dtype=torch.float64)
    torch.testing.assert_close(PAPER(words), expected, rtol=0, atol=5e-6)
    for c in (1.0, 2.7, 3.76, 4.24, 5.0):
        value = PAPER(torch.tensor(c, dtype=torch.float64)).item()
        assert value == pytest.approx(4 / (1 + math.exp((4 - c) / 0.15)) - 2, abs=1e-12)
        assert value == pytest.approx(2 * math.tanh((c - 4) / 0.3), abs=1e-12)


def test_reversed_and_static_margins():
    words = torch.linspace(1, 5, 9, dtype=torch.float64)
    turned = reversed_margin(low=-1, high=3, midpoint=4, width=0.5)(words)
    for c, value in zip(words.tolist(), turned.tolist(), strict=True):
        assert value == pytest.approx((-1 - 3) / (1 + math.exp((4 - c) / 0.5)) + 3)
    assert static_margin(1.5)(words).tolist() == [1.5] * 9
    pairs = dataclasses.replace(make_pairs("pictures 1"), concreteness=None)
    expected = slow_loss(pairs, 7.0, lambda i, s: 1.5)
    torch.testing.assert_close(cement(pairs, 7.0, margin=static_margin(1.5)), expected)


def test_margins_read_well_and_stay_as_they_are():
    assert repr(PAPER) == "fermi_dirac_margin(low=-2, high=2, midpoint=4, width=0.15)"
    assert repr(reversed_margin(0, 1, 4, 0.1)).startswith("reversed_margin(low=0, high=1")
    assert repr(static_margin(1)) == "static_margin(value=1)"
    assert fermi_dirac_margin(-2, 2, 4, 0.15) == PAPER != reversed_margin(-2, 2, 4, 0.15)
    with pytest.raises(dataclasses.FrozenInstanceError):
        PAPER.width = 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fermi_dirac_margin(2, -2, 4, 0.15), "low = 2 is above high = -2"),
        (lambda: fermi_dirac_margin(-2, 2, 4, 0.0), "width = 0.0 is not positive"),
        (lambda: reversed_margin(-math.inf, 2, 4, 0.15), "low = -inf"),
        (lambda: static_margin(math.nan), "value = nan"),
        (lambda: static_margin(math.inf), "value = inf"),
    ],
)
def test_a_margin_refuses_what_has_no_meaning(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"image": torch.ones(3)}, r"image is \(3,\), expected \(B, D\)"),
        ({"image": torch.ones(0, 2)}, "B >= 1"),
        ({"text": torch.ones(3, 5)}, r"text is \(3, 5\).*\(3, 2\)"),
        ({"negative_text": torch.ones(2, 2)}, r"negative_text is \(2, 2\)"),
        ({"negative_text": torch.ones(3, 2, 4)}, r"negative_text is \(3, 2, 4\)"),
        ({"negative_text": torch.ones(3, 0, 2)}, r"negative_text is \(3, 0, 2\)"),
        ({"positive_text": torch.ones(3, 3)}, "positive_text"),
        ({"negative_image": torch.ones(3, 2)}, "negative_image is given without negative_text"),
        ({"concreteness": torch.ones(3)}, "concreteness is given without negative_text"),
        ({"negative_text": torch.ones(3, 2, 2), "negative_image": torch.ones(3, 2)}, "as many negative"),
        ({"negative_text": torch.ones(3, 2), "mask": torch.ones(3, 1)}, "mask is torch.float32"),
        ({"negative_text": torch.ones(3, 2), "mask": torch.ones(3, 2) > 0}, r"\(B, K\) = \(3, 1\)"),
        ({"negative_text": torch.ones(3, 2), "concreteness": torch.ones(3, 2)}, r"concreteness is \(3, 2\)"),
        (
            {"negative_text": torch.ones(3, 2), "concreteness": torch.tensor([1, 5, 5.1])},
            r"concreteness 5\.1 of pair 2 is outside 1\.\.5",
        ),
    ],
)
def test_pairs_name_the_value_and_the_rule(fields, message):
    with pytest.raises(ValueError, match=message):
        Pairs(**{"image": torch.ones(3, 2), "text": torch.ones(3, 2), **fields})


def test_cement_names_what_is_missing():
    pairs = make_pairs("pictures 1")
    words = pairs.concreteness.clone()
    words[2] = math.nan
    with pytest.raises(ValueError, match="margin of pair 2 is nan: fermi_dirac_margin.*needs the concr"):
        cement(dataclasses.replace(pairs, concreteness=words), 7.0)
    with pytest.raises(ValueError, match="margin of pair 0 is nan"):
        cement(dataclasses.replace(pairs, concreteness=None), 7.0)
    with pytest.raises(ValueError, match="negative_text is None"):
        cement(Pairs(pairs.image, pairs.text), 7.0)
    with pytest.raises(ValueError, match="'rows' is none of both"):
        cement(pairs, 7.0, directions="rows")


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan, torch.ones(4)])
def test_logit_scale_is_one_positive_number(scale):
    with pytest.raises(ValueError, match="logit_scale"):
        info_nce(make_pairs("plain"), scale)
