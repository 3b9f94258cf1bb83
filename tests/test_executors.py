"""Tasks in processes: their order, the first error, and the end of workers whose parent is gone."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path

import pytest

from slipform_core import executors, progress
from slipform_core.files import write_text


def later(value: int, seconds: float) -> tuple[int, int]:
    time.sleep(seconds)
    return value, os.getpid()


def test_results_come_in_the_order_of_the_tasks_whichever_ends_first() -> None:
    tasks = [partial(later, value, seconds) for value, seconds in enumerate([0.4, 0, 0.2, 0, 0])]
    found = executors.run_all(tasks, jobs=2)
    assert [value for value, _ in found] == [0, 1, 2, 3, 4]
    workers = {process for _, process in found}
    assert len(workers) == 2 and os.getpid() not in workers


@pytest.mark.parametrize(("tasks", "jobs"), [(3, 1), (1, 4)])
def test_one_at_a_time_runs_in_this_process(tasks: int, jobs: int) -> None:
    given = [partial(later, value, 0) for value in range(tasks)]
    assert executors.run_all(given, jobs) == [(value, os.getpid()) for value in range(tasks)]


def test_no_tasks_have_no_results() -> None:
    assert executors.run_all([], jobs=2) == []


def fail(seconds: float) -> None:
    time.sleep(seconds)
    raise KeyError("the picture is missing")


def sleep_and_sign(path: Path, seconds: float) -> None:
    write_text(path.with_suffix(".begun"), str(os.getpid()))  # whole: its reader may be quicker
    time.sleep(seconds)
    path.touch()


def alive(process: int) -> bool:
    """Whether a process runs; one that ended and was not waited for does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_for(condition, seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def test_the_first_error_ends_the_tasks_that_run_and_those_that_wait(tmp_path: Path) -> None:
    started = time.monotonic()
    slow = [partial(sleep_and_sign, tmp_path / f"{i}.done", 60) for i in range(3)]
    with pytest.raises(KeyError, match="picture is missing"):
        executors.run_all([slow[0], partial(fail, 1.0), *slow[1:]], jobs=2)
    assert time.monotonic() - started < 20
    begun = [int(path.read_text()) for path in tmp_path.glob("*.begun")]
    assert wait_for(lambda: not any(map(alive, begun)), 5)
    assert not list(tmp_path.glob("*.done"))


def die() -> None:
    os._exit(9)


def test_a_worker_that_dies_is_an_error_and_not_a_wait() -> None:
    with pytest.raises(BrokenProcessPool):
        executors.run_all([die, partial(later, 1, 0)], jobs=2)


PARENT = """
import sys
from functools import partial
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from slipform_core.executors import run_all
from test_executors import sleep_and_sign

if __name__ == "__main__":
    run_all([partial(sleep_and_sign, Path(sys.argv[2]) / str(i), 60) for i in range(2)], jobs=2)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc to see which processes live")
def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    parent = subprocess.Popen([sys.executable, script, Path(__file__).parent, tmp_path])
    begun = [tmp_path / "0.begun", tmp_path / "1.begun"]
    assert wait_for(lambda: all(path.is_file() and path.read_text() for path in begun))
    workers = [int(path.read_text()) for path in begun]
    assert all(map(alive, workers))
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert wait_for(lambda: not any(map(alive, workers)), 5)


def line() -> int:
    time.sleep(0.2)
    return progress.position


def test_each_worker_has_a_line_of_its_own_for_its_bar() -> None:
    assert set(executors.run_all([line] * 4, jobs=2)) == {0, 1}
    assert progress.position == 0


def test_a_bar_in_a_log_file_does_not_speak_at_every_step(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.bar(total=500, desc="arm") as bar:
        for _ in range(500):
            bar.update()
    said = capsys.readouterr().err
    assert "arm: 100%" in said and said.count("\r") <= 3


def test_bars_are_silenced_from_outside_whatever_is_said_of_empty_ones():
    said = "from slipform_core import progress; print(progress.bar(total=3, disable=False).disable)"
    found = subprocess.run(
        [sys.executable, "-c", said], env=os.environ | {"TQDM_DISABLE": "1"}, capture_output=True, text=True
    )
    assert found.stdout == "True\n"
