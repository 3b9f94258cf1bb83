"""What a training keeps besides the weights: averages, an objective's state, evaluations, a clean stop."""

import json
import math
import os
import signal
import warnings
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from toy_task import Killed, fresh, log_of, run, settings

from slipform_core.loss import CeClip, SigLip, info_nce, make_objective
from slipform_core.trainer import Stopped


def weights(folder: Path, name: str = "weights") -> dict[str, torch.Tensor]:
    return load_file(folder / f"{name}.safetensors")


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


class Dies(torch.nn.Module):
    """An objective that does not survive its call number `step`."""

    def __init__(self, inner: torch.nn.Module, step: int):
        super().__init__()
        self.inner, self.left = inner, step

    def forward(self, pairs, scale):
        if self.left == 0:
            raise Killed
        self.left -= 1
        return self.inner(pairs, scale)


@pytest.mark.parametrize("made", [SigLip, lambda: CeClip(1)], ids=["a learnt bias", "thresholds"])
def test_an_objective_s_state_is_resumed(made, tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run(whole, objective=Dies(made(), -1))
    with pytest.raises(Killed):
        run(broken, objective=Dies(made(), 5))
    run(broken, objective=Dies(made(), -1))
    assert same(weights(broken), weights(whole))
    state = weights(whole, "objective")
    assert same(weights(broken, "objective"), state)
    before = made().state_dict()
    assert all(not torch.equal(state[f"inner.{name}"], value) for name, value in before.items())


def test_averaged_weights_are_the_slow_average(tmp_path: Path) -> None:
    seen = []
    clip = fresh()
    expected = {name: weight.clone() for name, weight in clip.model.state_dict().items()}

    def watched(pairs, scale):
        seen.append({name: weight.clone() for name, weight in clip.model.state_dict().items()})
        return info_nce(pairs, scale)

    run(tmp_path, settings(ema=0.8), watched, clip=clip)
    for state in [*seen[1:], clip.model.state_dict()]:
        expected = {name: 0.8 * value + 0.2 * state[name] for name, value in expected.items()}
    got = weights(tmp_path, "average")
    assert got.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(got[name], value, rtol=1e-5, atol=1e-7)


def test_the_average_is_resumed_and_teaches(tmp_path: Path) -> None:
    given, degla = settings(ema=0.9), make_objective("degla")
    run(tmp_path / "whole", given, degla)
    calls = iter(range(5))

    def dies(*args):
        if next(calls, None) is None:
            raise Killed
        return degla(*args)

    dies.func = degla.func
    with pytest.raises(Killed):
        run(tmp_path / "broken", given, dies)
    run(tmp_path / "broken", given, degla)
    for name in ("weights", "average"):
        assert same(weights(tmp_path / "broken", name), weights(tmp_path / "whole", name))
    run(tmp_path / "other", settings(ema=0.1), degla)
    assert not same(weights(tmp_path / "other"), weights(tmp_path / "whole"))


def test_the_teacher_is_the_average_of_that_step(tmp_path: Path) -> None:
    clip, given = fresh(), settings(ema=0.5, steps=3)
    differences = []

    def watched(pairs, scale):
        differences.append((pairs.image - pairs.teacher.image).abs().max().item())
        assert not pairs.teacher.text.requires_grad
        return make_objective("degla")(pairs, scale)

    watched.func = make_objective("degla").func
    run(tmp_path, given, watched, clip=clip)
    assert differences[0] < 1e-6 < differences[1] < differences[2]


def test_what_degla_lacks_is_said_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="arm learns from the averaged model: give ema"):
        run(tmp_path, objective=make_objective("degla"))


