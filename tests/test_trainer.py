"""Training: exact resume, the schedule, what is decayed, clipped and clamped, and the log."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from toy_task import MARGIN, SETTINGS, Killed, fresh, killed_at, log_of, pool, run, settings

from slipform_core import trainer
from slipform_core.data import Batch, Pool
from slipform_core.loss import cement, info_nce
from slipform_core.trainer import learning_rate, make_optimizer, train


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    run(folder)
    return folder


def tear(folder: Path) -> None:
    """What a kill in the middle of writing leaves."""
    with (folder / "log.jsonl").open("a") as log:
        log.write('{"step": 5, "lo')
    (folder / "checkpoint.pt.partial").write_bytes(b"PK half a checkpoint")


def lose(folder: Path) -> None:
    """A kill before what came after the checkpoint reached the disk."""
    log = folder / "log.jsonl"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:4]))


@pytest.mark.parametrize(
    ("kills", "leave"),
    [([1], None), ([5], None), ([5], tear), ([5], lose), ([3, 2, 2], tear)],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_killed_training_ends_as_if_undisturbed(kills, leave, undisturbed: Path, tmp_path: Path) -> None:
    for step in kills:
        with pytest.raises(Killed):
            run(tmp_path, objective=killed_at(step))
        if leave:
            leave(tmp_path)
    # The weights that it starts from now are others: all that matters is in the checkpoint.
    begun = kills[0] >= SETTINGS.checkpoint_every
    run(tmp_path, clip=fresh(seed=9) if begun else None)
    assert (tmp_path / "log.jsonl").read_bytes() == (undisturbed / "log.jsonl").read_bytes()
    assert (tmp_path / "weights.safetensors").read_bytes() == (
        undisturbed / "weights.safetensors"
    ).read_bytes()
    assert not (tmp_path / "checkpoint.pt").exists()


class Watched(Pool):
    """A pool that notes which batches are asked for."""

    def batch(self, step: int, size: int, *, seed: int, part=(0, 1)) -> Batch:
        asked.append((step, size, seed))
        return super().batch(step, size, seed=seed, part=part)


asked: list[tuple[int, int, int]] = []


def test_each_step_has_a_batch_of_its_own_before_a_kill_and_after(tmp_path: Path) -> None:
    clip = fresh()
    watched = Watched(**vars(pool(clip, negatives=True)))
    asked.clear()
    with pytest.raises(Killed):
        train(clip, watched, killed_at(5), SETTINGS, folder=tmp_path, name="arm")
    train(clip, watched, info_nce, SETTINGS, folder=tmp_path, name="arm")
    assert asked == [(step, 4, 3) for step in [0, 1, 2, 3, 4, 5, 4, 5, 6]]


def test_the_log_is_on_disk_as_far_as_the_checkpoint(tmp_path: Path) -> None:
    steps = []

    def objective(pairs, scale):
        checkpoint = tmp_path / "checkpoint.pt"
        if checkpoint.is_file():
            steps.append(torch.load(checkpoint, weights_only=True)["step"])
            assert len(log_of(tmp_path)) >= steps[-1]
        return info_nce(pairs, scale)

    run(tmp_path, objective=objective)
    assert steps == [2, 2, 4, 4, 6]


def test_a_kill_in_the_middle_of_a_checkpoint_leaves_the_one_before(
    undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(state: dict, path: Path) -> None:
        path.write_bytes(b"PK half a checkpoint")
        raise Killed

    with pytest.raises(Killed):
        run(tmp_path, objective=killed_at(3))
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(torch, "save", half)
        run(tmp_path)
    run(tmp_path, clip=fresh(seed=9))
    assert (tmp_path / "log.jsonl").read_bytes() == (undisturbed / "log.jsonl").read_bytes()
    assert (tmp_path / "weights.safetensors").read_bytes() == (
        undisturbed / "weights.safetensors"
    ).read_bytes()


def test_training_does_not_hang_on_global_seeds(undisturbed: Path, tmp_path: Path) -> None:
    torch.manual_seed(123)
    np.random.seed(123)
    run(tmp_path)
    assert (tmp_path / "weights.safetensors").read_bytes() == (
        undisturbed / "weights.safetensors"
    ).read_bytes()
    other = tmp_path / "other"
    run(other, settings(seed=4))
    assert (other / "log.jsonl").read_bytes() != (undisturbed / "log.jsonl").read_bytes()


@pytest.mark.parametrize(("steps", "warmup"), [(10, 4), (10, 0), (3, 5), (1, 0), (500, 60)])
def test_the_learning_rate_is_warm_up_and_cosine(steps: int, warmup: int) -> None:
    given = settings(steps=steps, warmup=warmup, learning_rate=0.3)
    rates = [learning_rate(step, given) for step in range(steps)]
    assert all(0 < rate <= 0.3 for rate in rates)
    rising = min(warmup, steps)
    assert rates[:rising] == pytest.approx(np.arange(1, rising + 1) * 0.3 / max(warmup, 1))
    falling = np.linspace(0, np.pi, max(steps - warmup, 0) + 1)[:-1]
    assert rates[rising:] == pytest.approx(0.15 + 0.15 * np.cos(falling))
    assert max(rates[rising:], default=0.3) == pytest.approx(0.3)
    if warmup < steps:
        assert learning_rate(steps, given) == pytest.approx(0, abs=1e-12)


def test_the_logged_learning_rate_is_the_schedule(undisturbed: Path) -> None:
    assert [line["learning_rate"] for line in log_of(undisturbed)] == [
        learning_rate(step, SETTINGS) for step in range(7)
    ]
    assert [line["step"] for line in log_of(undisturbed)] == list(range(7))


def test_matrices_are_decayed_and_what_open_clip_exempts_is_not() -> None:
    model = fresh().model
    decayed, rest = make_optimizer(model, SETTINGS).param_groups
    assert (decayed["weight_decay"], rest["weight_decay"]) == (0.1, 0.0)
    names = {id(weight): name for name, weight in model.named_parameters()}
    exempt = {names[id(weight)] for weight in rest["params"]}
    # timm's optimizers, which open_clip hands this set to, exempt vectors and scalars by themselves.
    small = {name for name, weight in model.named_parameters() if weight.ndim < 2}
    assert exempt == small | model.no_weight_decay()
    assert {names[id(weight)] for weight in decayed["params"]} == set(names.values()) - exempt
    assert {"logit_scale", "text.ln_final.weight", "visual.positional_embedding"} <= exempt


@pytest.mark.parametrize(
    "name", ["text.text_projection", "visual.positional_embedding", "visual.ln_post.bias"]
)
def test_the_first_step_is_adamw_s_in_closed_form(name: str, tmp_path: Path) -> None:
    given = settings(steps=1, warmup=4, gradient_clip=1e-3, weight_decay=50.0)
    before = dict(fresh().model.named_parameters())[name].detach().clone()
    weight = dict(run(tmp_path, given).model.named_parameters())[name]
    rate = 1e-3 / 4
    decay = 50.0 if name == "text.text_projection" else 0.0
    # Bias correction makes both averages of the first step the gradient's own: the clipped one's.
    expected = before * (1 - rate * decay) - rate * weight.grad / (weight.grad.abs() + 1e-8)
    torch.testing.assert_close(weight.detach(), expected, atol=1e-7, rtol=1e-5)


@pytest.mark.parametrize("limit", [1e-2, 1e4])
def test_gradients_are_clipped_to_the_limit_and_their_norm_is_logged_before(
    limit: float, tmp_path: Path
) -> None:
    clip = run(tmp_path, settings(steps=1, gradient_clip=limit))
    norm = math.sqrt(sum(weight.grad.double().square().sum().item() for weight in clip.model.parameters()))
    [line] = log_of(tmp_path)
    assert 1e-2 < line["gradient_norm"] < 1e4
    assert norm == pytest.approx(min(limit, line["gradient_norm"]), rel=1e-4)


@pytest.mark.parametrize(("start", "sign", "end"), [(math.log(100) + 1, -1, 100), (-1.0, 1, 1)])
def test_the_scale_stays_within_1_and_100(start: float, sign: int, end: float, tmp_path: Path) -> None:
    clip = fresh()
    with torch.no_grad():
        clip.model.logit_scale.fill_(start)
    # The gradient pushes the scale further out of its range.
    run(tmp_path, settings(steps=1), lambda pairs, scale: info_nce(pairs, scale) + sign * scale, clip=clip)
    assert clip.logit_scale.item() == pytest.approx(end, rel=1e-6)
    assert log_of(tmp_path)[0]["scale"] == clip.logit_scale.item() <= 100.0001


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_stops_with_its_name_and_step(value: float, tmp_path: Path) -> None:
    calls = iter([1.0, 1.0, 1.0, value])
    with pytest.raises(FloatingPointError, match=f"the loss of arm is {value} at step 3"):
        run(tmp_path, objective=lambda pairs, scale: info_nce(pairs, scale) * next(calls))
    assert not (tmp_path / "weights.safetensors").exists()
    assert [line["step"] for line in log_of(tmp_path)] == [0, 1, 2]


def slow_share(pairs, scale: float, margin) -> float:
    """Mean over pictures of the own hard negative's part of the probability of all wrong captions."""
    images = torch.cat([pairs.image, pairs.negative_image]).double().tolist()
    texts = torch.cat([pairs.text, pairs.negative_text]).double().tolist()
    half, shares = len(images) // 2, []
    for i, image in enumerate(images):
        own = (i + half) % (2 * half)
        logits = [scale * sum(a * b for a, b in zip(image, text, strict=True)) for text in texts]
        if margin:
            logits[own] += margin(pairs.concreteness[i % half].double()).item()
        wrong = [math.exp(logit) for j, logit in enumerate(logits) if j != i]
        shares.append(math.exp(logits[own]) / math.fsum(wrong))
    return sum(shares) / len(shares)


