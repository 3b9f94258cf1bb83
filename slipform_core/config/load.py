"""Reading an experiment from its YAML file, with changes; what is wrong is said in one line."""

import difflib
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from slipform_core.config.experiment import Experiment
from slipform_core.config.recipe import Recipe
from slipform_core.config.sections import Section, kinds_of
from slipform_core.mistakes import Mistake

PARAMS = Path("notebooks/params")
T = TypeVar("T", bound=Section)


class ConfigError(Mistake):
    """A mistake in an experiment's parameters, in one line that names the parameter and the choices."""


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _optional() -> set[str]:
    """The names that a section may leave out."""
    fields = (field for section in Section.__subclasses__() for field in section.model_fields.items())
    return {name for name, field in fields if not field.is_required()}


def _set(tree: dict[str, Any], assignment: str) -> None:
    key, equals, text = assignment.partition("=")
    if not equals:
        raise ConfigError(f"{assignment!r} is not of the form section.key=value")
    names = key.split(".")
    node = tree
    for depth, name in enumerate(names, start=1):
        if not isinstance(node, dict):
            raise ConfigError(f"unknown parameter {key!r}: {names[depth - 2]!r} has no parts")
        if name not in node and not (depth == len(names) and name in _optional()):
            hint = _nearest(name, node)
            raise ConfigError(f"unknown parameter {key!r}: {name!r} is not among {', '.join(node)}{hint}")
        if depth < len(names):
            node = node[name]
    node[names[-1]] = _read(text, assignment)


def load(profile: str, settings: str = "", folder: Path = PARAMS) -> Experiment:
    """The experiment of a profile, with `settings` such as "train.steps=400 train.seed=3" applied.

    Where `arms` is a path, beside the profile, that file holds them. Raises ConfigError with one line that
    names the parameter, its value and what would be right.
    """
    tree = _profile(profile, folder)
    if isinstance(arms := tree.get("arms"), str):
        if not (folder / arms).is_file():
            raise ConfigError(f"{folder / profile}.yml: arms = {arms!r} is no file of {folder}")
        tree["arms"] = _read((folder / arms).read_text(), arms)
    return _changed(Experiment, tree, settings)


def load_recipe(profile: str, settings: str = "", folder: Path = PARAMS / "plant") -> Recipe:
    """The recipe of a profile, with `settings` such as "editor.strength=0.6 seed=3" applied; see `load`."""
    return _changed(Recipe, _profile(profile, folder), settings)


def _profile(profile: str, folder: Path) -> dict[str, Any]:
    path = folder / f"{profile}.yml"
    if not path.is_file():
        choices = ", ".join(sorted(p.stem for p in folder.glob("*.yml"))) or f"none in {folder}"
        raise ConfigError(f"unknown profile {profile!r}; the profiles are: {choices}")
    tree = _read(path.read_text(), str(path))
    if not isinstance(tree, dict):
        raise ConfigError(f"{path} has no sections of parameters")
    return tree


def _changed(section: type[T], tree: dict[str, Any], settings: str) -> T:
    try:
        assignments = shlex.split(settings)
    except ValueError as error:
        raise ConfigError(f"cannot read {settings!r}: {error}") from None
    for assignment in assignments:
        _set(tree, assignment)
    try:
        return section(**tree)
    except ValidationError as error:
        raise ConfigError(_explain(error)) from None


def _read(text: str, source: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"cannot read {source!r}: {' '.join(str(error).split())}") from None


def _explain(error: ValidationError) -> str:
    # A misspelt key makes two errors, and the unknown one says more than the missing one.
    first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    # pydantic names the kind of a section in the path
    kinds = {kind for one in Section.__subclasses__() if "kind" in one.model_fields for kind in kinds_of(one)}
    where = ".".join(str(part) for part in first["loc"] if part not in kinds)
    if first["type"] == "extra_forbidden":
        known = [name for section in Section.__subclasses__() for name in section.model_fields]
        return f"unknown parameter {where!r}{_nearest(str(first['loc'][-1]), known)}"
    if first["type"] == "missing":
        return f"{where} is missing, and it has no default"
    return f"{where} = {first['input']!r}: {first['msg'].removeprefix('Value error, ')}"
