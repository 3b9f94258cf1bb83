"""Each objective against its formula, written out pair by pair, in float64."""

import dataclasses
import math

import pytest
import torch
from torch.nn.functional import normalize

from slipform_core.loss import (
    LOSSES,
    CeClip,
    Pairs,
    SigLip,
    cement,
    clic,
    dcl,
    degla,
    fermi_dirac_margin,
    fsc_clip,
    hard_positives,
    info_nce,
    make_objective,
    neg_clip,
    static_margin,
    triplet_clip,
    tsvlc,
)

SCALE = 7.0
MARGIN = fermi_dirac_margin(low=-2, high=2, midpoint=4, width=0.15)
TEACHER = ("image", "text", "negative_image", "negative_text")


def make_pairs(k=2, pictures=False, masked=False, n=4, positives=2, seed=0, teacher=True) -> Pairs:
    generator = torch.Generator().manual_seed(seed)

    def unit(*shape):
        return normalize(torch.randn(*shape, 6, generator=generator, dtype=torch.float64), dim=-1)

    fields = {"image": unit(n), "text": unit(n), "negative_text": unit(n, k)}
    if pictures:
        fields["negative_image"] = unit(n, k)
    mask = (
        torch.tensor([[True] * k, [False] * k, *[[True] + [False] * (k - 1)] * (n - 2)]) if masked else None
    )
    moved = {name: normalize(part + 0.3 * unit(*part.shape[:-1]), dim=-1) for name, part in fields.items()}
    return Pairs(
        **fields,
        concreteness=3.7 + 0.6 * torch.rand(n, k, generator=generator, dtype=torch.float64),
        mask=mask,
        positive_text=unit(n, positives) if positives else None,
        teacher=Pairs(**moved) if teacher else None,
    )


class Slow:
    """The pairs as lists, and the pieces from which the formulas are written."""

    def __init__(self, pairs: Pairs, scale: float = SCALE):
        self.pairs, self.scale, self.n = pairs, scale, len(pairs.image)
        self.v, self.t = list(pairs.image), list(pairs.text)
        shape = (self.n, pairs.negatives, -1)
        mask = torch.ones(shape[:2], dtype=torch.bool) if pairs.mask is None else pairs.mask
        texts = pairs.negative_text.view(shape)
        self.own = [[texts[i, k] for k in range(shape[1]) if mask[i, k]] for i in range(self.n)]
        self.k = [[k for k in range(shape[1]) if mask[i, k]] for i in range(self.n)]
        if pairs.negative_image is not None:
            images = pairs.negative_image.view(shape)
            self.own_v = [[images[i, k] for k in self.k[i]] for i in range(self.n)]

    def s(self, x, y):
        return self.scale * (x * y).sum()

    def m(self, i, k):
        return 2 * math.tanh((self.pairs.concreteness[i, k].item() - 4) / 0.3)

    @staticmethod
    def nll(right, others):
        return torch.stack([right, *others]).logsumexp(0) - right

    @staticmethod
    def mean(values):
        return torch.stack(values).mean() if values else torch.tensor(0.0, dtype=torch.float64)

    def columns(self):
        rows = range(self.n)
        return self.mean(
            [
                self.nll(self.s(self.v[i], self.t[i]), [self.s(self.v[j], self.t[i]) for j in rows if j != i])
                for i in rows
            ]
        )

    def neg_clip(self, margin=False, decoupled=False):
        losses, of_columns = [], []
        for i in range(self.n):
            right = self.s(self.v[i], self.t[i])
            others = [self.s(self.v[i], self.t[j]) for j in range(self.n) if j != i]
            for j in range(self.n):
                for k, text in zip(self.k[j], self.own[j], strict=True):
                    others.append(self.s(self.v[i], text) + (self.m(i, k) if margin and i == j else 0))
            pictures = [self.s(self.v[j], self.t[i]) for j in range(self.n) if j != i]
            if decoupled:
                losses.append(torch.stack(others).logsumexp(0) - right)
                of_columns.append(torch.stack(pictures).logsumexp(0) - right)
            else:
                losses.append(self.nll(right, others))
                of_columns.append(self.nll(right, pictures))
        return (self.mean(losses) + self.mean(of_columns)) / 2

    def clip(self, texts=None):
        texts = self.t if texts is None else texts
        plain = Pairs(self.pairs.image, torch.stack(texts), negative_text=torch.stack(texts))
        slow = Slow(plain, self.scale)
        slow.own, slow.k = [[] for _ in texts], [[] for _ in texts]
        return slow.neg_clip()

    def private(self):
        return self.mean(
            [
                self.nll(self.s(self.v[i], self.t[i]), [self.s(self.v[i], text) for text in self.own[i]])
                for i in range(self.n)
                if self.own[i]
            ]
        )