def test_another_setting_than_the_checkpoint_s_is_named(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        run(tmp_path, objective=Dies(SigLip(), 3))
    with pytest.raises(ValueError, match=r"checkpoint.pt was made with learning_rate = 0.001 \(now 0.002\)"):
        run(tmp_path, settings(learning_rate=2e-3), Dies(SigLip(), -1))


def test_evaluations_come_before_and_every_so_many_steps_and_survive_a_kill(tmp_path: Path) -> None:
    def accuracy(clip) -> float:
        assert not clip.model.training
        torch.rand(3)  # an evaluation may draw
        return float(clip.logit_scale.item())

    def lines(folder: Path) -> list[dict]:
        return [json.loads(line) for line in (folder / "evaluations.jsonl").read_text().splitlines()]

    given = settings(evaluate_every=3)
    run(tmp_path / "whole", given, evaluate=accuracy)
    assert [line["step"] for line in lines(tmp_path / "whole")] == [0, 3, 6]
    run(tmp_path / "plain")
    assert same(weights(tmp_path / "plain"), weights(tmp_path / "whole"))
    calls = iter(range(4))

    def dies(pairs, scale):
        if next(calls, None) is None:
            raise Killed
        return info_nce(pairs, scale)

    with pytest.raises(Killed):
        run(tmp_path / "broken", given, dies, evaluate=accuracy)
    run(tmp_path / "broken", given, evaluate=accuracy)
    assert lines(tmp_path / "broken") == lines(tmp_path / "whole")


@pytest.mark.parametrize(("scores", "warned"), [([0.8, 0.41, 0.8], False), ([0.8, 0.7, 0.39], True)])
def test_an_accuracy_below_half_of_the_first_is_warned_of(scores, warned, tmp_path: Path) -> None:
    each = iter(scores)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(tmp_path, settings(evaluate_every=3), evaluate=lambda clip: next(each))
    said = [str(one.message) for one in caught if "accuracy" in str(one.message)]
    assert said == (["arm: the accuracy fell from 0.800 to 0.390 at step 6"] if warned else [])


def test_sigterm_writes_a_checkpoint_and_the_next_call_goes_on(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    calls = []

    def terminated(pairs, scale):
        calls.append(1)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return info_nce(pairs, scale)

    given = settings(steps=25, checkpoint_every=100)
    with pytest.raises(Stopped, match="arm was stopped at step 10; run it again to go on"):
        run(tmp_path / "broken", given, terminated)
    assert len(calls) == 10 and signal.getsignal(signal.SIGTERM) is before
    assert not (tmp_path / "broken" / "weights.safetensors").exists()
    run(tmp_path / "broken", given)
    run(tmp_path / "whole", given)
    assert same(weights(tmp_path / "broken"), weights(tmp_path / "whole"))
    assert log_of(tmp_path / "broken") == log_of(tmp_path / "whole")


def test_half_precision_is_in_the_towers_alone(tmp_path: Path) -> None:
    inside = []
    clip = fresh()
    clip.model.visual.register_forward_hook(lambda *a: inside.append(a[2].dtype))

    def watched(pairs, scale):
        assert pairs.image.dtype == pairs.text.dtype == scale.dtype == torch.float32
        return info_nce(pairs, scale)

    run(tmp_path / "half", settings(precision="bfloat16"), watched, clip=clip)
    assert set(inside) == {torch.bfloat16}
    half = weights(tmp_path / "half")
    assert all(weight.dtype == torch.float32 and weight.isfinite().all() for weight in half.values())
    run(tmp_path / "whole")
    whole = weights(tmp_path / "whole")
    near = torch.cat([(half[name] - whole[name]).flatten() for name in whole]).abs()
    assert 0 < near.mean() < 1e-3


def test_the_budget_is_the_own_negative_s_part_of_all_gradient(tmp_path: Path) -> None:
    seen = []

    def watched(pairs, scale):
        logits = scale.item() * torch.cat([pairs.image, pairs.negative_image]).detach().double()
        logits = logits @ torch.cat([pairs.text, pairs.negative_text]).detach().double().T
        p = logits.softmax(1)
        half = len(p) // 2
        own = sum(p[i, (i + half) % (2 * half)].item() for i in range(2 * half))
        seen.append(own / (2 * (1 - p.diagonal()).sum().item()))
        return info_nce(pairs, scale)

    run(tmp_path, settings(steps=3), watched)
    assert [line["budget"] for line in log_of(tmp_path)] == pytest.approx(seen, rel=1e-4)


def test_compiled_towers_train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modes = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self, mode: modes.append(mode))
    run(tmp_path, settings(compile="default", steps=1))
    assert modes == ["default"] and math.isfinite(log_of(tmp_path)[0]["loss"])
