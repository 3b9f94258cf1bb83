"""Ranks that torchrun starts train the weights of one process, also when one of them is killed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from ranks_job import double, in_double
from safetensors.torch import load_file
from toy_task import SETTINGS, log_of, run

from slipform_core.loss import make_objective
from slipform_core.trainer import ranks

JOB = Path(__file__).with_name("ranks_job.py")
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone"]


def launch(count: int, folder: Path, *options: str, loss="cement", chunk="", dies_at="") -> None:
    command = [
        *TORCHRUN,
        "--nproc-per-node",
        str(count),
        *options,
        str(JOB),
        str(folder),
        loss,
        chunk,
        dies_at,
    ]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]


def distance(one: Path, other: Path, name: str = "weights") -> float:
    """The largest relative difference of a weight's norm."""
    left, right = (load_file(folder / f"{name}.safetensors") for folder in (one, other))
    assert left.keys() == right.keys()
    return max(((left[key] - right[key]).norm() / right[key].norm().clamp(min=1e-3)).item() for key in left)


@pytest.fixture(scope="module")
def two(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    launch(2, folder)
    return folder


def test_two_ranks_end_with_the_weights_of_one_process(two: Path, tmp_path: Path) -> None:
    in_double(tmp_path, make_objective("cement"))
    assert distance(two, tmp_path) < 1e-9 and distance(two, tmp_path, "average") < 1e-9
    for ours, theirs in zip(log_of(two), log_of(tmp_path), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-9)


def test_a_killed_rank_starts_again_and_ends_as_if_undisturbed(two: Path, tmp_path: Path) -> None:
    launch(2, tmp_path, "--max-restarts", "1", dies_at="5")
    assert (tmp_path / "died").exists()
    for name in ("weights.safetensors", "average.safetensors", "log.jsonl"):
        assert (tmp_path / name).read_bytes() == (two / name).read_bytes()


@pytest.mark.parametrize(("loss", "chunk"), [("cement", "1"), ("degla", ""), ("sig_lip", "")])
def test_ranks_with_chunks_a_teacher_or_a_learnt_bias(loss: str, chunk: str, tmp_path: Path) -> None:
    launch(2, tmp_path / "two", loss=loss, chunk=chunk)
    in_double(tmp_path / "one", double(make_objective(loss)))
    assert distance(tmp_path / "two", tmp_path / "one") < 1e-9


def test_a_batch_that_ranks_cannot_share_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from slipform_core.trainer import loop
    from slipform_core.trainer.ranks import Rank

    monkeypatch.setattr(loop, "current", lambda: Rank(0, 3))
    with pytest.raises(ValueError, match="a batch of 4 pairs cannot be divided among 3 ranks"):
        run(tmp_path)


def test_alone_there_is_one_rank() -> None:
    with ranks() as rank:
        assert rank == (0, 1) and not torch.distributed.is_initialized()
    assert SETTINGS.ema is None
