"""The Makefile on a copy of the project where every command is a stub that writes down how it was called."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = ["Makefile", "_config.yml", "requirements.txt", "constraints.txt", "pyproject.toml"]
CHAPTERS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.py"))
HTML = Path("build/runs/mini/html/index.html")

TOUCHED = (
    "notebooks/params/mini.yml",
    "notebooks/params/smoke.yml",
    "notebooks/params/arms/paper.yml",
    "slipform_core/loss/a.py",
    "results/mini/seed-1/words.json",
    "book/plan.yml",
)

SLIPFORM = """#!/bin/sh
line="$(printf '%s|' "$@")threads=$OMP_NUM_THREADS"
printf '%s\\n' "$line" >> log  # at once: stubs that run side by side share the log
[ "$1" = run ] && [ -e hang ] && sleep 60
[ "$1" = run ] && exit 0
[ "$1" = reference ] && exit 0
case "$2" in *$(cat broken 2>/dev/null || echo none)*) exit 2;; esac
mkdir -p "$(dirname "$4")" && sleep "${NAP:-0}" && echo made > "$4" && echo "end" >> log
"""
JUPYTER_BOOK = """#!/bin/sh
line="$(printf '%s|' "$@")run=$SLIPFORM_RUN again=$SLIPFORM_AGAIN"
printf '%s\\n' "$line" >> log
mkdir -p "$4/_build/html" && ls "$2/notebooks" > "$4/_build/html/index.html"
"""
QUIET = "#!/bin/sh\necho setup >> log\n"


class House:
    """A folder with the project's Makefile and stubs for what it calls."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in FILES:
            shutil.copy(ROOT / name, folder / name)
        (folder / "notebooks/params").mkdir(parents=True)
        for name in CHAPTERS:
            (folder / "notebooks" / f"{name}.py").touch()
        for name in TOUCHED:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()
        (folder / "book/index.md").touch()
        stubs = {
            "slipform": SLIPFORM,
            "jupyter-book": JUPYTER_BOOK,
            "pip": QUIET,
            "uv": QUIET,
            "python": QUIET,
        }
        for name, text in stubs.items():
            path = folder / ".venv/bin" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)

    def command(self, *words: str) -> list[str]:
        return ["make", "UV=.venv/bin/uv", *words]

    def make(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
        environment = plain | {"PYTHON": "python3"} | environment
        command = self.command(*words)
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)

    def log(self) -> list[str]:
        """What was called since the last look."""
        path = self.folder / "log"
        lines = path.read_text().splitlines() if path.exists() else []
        path.write_text("")
        return [line for line in lines if line != "end"]

    def exists(self, path: Path | str) -> bool:
        return (self.folder / path).exists()


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.fixture
def built(house: House) -> House:
    done = house.make("JOBS=3", "-j1")
    assert done.returncode == 0, done.stderr
    return house


def test_make_sets_up_runs_executes_and_builds_in_this_order(built: House) -> None:
    log = built.log()
    assert log[:2] == ["setup", "setup"]
    assert log[2] == "run|--profile|mini|--settings||--run|mini|--jobs|3|threads=1"
    assert [line.split("|")[1] for line in log[3:-1]] == [f"notebooks/{name}.py" for name in CHAPTERS]
    needs = ["build/runs/mini/results", "results/mini", "book/plan.yml"]
    assert log[3].endswith("".join(f"|--needs|{path}" for path in needs) + "|threads=1")
    assert "|-p|run|build/runs/mini|" in log[3]
    assert log[-1].endswith("run=build/runs/mini again=make")
    assert (built.folder / HTML).read_text().split() == [f"{name}.ipynb" for name in CHAPTERS]


def test_after_make_there_is_nothing_to_do_within_a_second(built: House) -> None:
    built.log()
    assert built.make("-q").returncode == 0
    start = time.monotonic()
    assert built.make().returncode == 0
    assert time.monotonic() - start < 1
    assert built.log() == []


def test_the_reference_run_has_the_profile_and_its_changes(house: House) -> None:
    assert house.make("reference", "PROFILE=smoke", "SET=a=1 b=2", "JOBS=3").returncode == 0
    assert house.log()[2:] == ["reference|--profile|smoke|--settings|a=1 b=2|--jobs|3|threads=1"]


def test_before_make_there_is_something_to_do_and_n_says_what(house: House) -> None:
    assert house.make("-q").returncode == 1
    done = house.make("-n")
    assert done.returncode == 0
    for name in CHAPTERS:
        assert f"slipform notebook notebooks/{name}.py" in done.stdout
    assert house.log() == []
    assert not house.exists(HTML)
    assert house.make("-q").returncode == 1


@pytest.mark.parametrize(
    ("touched", "calls"),
    [
        ("requirements.txt", ["setup", "run", "notebook", "build"]),
        ("notebooks/params/mini.yml", ["run", "notebook", "build"]),
        ("notebooks/params/arms/paper.yml", ["run", "notebook", "build"]),
        ("slipform_core/loss/a.py", ["run", "notebook", "build"]),
        ("results/mini/seed-1/words.json", ["notebook", "build"]),
        ("book/plan.yml", ["notebook", "build"]),
        (f"notebooks/{CHAPTERS[-1]}.py", ["notebook", "build"]),
        ("book/index.md", ["build"]),
        ("_config.yml", ["build"]),
    ],
)
def test_a_touched_file_makes_what_comes_after_it(touched: str, calls: list[str], built: House) -> None:
    built.log()
    soon = time.time() + 1
    os.utime(built.folder / touched, (soon, soon))
    assert built.make("-q").returncode == 1
    assert built.make().returncode == 0
    made = [line.split("|")[0] for line in built.log()]
    assert list(dict.fromkeys(made)) == calls
    executed = 1 if touched.endswith(".py") and touched.startswith("notebooks/") else len(CHAPTERS)
    assert made.count("notebook") == executed * calls.count("notebook")


