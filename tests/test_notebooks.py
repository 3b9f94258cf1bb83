"""The notebook runner on notebooks written here, and what the project's own notebooks must look like."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import jupytext
import pytest

from slipform_core import notebooks
from slipform_core.notebooks import NotebookError

ROOT = Path(__file__).parent.parent
OWN = sorted((ROOT / "notebooks").glob("*.py"))

PARAMETERS = """
# %% tags=["parameters"]
name = "none"
sizes = [1]
drop = True
rate = 0.5
batch = 4
"""
SHOWS = (
    PARAMETERS
    + """
# %%
from tqdm import tqdm
for _ in tqdm(range(3)):
    pass
print(name, sizes, drop, rate, batch)
"""
)


def write(folder: Path, text: str) -> Path:
    path = folder / "notebook.py"
    path.write_text(text)
    return path


def outputs(path: Path) -> list[dict]:
    return [output for cell in json.loads(path.read_text())["cells"] for output in cell.get("outputs", [])]


def test_values_are_typed_and_progress_bars_leave_nothing(tmp_path: Path) -> None:
    given = {"name": "12", "sizes": "[1, 2]", "drop": "False", "rate": "1e-3", "batch": "8"}
    out = tmp_path / "deep" / "out.ipynb"
    assert notebooks.run(write(tmp_path, SHOWS), out, given)
    assert [output["text"] for output in outputs(out)] == [["12 [1, 2] False 0.001 8\n"]]
    assert [path.name for path in out.parent.iterdir()] == ["out.ipynb"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rat": "1"}, "no parameter 'rat'; its parameters: name, sizes, drop, rate, batch"),
        ({"batch": "many"}, "batch = 'many' is no int such as 4"),
        ({"sizes": "[1, "}, "sizes = '[1, ' is no list such as [1]"),
    ],
)
def test_a_wrong_parameter_is_refused_before_a_kernel_starts(given: dict, words: str, tmp_path: Path) -> None:
    with pytest.raises(NotebookError) as error:
        notebooks.run(write(tmp_path, SHOWS), tmp_path / "out.ipynb", given)
    assert words in str(error.value)
    assert not (tmp_path / "out.ipynb").exists()


@pytest.mark.parametrize("cell", ["", PARAMETERS + PARAMETERS, '# %% tags=["parameters"]\nx = len("a")\n'])
def test_a_parameters_cell_holds_plain_values_once(cell: str, tmp_path: Path) -> None:
    with pytest.raises(NotebookError, match="parameters"):
        notebooks.run(write(tmp_path, cell), tmp_path / "out.ipynb", {})


def test_a_bogus_kernelspec_runs_and_only_a_change_runs_again(tmp_path: Path) -> None:
    header = "# ---\n# jupyter:\n#   kernelspec:\n#     name: no-such-kernel\n# ---\n"
    path, out, need = write(tmp_path, header + PARAMETERS), tmp_path / "out.ipynb", tmp_path / "need.json"
    need.write_text("1")
    environment = dict(os.environ)
    assert notebooks.run(path, out, {}, [need])
    assert dict(os.environ) == environment

    made = out.read_bytes()
    os.utime(out, (1, 1))
    path.touch()
    assert not notebooks.run(path, out, {}, [need])
    assert out.read_bytes() == made
    assert out.stat().st_mtime > 1

    key = notebooks.contents([need])
    need.write_text("2")
    assert notebooks.contents([need]) != key
    assert notebooks.run(path, out, {}, [need])


def test_the_package_is_part_of_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []
    monkeypatch.setattr(notebooks, "_execute", lambda source, *_: runs.append(source.metadata["slipform"]))
    monkeypatch.setattr(notebooks, "PACKAGE", tmp_path)
    for text in ("1", "2"):
        (tmp_path / "room.py").write_text(text)
        notebooks.run(write(tmp_path.parent, PARAMETERS), tmp_path.parent / "out.ipynb", {})
    assert runs[0] != runs[1]


def test_a_failing_cell_leaves_the_failed_notebook_and_no_other(tmp_path: Path) -> None:
    out = tmp_path / "out.ipynb"
    out.write_text("an older one")
    path = write(tmp_path, PARAMETERS + "\n# %%\nraise KeyError('no swap_obj')\n")
    with pytest.raises(NotebookError, match="KeyError: 'no swap_obj'") as error:
        notebooks.run(path, out, {})
    assert "\n" not in str(error.value)
    assert not out.exists()
    assert outputs(tmp_path / "out.failed.ipynb")[0]["ename"] == "KeyError"


def test_a_killed_kernel_ends_soon(tmp_path: Path) -> None:
    path = write(tmp_path, PARAMETERS + "\n# %%\nimport os\nos.kill(os.getpid(), 9)\n")
    start = time.monotonic()
    with pytest.raises(NotebookError, match="died"):
        notebooks.run(path, tmp_path / "out.ipynb", {})
    assert time.monotonic() - start < 15
    assert [path.name for path in tmp_path.glob("*.ipynb")] == ["out.failed.ipynb"]


def test_a_cell_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebooks, "CELL_SECONDS", 1)
    path = write(tmp_path, PARAMETERS + "\n# %%\nimport time\ntime.sleep(60)\n")
    with pytest.raises(NotebookError, match="timed out|Timeout"):
        notebooks.run(path, tmp_path / "out.ipynb", {})


def test_kernels_that_start_together_do_not_disturb_each_other(tmp_path: Path) -> None:
    path, names = write(tmp_path, SHOWS), [str(number) for number in range(3)]
    command = [sys.executable, "-m", "slipform_core", "notebook", str(path)]
    running = [
        subprocess.Popen([*command, "--out", str(tmp_path / f"{name}.ipynb"), "-p", "name", name], cwd=ROOT)
        for name in names
    ]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    texts = [outputs(tmp_path / f"{name}.ipynb")[0]["text"][0] for name in names]
    assert texts == [f"{name} [1] True 0.5 4\n" for name in names]


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_our_notebooks_are_thin_and_keep_their_parameters(path: Path) -> None:
    notebook = jupytext.read(path)
    assert "run" in notebooks.defaults(notebook, path)
    code = [line for cell in notebook.cells if cell.cell_type == "code" for line in cell.source.splitlines()]
    assert sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in code) < 60
    there_and_back = jupytext.reads(jupytext.writes(notebook, fmt="py:percent"), fmt="py:percent")
    assert notebooks.defaults(there_and_back, path) == notebooks.defaults(notebook, path)