@pytest.mark.parametrize("margin", [None, MARGIN])
def test_the_logged_share_is_the_slow_computation(margin, tmp_path: Path) -> None:
    seen = []

    def objective(pairs, scale):
        seen.append(slow_share(pairs, scale.item(), margin))
        return cement(pairs, scale, margin=margin) if margin else info_nce(pairs, scale)

    run(tmp_path, settings(steps=3), objective, margin=margin)
    assert [line["share"] for line in log_of(tmp_path)] == pytest.approx(seen, rel=1e-4)


@pytest.mark.parametrize("negatives", [True, False])
def test_a_batch_has_the_same_number_of_pictures_with_negatives_and_without(
    negatives: bool, tmp_path: Path
) -> None:
    def objective(pairs, scale):
        parts = (pairs.image, pairs.text, pairs.negative_image, pairs.negative_text)
        given = [part for part in parts if part is not None]
        assert [len(part) for part in given] == ([4] * 4 if negatives else [8] * 2)
        assert all(part.dtype == torch.float32 for part in (*given, scale))
        return info_nce(pairs, scale)

    clip = run(tmp_path, settings(steps=2), objective, negatives=negatives)
    assert all("share" in line for line in log_of(tmp_path)) == negatives
    weights = load_file(tmp_path / "weights.safetensors")
    assert all(weight.dtype == torch.float32 and weight.isfinite().all() for weight in weights.values())
    assert all(torch.equal(weight, weights[name]) for name, weight in clip.model.state_dict().items())