def test_another_profiles_file_is_no_reason(built: House) -> None:
    soon = time.time() + 1
    os.utime(built.folder / "notebooks/params/smoke.yml", (soon, soon))
    assert built.make("-q").returncode == 0


def test_settings_make_another_run_and_leave_the_default_one(built: House) -> None:
    built.log()
    assert built.make("SET=train.steps=400 train.seed=3").returncode == 0
    run = next(line for line in built.log() if line.startswith("run"))
    assert "|train.steps=400 train.seed=3|--run|mini-train.steps-400-train.seed-3-" in run
    assert built.make("SET=train.steps=400  train.seed=3", "-q").returncode == 1
    assert built.make("-q").returncode == 0
    assert len(list((built.folder / "build/runs").iterdir())) == 3


def test_quotes_and_dollars_in_settings_survive(house: House) -> None:
    settings = """gradients.pictures='[32, 64]' model="a$$b#c" """
    assert house.make(f"SET={settings}", "RUN=odd").returncode == 0
    assert f"|{settings.replace('$$', '$')}|" in "\n".join(house.log())
    assert house.make("RUN=odd", "-q").returncode == 0


def test_a_named_run_remembers_its_parameters_until_told_others(house: House) -> None:
    assert house.make("RUN=new").returncode == 0
    assert house.log()[-1].endswith("run=build/runs/new again=make RUN=new")
    assert house.make("RUN=longer", "PROFILE=smoke", "SET=train.steps=400").returncode == 0
    assert house.log()[-1].endswith('again=make RUN=longer PROFILE=smoke SET="train.steps=400"')
    assert house.make("RUN=longer", "-q").returncode == 0
    assert house.make("RUN=longer", "PROFILE=smoke", "SET=train.steps=500").returncode == 0
    assert house.log()[0].startswith("run|--profile|smoke|--settings|train.steps=500|--run|longer|")
    assert house.make("-q").returncode == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["RUN=a/b"], "RUN=a/b names the folder build/runs/RUN"),
        (["RUN=a b"], "RUN=a b names the folder"),
        (["PROFILE=mimi"], "unknown profile mimi; the profiles are: mini smoke"),
        (["VENV=none", "PYTHON=python0"], "there is no python0; install Python 3.11"),
    ],
)
def test_a_mistake_is_one_clear_line(words: list[str], says: str, house: House) -> None:
    done = house.make(*words)
    assert done.returncode == 2
    assert says in done.stderr
    assert house.log() == []


def test_a_folder_that_cannot_be_written_is_one_clear_line(house: House) -> None:
    (house.folder / "build").touch()
    done = house.make()
    assert done.returncode == 2
    assert "cannot write in build/runs/mini" in done.stderr
    assert house.log() == []


def test_a_failing_notebook_leaves_no_book_and_is_taken_up_again(house: House) -> None:
    (house.folder / "broken").write_text(CHAPTERS[1])
    done = house.make()
    assert done.returncode == 2
    assert not house.exists(HTML)
    assert not house.exists(f"build/runs/mini/notebooks/{CHAPTERS[1]}.ipynb")
    house.log()
    (house.folder / "broken").unlink()
    assert house.make().returncode == 0
    assert house.exists(HTML)
    again = [line.split("|")[1] for line in house.log() if line.startswith("notebook")]
    assert f"notebooks/{CHAPTERS[1]}.py" in again
    assert f"notebooks/{CHAPTERS[0]}.py" not in again


def test_a_book_that_fails_again_is_not_the_old_one(built: House) -> None:
    (built.folder / ".venv/bin/jupyter-book").write_text("#!/bin/sh\nexit 1\n")
    soon = time.time() + 1
    os.utime(built.folder / "book/index.md", (soon, soon))
    assert built.make().returncode == 2
    assert not built.exists(HTML)


def test_killed_in_the_run_make_completes_it(house: House) -> None:
    (house.folder / "hang").touch()
    process = subprocess.Popen(
        house.command(), cwd=house.folder, start_new_session=True, stdout=subprocess.DEVNULL
    )
    while not any(line.startswith("run") for line in house.log()):
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    (house.folder / "hang").unlink()
    assert house.make("-q").returncode == 1
    assert house.make().returncode == 0
    assert house.make("-q").returncode == 0
    assert [line.split("|")[0] for line in house.log()].count("run") == 1


@pytest.mark.parametrize(
    ("words", "second"), [(["JOBS=2"], "notebook"), (["-j2"], "notebook"), (["JOBS=2", "-j1"], "end")]
)
def test_notebooks_are_executed_as_many_at_a_time_as_arms(
    words: list[str], second: str, house: House
) -> None:
    assert house.make(*words, NAP="0.3").returncode == 0
    lines = (house.folder / "log").read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("notebook"))
    assert [line.split("|")[0] for line in lines[first : first + 2]] == ["notebook", second]


@pytest.mark.parametrize("target", ["help", "clean"])
def test_what_makes_nothing_writes_nothing(target: str, house: House) -> None:
    assert house.make(target).returncode == 0
    assert not house.exists("build")