def slow_tsvlc(slow):
    return slow.neg_clip() + slow.private()


def slow_fsc(slow):
    losses = []
    for i in range(slow.n):
        if slow.own[i]:
            p = torch.stack([slow.s(slow.v[i], text) for text in [slow.t[i], *slow.own[i]]]).softmax(0)
            q = [0.02 / len(p)] * len(p)
            q[0] += 0.98
            losses.append(-sum(q[k] * (1 - p[k]) ** 2 * p[k].log() for k in range(len(p))))
    return slow.clip() + 0.5 * slow.mean(losses)


def slow_positives(slow):
    paraphrases = slow.pairs.positive_text.view(slow.n, -1, slow.pairs.text.shape[1])
    return [slow.t, *(list(paraphrases[:, p]) for p in range(paraphrases.shape[1]))]


def slow_clic(slow):
    each = []
    for texts in slow_positives(slow):
        two_way = [
            slow.nll(slow.s(slow.v[i], texts[i]), [slow.s(slow.v[i], text)])
            for i in range(slow.n)
            for text in slow.own[i]
        ]
        each.append(0.5 * slow.clip(texts) + 0.5 * slow.mean(two_way))
    first = slow_positives(slow)[1]
    near = slow.mean([((slow.t[i] - first[i]) ** 2).sum() for i in range(slow.n)])
    return slow.mean(each) + near


def slow_hard_positives(slow):
    losses = []
    for texts in slow_positives(slow):
        changed = Slow(dataclasses.replace(slow.pairs, text=torch.stack(texts)), slow.scale)
        losses.append(changed.neg_clip())
    return slow.mean(losses)


def slow_degla(slow):
    taught = slow.pairs.teacher
    by_text, squares = [], 0
    negatives = taught.negative_text.view(slow.n, slow.pairs.negatives, -1)
    for i in range(slow.n):
        if slow.own[i]:
            right = 10 * (slow.t[i] * taught.text[i]).sum()
            by_text.append(slow.nll(right, [10 * (slow.t[i] * text).sum() for text in slow.own[i]]))
        squares = (
            squares + ((slow.v[i] - taught.image[i]) ** 2).sum() + ((slow.t[i] - taught.text[i]) ** 2).sum()
        )
        for k, text in zip(slow.k[i], slow.own[i], strict=True):
            squares = squares + ((text - negatives[i, k]) ** 2).sum()
    return slow.neg_clip() + 0.1 * slow.private() + 0.1 * slow.mean(by_text) + 0.005 * squares


def slow_ce(slow, thresholds=(0, 0, 0)):
    rank, among = [], []
    everyone = [text for own in slow.own for text in own]
    for i in range(slow.n):
        right = slow.s(slow.v[i], slow.t[i])
        among.append(slow.nll(right, [slow.s(slow.t[i], text) for text in everyone]))
        for k, text in zip(slow.k[i], slow.own[i], strict=True):
            rank.append((thresholds[k] + slow.s(slow.v[i], text) - right).clamp(min=0))
    return slow.neg_clip() + 0.2 * slow.mean(rank) + 0.3 * slow.mean(among)


def slow_triplet(slow, margin=False):
    pairs = slow.pairs
    rows = [i for i in range(slow.n) if slow.own[i]]
    second = Pairs(
        torch.stack([slow.own_v[i][0] for i in rows]),
        torch.stack([slow.own[i][0] for i in rows]),
        negative_text=pairs.text[rows],
        concreteness=pairs.concreteness[rows],
    )
    return slow.neg_clip(margin) + Slow(second, slow.scale).neg_clip(margin)


