"""The shared softmax against torch's own operations: streamed or kept, its exponential safe or not."""

import math

import pytest
import torch
from torch.nn.functional import normalize

from slipform_core.loss import Pairs, cement, info_nce, softmax, static_margin
from slipform_core.loss.softmax import Own, two_way_cross_entropy


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    monkeypatch.setattr(softmax, "TILE_ROWS", 3)


def make(rows=7, captions=7, spread=1.0, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    image = spread * torch.randn(rows, 5, generator=generator, dtype=dtype)
    text = torch.randn(captions, 5, generator=generator, dtype=dtype)
    at = torch.randperm(rows * captions, generator=generator)[:6].sort().values
    at = at[at // captions != at % captions]
    if captions > rows:
        at = at[at % captions >= rows]
    margins = torch.randn(2, len(at), generator=generator, dtype=dtype)
    margins[1] *= captions == rows
    return image, text, Own(at // captions, at % captions, *margins)


def entropy(image, text, own, *, scale=None, **how):
    """In two parts each, cut at different places."""
    scale = image.new_ones(()) if scale is None else scale
    halves, rest = image.tensor_split(2), text.split([1, len(text) - 1])
    return two_way_cross_entropy(halves, rest, scale, own, **how)


def matrix(image, text, own, decoupled=False):
    return softmax._Matrix([image], [text], image.new_ones(()), own, decoupled)


def plain(image, text, own, decoupled=False):
    rows = len(image)
    logits = image @ text.T
    by_row, by_column = (logits.index_put((own.row, own.column), m, accumulate=True) for m in own[2:])
    positive = logits.diagonal()
    if decoupled:
        diagonal = torch.eye(*logits.shape, dtype=torch.bool)
        by_row, by_column = (part.masked_fill(diagonal, -math.inf) for part in (by_row, by_column))
    return ((by_row.logsumexp(1) + by_column[:, :rows].logsumexp(0)) / 2 - positive).mean()


def value_and_gradients(loss, image, text, own):
    leaves = [part.clone().requires_grad_() for part in (image, text, *own[2:])]
    value = loss(leaves[0], leaves[1], Own(*own[:2], *leaves[2:]))
    return value.detach(), torch.autograd.grad(value, leaves)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("captions", [7, 12])
@pytest.mark.parametrize("spread", [1.0, 300.0])
def test_it_is_torch_s_logsumexp(captions, decoupled, stream, spread):
    """At a spread of 300 a row lies so far below another that they cannot share an exponential."""
    given = make(captions=captions, spread=spread)
    assert (softmax._sums(matrix(*given, decoupled), share=True) is None) == (spread > 1)
    loss = lambda *parts: entropy(*parts, decoupled=decoupled, stream=stream)  # noqa: E731
    got = value_and_gradients(loss, *given)
    torch.testing.assert_close(got, value_and_gradients(lambda *p: plain(*p, decoupled), *given))


@pytest.mark.parametrize("stream", [False, True])
def test_gradcheck_in_images_texts_and_margins(stream):
    image, text, own = make()
    scale = torch.tensor(1.3, dtype=torch.float64)

    def loss(image, text, rows, columns, scale):
        return entropy(image, text, Own(*own[:2], rows, columns), scale=scale, stream=stream)

    assert torch.autograd.gradcheck(loss, [p.requires_grad_() for p in (image, text, *own[2:], scale)])


@pytest.mark.parametrize("stream", [False, True])
def test_just_inside_the_guard_no_digit_is_lost(stream):
    """Rows 59 below the greatest logit, in float32, against float64."""
    image = torch.tensor([[60.0, 0], [0, 1], [0, 1.5], [1, 1]])
    text = torch.tensor([[1.0, 0], [0.1, 0.9], [0, 1], [0.3, 0.2]])
    own = Own(torch.tensor([1]), torch.tensor([2]), torch.tensor([1.0]), torch.tensor([-1.0]))
    assert softmax._sums(matrix(image, text, own), share=True) is not None
    double = (image.double(), text.double(), Own(*own[:2], own[2].double(), own[3].double()))
    exact = value_and_gradients(plain, *double)
    got = value_and_gradients(lambda *p: entropy(*p, stream=stream), image, text, own)
    torch.testing.assert_close(got[0].double(), exact[0], rtol=1e-6, atol=1e-6)
    for ours, theirs in zip(got[1], exact[1], strict=True):
        torch.testing.assert_close(ours.double(), theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("below", [95.0, 200.0])
@pytest.mark.parametrize("turned", [False, True])
def test_a_row_or_a_column_far_below_the_others_keeps_its_digits(turned, below, stream):
    """An exponential that it shared with them would have few digits in float32, or none."""
    image = torch.tensor([[1.0, 0.3], [1 - below, 1], [1, -0.7]])
    text = torch.tensor([[1.0, 0], [1, 1], [1, -1]])
    own = Own(torch.tensor([1]), torch.tensor([2]), torch.tensor([1.0]), torch.tensor([-1.0]))
    image, text = (text, image) if turned else (image, text)
    double = (image.double(), text.double(), Own(*own[:2], own[2].double(), own[3].double()))
    exact = value_and_gradients(plain, *double)
    got = value_and_gradients(lambda *p: entropy(*p, stream=stream), image, text, own)
    for ours, theirs in zip((got[0], *got[1]), (exact[0], *exact[1]), strict=True):
        torch.testing.assert_close(ours.double(), theirs, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("stream", [False, True])
def test_an_own_negative_far_above_all_else_does_not_overflow(stream):
    """Its margin lifts it above the greatest logit by more than an exponential in float32 can hold."""
    image, text, own = make(dtype=torch.float32)
    lifted = Own(*own[:2], own.row_margin + 200, own.column_margin + 150)
    got = value_and_gradients(lambda *p: entropy(*p, stream=stream), image, text, lifted)
    exact = value_and_gradients(plain, image, text, lifted)
    torch.testing.assert_close(got, exact, rtol=1e-5, atol=1e-6)


def features(n=10, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    parts = normalize(torch.randn(4, n, 6, generator=generator, dtype=torch.float64), dim=-1).to(dtype)
    return Pairs(*parts, concreteness=1 + 4 * torch.rand(n, generator=generator))


@pytest.mark.parametrize("objective", [info_nce, cement])
def test_streamed_is_dense(objective):
    pairs = features()
    values = []
    for stream in (False, True):
        scale = torch.tensor(50.0, requires_grad=True)
        image = pairs.image.clone().requires_grad_()
        part = Pairs(image, pairs.text, pairs.negative_image, pairs.negative_text, pairs.concreteness)
        loss = objective(part, scale, stream=stream)
        values.append((loss.detach(), *torch.autograd.grad(loss, (image, scale))))
    torch.testing.assert_close(values[0], values[1], rtol=1e-5, atol=1e-6)


def test_a_large_matrix_is_streamed(monkeypatch):
    kept = []
    real = softmax._Matrix.keep
    monkeypatch.setattr(softmax._Matrix, "keep", lambda self: kept.append(self) or real(self))
    info_nce(features(), 5.0)
    assert len(kept) == 1
    monkeypatch.setattr(softmax, "KEPT_ENTRIES", 399)
    info_nce(features(), 5.0)
    assert len(kept) == 1


def test_a_gradient_may_be_asked_for_twice():
    pairs = features()
    leaf = pairs.image.clone().requires_grad_()
    loss = cement(
        Pairs(
            leaf, *(getattr(pairs, n) for n in ("text", "negative_image", "negative_text", "concreteness"))
        ),
        9.0,
    )
    first = torch.autograd.grad(loss, leaf, retain_graph=True)
    assert torch.equal(first[0], torch.autograd.grad(loss, leaf)[0])


@pytest.mark.parametrize("stream", [False, True])
def test_nan_features_make_a_nan_loss(stream):
    pairs = features()
    pairs.image[3] = math.nan
    assert cement(pairs, 9.0, stream=stream).isnan()


@pytest.mark.parametrize("stream", [False, True])
def test_zero_features_are_as_far_from_all(stream):
    zeros = torch.zeros(4, 6)
    pairs = Pairs(zeros, zeros, zeros, zeros)
    assert info_nce(pairs, 100.0, stream=stream).item() == pytest.approx(math.log(8))


def test_a_scale_above_one_hundred_is_computed_as_it_is():
    pairs = features(dtype=torch.float64)
    big = Pairs(
        *(20 * part for part in (pairs.image, pairs.text, pairs.negative_image)), pairs.negative_text * 20
    )
    torch.testing.assert_close(info_nce(pairs, 4000.0), info_nce(big, 10.0))


def test_the_same_pair_twice_is_two_pairs():
    """Then each is the other's negative, as in CLIP: `Pool.batch` has a picture once a batch."""
    pairs = features(n=1, dtype=torch.float64)
    twice = Pairs(pairs.image.repeat(2, 1), pairs.text.repeat(2, 1))
    assert info_nce(twice, 9.0).item() == pytest.approx(math.log(2))


@pytest.mark.parametrize("stream", [False, True])
def test_a_margin_of_minus_infinity_removes_the_own_negative(stream):
    pairs = features(dtype=torch.float64)
    loss = cement(pairs, 9.0, static_margin(-math.inf), stream=stream)
    logits = (
        9 * torch.cat([pairs.image, pairs.negative_image]) @ torch.cat([pairs.text, pairs.negative_text]).T
    )
    logits.diagonal(10).fill_(-math.inf)
    logits.diagonal(-10).fill_(-math.inf)
    torch.testing.assert_close(
        loss, ((logits.logsumexp(0) + logits.logsumexp(1)) / 2 - logits.diagonal()).mean()
    )
