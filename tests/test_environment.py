"""What is installed: the tested lines are the shipped lines, and conda reads the rest."""

import re
from importlib.metadata import distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from rattler import MatchSpec
from rattler.exceptions import InvalidMatchSpecError

ROOT = Path(__file__).parent.parent
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]


def pins(name: str) -> list[Requirement]:
    lines = (ROOT / name).read_text().splitlines()
    return [Requirement(line) for line in lines if re.match(r"\w", line)]


@pytest.mark.parametrize("line", [line for line in CONDA if isinstance(line, str)])
def test_conda_reads_each_line(line: str) -> None:
    assert MatchSpec(line, strict=True).name is not None


def test_a_malformed_conda_line_would_be_seen() -> None:
    with pytest.raises(InvalidMatchSpecError):
        MatchSpec("python==>3.11", strict=True)


def test_the_pip_part_of_conda_is_the_requirements_file() -> None:
    assert [line for line in CONDA if isinstance(line, dict)] == [{"pip": ["-r requirements.txt"]}]


@pytest.mark.parametrize("name", ["requirements.txt", "constraints.txt"])
def test_every_pin_is_exact_and_what_is_installed_meets_it(name: str) -> None:
    installed = {found.metadata["Name"].lower().replace("_", "-"): found.version for found in distributions()}
    for pin in pins(name):
        assert re.fullmatch(r"==[^*+]+", str(pin.specifier)), pin
        local = installed.get(pin.name.lower().replace("_", "-"))
        assert (local is None and name == "constraints.txt") or local.partition("+")[0] in pin.specifier, pin


def test_the_requirements_bring_what_the_constraints_pin() -> None:
    text = (ROOT / "requirements.txt").read_text()
    assert "-c constraints.txt" in text.splitlines()
    twice = {pin.name for pin in pins("requirements.txt")} & {pin.name for pin in pins("constraints.txt")}
    assert not twice