def slow_sig_lip(slow, bias=-10.0):
    total = 0
    images = [(i, None, slow.v[i]) for i in range(slow.n)]
    texts = [(i, None, slow.t[i]) for i in range(slow.n)]
    for i in range(slow.n):
        texts += [(i, k, text) for k, text in zip(slow.k[i], slow.own[i], strict=True)]
        if slow.pairs.negative_image is not None:
            images += [(i, k, image) for k, image in zip(slow.k[i], slow.own_v[i], strict=True)]
    for i, k, image in images:
        for j, other, text in texts:
            z = 1 if (i, k) == (j, other) else -1
            total = total + (1 + (-z * (slow.s(image, text) + bias)).exp()).log()
    return total / len(images)


ORACLES = {
    "neg_clip": (neg_clip, Slow.neg_clip),
    "neg_clip with a margin": (lambda p, a: neg_clip(p, a, MARGIN), lambda s: s.neg_clip(margin=True)),
    "dcl": (
        lambda p, a: dcl(dataclasses.replace(p, negative_image=None), a),
        lambda s: s.neg_clip(decoupled=True),
    ),
    "dcl with a margin": (
        lambda p, a: dcl(dataclasses.replace(p, negative_image=None), a, MARGIN),
        lambda s: s.neg_clip(margin=True, decoupled=True),
    ),
    "tsvlc": (tsvlc, slow_tsvlc),
    "fsc_clip": (fsc_clip, slow_fsc),
    "clic": (clic, slow_clic),
    "hard_positives": (hard_positives, slow_hard_positives),
    "degla": (degla, slow_degla),
    "ce_clip": (lambda p, a: CeClip(p.negatives)(p, a), slow_ce),
    "sig_lip": (lambda p, a: SigLip()(p, a), slow_sig_lip),
}


def value_and_gradients(loss, pairs):
    names = [n for n in (*TEACHER, "positive_text") if getattr(pairs, n) is not None]
    leaves = {name: getattr(pairs, name).clone().requires_grad_() for name in names}
    value = loss(dataclasses.replace(pairs, **leaves))
    return value.detach(), torch.autograd.grad(value, list(leaves.values()), materialize_grads=True)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("name", ORACLES)
def test_an_objective_is_its_formula(name, k, masked):
    objective, slow = ORACLES[name]
    pairs = make_pairs(k, pictures=True, masked=masked)
    got = value_and_gradients(lambda p: objective(p, SCALE), pairs)
    torch.testing.assert_close(got, value_and_gradients(lambda p: slow(Slow(p)), pairs))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("margin", [False, True])
def test_triplet_clip_is_its_formula(margin, masked):
    pairs = make_pairs(1, pictures=True, masked=masked)
    got = value_and_gradients(lambda p: triplet_clip(p, SCALE, MARGIN if margin else None), pairs)
    torch.testing.assert_close(got, value_and_gradients(lambda p: slow_triplet(Slow(p), margin), pairs))


def test_dcl_with_negative_pictures_leaves_out_the_positive_alone():
    pairs = make_pairs(1, pictures=True)
    image, text = (
        torch.cat([a, b[:, 0]])
        for a, b in ((pairs.image, pairs.negative_image), (pairs.text, pairs.negative_text))
    )
    logits = SCALE * image @ text.T
    rest = logits.masked_fill(torch.eye(8, dtype=torch.bool), -math.inf)
    expected = (rest.logsumexp(1) + rest.logsumexp(0)).mean() / 2 - logits.diagonal().mean()
    torch.testing.assert_close(dcl(pairs, SCALE), expected)


