"""Stages: named by all that they depend on, made once, made again after a failure, one process at a time."""

import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import time
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

from slipform_core import stages
from slipform_core.config import load

PACKAGE = Path(stages.__file__).parent

HASHES = """
import json, sys
from slipform_core import stages
for path, text in [(None, None), *json.loads(sys.argv[1])]:
    if path:
        with open(path, "a") as file:
            file.write(text)
    stages.code.cache_clear(), stages._graph.cache_clear()
    print(json.dumps({name: stages.code("slipform_core." + name) for name in sys.argv[2:]}))
"""

ROOMS = (
    "trainer",
    "concrete_plant",
    "sources.world",
    "evaluation.arrays",
    "benchmarks.world",
    "models.registry",
    "gradients",
    "summaries",
    "imbalance",
)
CHANGES = {
    "trainer/loop.py": {"trainer"},
    "loss/margins.py": {"trainer", "gradients", "imbalance"},  # through loss, whose __init__ names it
    "records.py": {
        "trainer",
        "concrete_plant",
        "sources.world",
        "evaluation.arrays",
        "benchmarks.world",
        "summaries",
        "imbalance",
    },
    "shards.py": {"concrete_plant", "summaries", "imbalance"},
    "emoji_world/nouns.csv": {"concrete_plant", "sources.world", "benchmarks.world"},
    "models/configs/slipform-tiny.json": {"models.registry", "imbalance"},  # which names the folder
    "models/checkpoints.py": set(),
    "benchmarks/own.py": set(),
    "emoji_world/__init__.py": {"concrete_plant", "sources.world", "benchmarks.world"},
    "figures.py": set(),
    "__main__.py": set(),
}


@pytest.fixture(scope="module")
def hashes(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    """The hashes of a copy of the package, before and after each change, one on top of the other."""
    home = tmp_path_factory.mktemp("code")
    copy = home / "slipform_core"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    changes = [(str(copy / name), "\nCHANGED = 1\n" if name.endswith(".py") else "\n") for name in CHANGES]
    done = subprocess.run(
        [sys.executable, "-c", HASHES, json.dumps(changes), *ROOMS],
        env=os.environ | {"PYTHONPATH": str(home), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=home,
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_hash_of_code_sees_what_a_module_imports_and_its_data_and_nothing_else(
    hashes: list[dict[str, str]],
) -> None:
    for (name, expected), (before, after) in zip(CHANGES.items(), pairwise(hashes), strict=True):
        assert {room for room in ROOMS if before[room] != after[room]} == expected, name


def test_the_hash_of_code_does_not_depend_on_where_the_package_lies(hashes: list[dict[str, str]]) -> None:
    assert hashes[0] == {room: stages.code(f"slipform_core.{room}") for room in ROOMS}


CODE = '''
"""What it is."""
import math  # needed


class Thing:
    """A thing.

    # of two paragraphs
    """

    text = "# no comment"

    def area(self, side):
        """A number."""
        return side * side  # a square
'''


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ('"""What it is."""', '"""What else it is."""', True),
        ("  # needed", "", True),
        ("of two paragraphs", "of other words", True),
        ('        """A number."""\n', "", True),
        ("\n\n\nclass", "\n# more\n\nclass", True),
        ("# no comment", "# a comment", False),
        ("side * side", "side + side", False),
        ("import math", "import cmath", False),
    ],
)
def test_comments_and_docstrings_are_not_the_working_part_of_code(old: str, new: str, same: bool) -> None:
    assert old in CODE
    assert (stages.working(CODE.replace(old, new)) == stages.working(CODE)) == same


def make(folder: Path, text: str = "made") -> None:
    (folder / "out.txt").write_text(text)
    with (folder / "calls.txt").open("a") as calls:
        calls.write(f"{text}\n")


def test_a_stage_is_made_once_and_again_when_what_it_depends_on_changes(tmp_path: Path) -> None:
    settings = load("smoke", folder=PACKAGE.parent / "notebooks" / "params").train
    first = stages.stage(tmp_path, "arm", settings, 3, make=make)
    again = stages.stage(tmp_path, "arm", settings, 3, make=partial(make, text="not made"))
    assert first == again and (first / "calls.txt").read_text() == "made\n"
    assert first.name.startswith("arm-") and 0 <= stages.seconds(first) < 5
    others = {
        stages.stage(tmp_path, "arm", settings, 4, make=make),
        stages.stage(tmp_path, "arm", settings.model_copy(update={"steps": 7}), 3, make=make),
        stages.stage(tmp_path, "leg", settings, 3, make=make),
    }
    assert len(others | {first}) == 4


def recipe(folder: Path, text: str) -> ModuleType:
    """A module with a function `make`, read from a file."""
    (folder / "recipe.py").write_text(f"def make(folder):\n    {text}\n")
    spec = spec_from_file_location("recipe", folder / "recipe.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_stage_is_made_again_when_its_recipe_changes(tmp_path: Path) -> None:
    found = []
    for text in ("pass", "pass", "return 1"):
        module = recipe(tmp_path, text)
        found.append(stages.stage(tmp_path, "arm", 3, make=module.make))
        assert found[-1] == stages.stage(tmp_path, "arm", 3, make=partial(module.make))
    assert found[0] == found[1] != found[2]


def fail(folder: Path) -> None:
    make(folder, "half")
    raise RuntimeError("out of memory")


def go_on(folder: Path) -> None:
    assert (folder / "out.txt").read_text() == "half"
    make(folder, "whole")


def test_a_stage_whose_making_failed_is_made_again_from_what_it_left(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError, match="out of memory"):
            stages.stage(tmp_path, "arm", make=fail)
    path = stages.stage(tmp_path, "arm", make=go_on)
    assert (path / "calls.txt").read_text().split() == ["half", "half", "whole"]
    assert stages.stage(tmp_path, "arm", make=fail) == path


def make_slowly(folder: Path) -> None:
    with (folder / "calls.txt").open("a") as calls:
        calls.write("begun\n")
        calls.flush()
        time.sleep(0.5)
        calls.write("ended\n")


def in_process(folder: Path, gate) -> None:
    gate.wait()
    stages.stage(folder, "arm", make=make_slowly)


def test_two_processes_that_want_one_stage_wait_for_each_other(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    gate = context.Barrier(2)
    processes = [context.Process(target=in_process, args=(tmp_path, gate)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(30)
        assert process.exitcode == 0
    [path] = tmp_path.iterdir()
    assert (path / "calls.txt").read_text().split() == ["begun", "ended"]