def test_encoding_together_gives_the_features_of_each_alone() -> None:
    clip = fresh()
    batch = pool(clip, negatives=True).batch(0, 4, seed=0)
    with torch.no_grad():
        pairs, scale = trainer.encode(trainer.Towers(clip), batch)
        assert scale == clip.logit_scale
        expected = {
            "image": clip.encode_image(batch.pictures),
            "text": clip.encode_text(batch.tokens),
            "negative_image": clip.encode_image(batch.negative_pictures),
            "negative_text": clip.encode_text(batch.negative_tokens),
            "concreteness": batch.concreteness,
        }
    for name, features in expected.items():
        torch.testing.assert_close(getattr(pairs, name), features, atol=1e-6, rtol=0)


@pytest.mark.parametrize(("negatives", "pairs"), [(True, 20), (False, 40)])
def test_a_batch_that_the_pool_cannot_fill_names_both_numbers(
    negatives: bool, pairs: int, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=f"{pairs} pairs .* has 12"):
        run(tmp_path, settings(pictures=40), negatives=negatives)
    assert not (tmp_path / "weights.safetensors").exists()


def test_it_learns_a_toy_task(tmp_path: Path) -> None:
    clip = run(tmp_path, settings(steps=40, pictures=24, warmup=4))
    known = pool(clip, negatives=False)
    with torch.no_grad():
        similarity = clip.encode_image(known.pictures) @ clip.encode_text(known.tokens).T
    assert torch.equal(similarity.argmax(1), torch.arange(12))
    assert not clip.model.training
    losses = [line["loss"] for line in log_of(tmp_path)]
    # Each negative is another picture's own text, so that two answers in 24 are equally right.
    assert losses[0] > 2 and losses[-1] < math.log(2) + 0.1