@pytest.mark.parametrize("name", [*LOSSES])
def test_gradcheck(name):
    pairs = make_pairs(1, pictures=True, n=3, positives=1)
    objective = made(name)

    def loss(image, text, negative_text, negative_image, positive_text, scale):
        changed = dataclasses.replace(
            pairs,
            image=image,
            text=text,
            negative_text=negative_text,
            negative_image=negative_image,
            positive_text=positive_text,
        )
        return objective(changed, scale)

    parts = (pairs.image, pairs.text, pairs.negative_text, pairs.negative_image, pairs.positive_text)
    inputs = [part.clone().requires_grad_() for part in parts]
    scale = torch.tensor(SCALE, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(loss, [*inputs, scale])


def made(name):
    objective = make_objective(name, **({"negatives": 1} if name == "ce_clip" else {}))
    return objective.double().eval() if isinstance(objective, torch.nn.Module) else objective


@pytest.mark.parametrize("name", [*LOSSES])
def test_objectives_are_called_alike(name):
    pairs = make_pairs(1, pictures=True)
    value = made(name)(pairs, torch.tensor([SCALE]))
    assert value.shape == () and value.dtype == torch.float64
    single = Pairs(**{part: getattr(pairs, part).float() for part in (*TEACHER, "positive_text")})
    teacher = Pairs(**{part: getattr(pairs.teacher, part).float() for part in TEACHER})
    single = dataclasses.replace(single, concreteness=pairs.concreteness, teacher=teacher)
    with torch.autocast("cpu", torch.bfloat16):
        inside = made(name)(single, SCALE)
    assert inside.dtype == torch.float32 and inside.item() == pytest.approx(value.item(), rel=1e-5)


def test_an_unknown_setting_is_named_with_those_there_are():
    with pytest.raises(TypeError, match="tsvlc has no setting 'wieght'; it has: weight$"):
        make_objective("tsvlc", wieght=2)
    with pytest.raises(TypeError, match="ce_clip has no setting 'gamma'; it has: negatives, rank_weight"):
        make_objective("ce_clip", gamma=2)
    with pytest.raises(ValueError, match="unknown loss 'infonce'; the losses are: info_nce, cement"):
        make_objective("infonce")


def test_some_of_the_pairs_are_taken_with_all_that_belongs_to_them():
    pairs = make_pairs(2, pictures=True, masked=True)
    taken = pairs.take(torch.tensor([3, 1]))
    for name in ("image", "text", "negative_image", "negative_text", "concreteness", "mask", "positive_text"):
        assert torch.equal(getattr(taken, name), getattr(pairs, name)[[3, 1]]), name
    assert torch.equal(taken.teacher.negative_text, pairs.teacher.negative_text[[3, 1]])


@pytest.mark.parametrize("name", sorted({*LOSSES} - {"info_nce", "dcl", "sig_lip", "hard_positives"}))
def test_without_negatives_an_objective_says_what_it_needs(name):
    pairs = make_pairs(1)
    plain = Pairs(pairs.image, pairs.text, teacher=Pairs(pairs.image, pairs.text))
    with pytest.raises(ValueError, match=r"negative|K = 1 and gets 0"):
        made(name)(plain, SCALE)


@pytest.mark.parametrize("name", [*LOSSES])
def test_with_every_negative_missing_nothing_is_nan(name):
    pairs = make_pairs(1, pictures=True)
    absent = dataclasses.replace(
        pairs,
        negative_text=torch.zeros_like(pairs.negative_text),
        negative_image=torch.zeros_like(pairs.negative_image),
        concreteness=None,
        mask=torch.zeros(4, 1, dtype=torch.bool),
    )
    value, gradient = value_and_gradients(lambda p: made(name)(p, SCALE), absent)
    assert value.isfinite() and all(part.isfinite().all() for part in gradient)


def test_limits():
    pairs = make_pairs(3)
    torch.testing.assert_close(tsvlc(pairs, SCALE, weight=0), neg_clip(pairs, SCALE))
    torch.testing.assert_close(
        degla(pairs, SCALE, image_weight=0, text_weight=0, distil_weight=0), neg_clip(pairs, SCALE)
    )
    torch.testing.assert_close(CeClip(3, rank_weight=0, text_weight=0)(pairs, SCALE), neg_clip(pairs, SCALE))
    plain = Pairs(pairs.image, pairs.text)
    torch.testing.assert_close(fsc_clip(pairs, SCALE, weight=0), info_nce(plain, SCALE))
    without = dataclasses.replace(pairs, positive_text=None)
    torch.testing.assert_close(
        clic(without, SCALE, contrast_weight=1, negative_weight=0), info_nce(plain, SCALE)
    )
    own = fsc_clip(pairs, SCALE, weight=1, gamma=0, smoothing=0) - info_nce(plain, SCALE)
    torch.testing.assert_close(own, tsvlc(pairs, SCALE) - neg_clip(pairs, SCALE))
    torch.testing.assert_close(neg_clip(pairs, SCALE, static_margin(0)), neg_clip(pairs, SCALE))
    torch.testing.assert_close(neg_clip(pairs, SCALE, MARGIN), cement(pairs, SCALE, MARGIN))


def test_paraphrases_equal_to_the_caption_change_nothing():
    pairs = make_pairs(2, positives=0)
    same = dataclasses.replace(pairs, positive_text=pairs.text)
    torch.testing.assert_close(hard_positives(same, SCALE), neg_clip(pairs, SCALE))
    torch.testing.assert_close(clic(same, SCALE), clic(pairs, SCALE))
    plain = Pairs(pairs.image, pairs.text, positive_text=pairs.text)
    torch.testing.assert_close(hard_positives(plain, SCALE), info_nce(plain, SCALE))


def test_siglip_without_negatives_is_open_clip_s():
    import slipform_core.torchvision_import  # noqa: F401, I001, before open_clip
    import open_clip

    pairs = make_pairs(1)
    theirs = open_clip.loss.SigLipLoss()(pairs.image, pairs.text, SCALE, torch.tensor(-10.0))
    torch.testing.assert_close(SigLip().double()(Pairs(pairs.image, pairs.text), SCALE), theirs)


def test_siglip_s_bias_learns():
    objective = SigLip()
    objective(make_pairs(1), SCALE).backward()
    assert objective.bias.grad.isfinite() and objective.bias.grad != 0
    assert list(objective.state_dict()) == ["bias"]


def test_ce_clip_s_thresholds_follow_the_gaps_in_training_alone():
    pairs = make_pairs(2, seed=3)
    objective = CeClip(2).double()
    first = objective(pairs, SCALE)
    own = SCALE * (pairs.negative_text * pairs.image[:, None]).sum(-1)
    gaps = SCALE * (pairs.image * pairs.text).sum(1).mean() - own.mean(0)
    torch.testing.assert_close(objective.thresholds, gaps.clamp(0, 10))
    assert objective.thresholds.max() > 0
    second = objective.eval()(pairs, SCALE)
    torch.testing.assert_close(second, slow_ce(Slow(pairs), objective.thresholds.tolist()))
    assert second > first
    kept = objective.thresholds.clone()
    objective(make_pairs(2, seed=4), SCALE)
    assert torch.equal(objective.thresholds, kept)
    again = CeClip(2)
    again.load_state_dict({"thresholds": objective.thresholds})
    torch.testing.assert_close(again.double().eval()(pairs, SCALE), second)
    certain = Pairs(pairs.image, pairs.image, negative_text=-pairs.image)
    wide = CeClip(1)
    wide(certain, 100.0)
    assert wide.thresholds.tolist() == [10]


def test_ce_clip_keeps_the_threshold_of_a_kind_that_is_missing():
    pairs = make_pairs(2, seed=3)
    objective = CeClip(2)
    objective.thresholds.fill_(3)
    objective(dataclasses.replace(pairs, mask=torch.tensor([[True, False]] * 4)), SCALE)
    assert objective.thresholds[0] != 3 and objective.thresholds[1] == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: triplet_clip(dataclasses.replace(p, negative_image=None), 1.0), "it has 2 and 0"),
        (lambda p: triplet_clip(p, 1.0), "it has 2 and 2"),
        (lambda p: degla(dataclasses.replace(p, teacher=None), 1.0), "pairs.teacher is None"),
        (lambda p: hard_positives(dataclasses.replace(p, positive_text=None), 1.0), "positive_text is None"),
        (lambda p: dcl(Pairs(p.image[:1], p.text[:1]), 1.0), "batch of 1 pair"),
        (lambda p: CeClip(3)(p, 1.0), "K = 3 and gets 2"),
        (lambda p: make_objective("cemnt"), "unknown loss 'cemnt'; the losses are: info_nce, cement"),
        (
            lambda p: dataclasses.replace(p, teacher=Pairs(p.image, p.text)),
            r"\(4, 6, 0\), expected \(4, 6, 2\)",
        ),
    ],
)
def test_errors_name_the_value_and_the_rule(call, message):
    with pytest.raises(ValueError, match=message):
        call(make_pairs(2, pictures=True))
