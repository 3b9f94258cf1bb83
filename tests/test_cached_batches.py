"""A batch in chunks against the batch at once: the loss and every gradient, for every objective."""

import pytest
import torch
from toy_task import fresh, pool

from slipform_core.loss import LOSSES, make_objective
from slipform_core.trainer.towers import Towers, backward, taught


def objective_of(name: str):
    objective = make_objective(name, **({"negatives": 1} if name == "ce_clip" else {}))
    return objective.double() if isinstance(objective, torch.nn.Module) else objective


def gradients(name: str, chunk: int | None, dtype: torch.dtype, negatives: bool = True):
    clip = fresh()
    clip.model.to(dtype)
    batch = pool(clip, negatives=negatives).batch(0, 10, seed=0)
    towers, objective = Towers(clip), objective_of(name)
    teacher = Towers(fresh(seed=1))
    teacher.model.to(dtype)

    def loss_of(pairs, scale):
        pairs = taught(pairs, teacher if name == "degla" else None, batch)
        if name == "hard_positives":
            pairs = type(pairs)(pairs.image, pairs.text, positive_text=pairs.text.flip(0))
        return objective(pairs, scale)

    loss = backward(towers, batch, loss_of, chunk)
    return loss, {key: weight.grad for key, weight in clip.model.named_parameters()}


@pytest.mark.parametrize("name", LOSSES)
def test_chunks_have_the_gradients_of_the_whole_batch(name: str) -> None:
    loss, whole = gradients(name, None, torch.float64)
    again, cached = gradients(name, 4, torch.float64)
    torch.testing.assert_close(again, loss, rtol=1e-9, atol=0)
    assert_near(cached, whole, 1e-9)


def assert_near(got: dict[str, torch.Tensor], expected: dict[str, torch.Tensor], tolerance: float) -> None:
    for key, gradient in expected.items():
        assert (got[key] - gradient).norm() <= tolerance * gradient.norm(), key


def test_in_float32_they_differ_by_rounding() -> None:
    loss, whole = gradients("cement", None, torch.float32)
    again, cached = gradients("cement", 3, torch.float32)
    torch.testing.assert_close(again, loss, rtol=1e-5, atol=0)
    assert_near(cached, whole, 1e-5)


@pytest.mark.parametrize("chunk", [1, 9, 10, 11])
def test_any_size_of_chunk(chunk: int) -> None:
    loss, whole = gradients("info_nce", None, torch.float64, negatives=False)
    again, cached = gradients("info_nce", chunk, torch.float64, negatives=False)
    torch.testing.assert_close(again, loss, rtol=1e-9, atol=0)
    assert_near(cached, whole, 1e-9)


def test_the_towers_never_see_more_than_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    real = Towers.forward
    monkeypatch.setattr(Towers, "forward", lambda self, *a: (seen.append(len(a[0])), real(self, *a))[1])
    gradients("cement", 4, torch.float32)
    assert seen == [8, 8, 4] * 2  # with the hard negatives


def test_a_model_that_drops_at_random_is_refused() -> None:
    clip = fresh()
    clip.model.visual.transformer.resblocks[0].mlp.dropout = torch.nn.Dropout(0.1)
    batch = pool(clip, negatives=False).batch(0, 4, seed=0)
    with pytest.raises(ValueError, match=r"chunk = 2 encodes twice, and .*mlp.dropout drops at random"):
        backward(Towers(clip), batch, lambda pairs, scale: scale, 2)
