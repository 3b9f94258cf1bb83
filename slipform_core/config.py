"""An experiment is one YAML file: sections without defaults, unknown keys refused, changes `key=value`."""

import difflib
import hashlib
import json
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

PARAMS = Path("notebooks/params")

Fraction = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
Seed = Annotated[int, Field(ge=0)]


class ConfigError(ValueError):
    """A mistake in an experiment's parameters, in one line that names the parameter and the choices."""


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _no_bool_as_number(cls, value: Any) -> Any:
        # Python's True is 1, and "train.steps=true" is a mistake.
        if isinstance(value, bool):
            raise ValueError("a number or a name is wanted, not true or false")
        return value


class World(Section):
    """The embedded world: how many nouns, how large a picture in pixels, how many scenes of each split."""

    nouns: Annotated[int, Field(ge=12)]
    side: Annotated[int, Field(ge=64, multiple_of=16)]
    pretrain_scenes: Count
    train_scenes: Count
    test_scenes: Count
    three_objects: Fraction
    pretrain_forward: Fraction
    train_forward: Fraction
    test_forward: Fraction


class Plant(Section):
    """ConcretePlant: which rewriter and editor, how the word is drawn, captions used of each scene."""

    rewriter: str
    editor: str
    top_k: Count
    attempts: Count
    captions_per_scene: Annotated[int, Field(ge=1, le=5)]
    shard_captions: Count


class Training(Section):
    """AdamW with warm-up and cosine; `pictures` counts pictures a step, hard negatives included."""

    steps: Count
    pictures: Annotated[int, Field(ge=4, multiple_of=2)]
    learning_rate: Positive
    weight_decay: Annotated[float, Field(ge=0)]
    warmup: Annotated[int, Field(ge=0)]
    gradient_clip: Positive
    checkpoint_every: Count
    seed: Seed


class Margin(Section):
    """The Fermi-Dirac margin of Cement, in logits over concreteness."""

    low: float
    high: float
    midpoint: float
    width: Positive


class Arm(Section):
    """One fine-tuning: which negatives (a choice of ConcretePlant, or none) meet which loss."""

    negatives: Literal["hc", "lc", "wo", "swap"] | None
    loss: str
    margin: Margin | None = None

    @model_validator(mode="after")
    def _margin_belongs_to_cement(self) -> "Arm":
        if (self.loss == "cement") != (self.margin is not None):
            raise ValueError("a margin is given for the loss cement and for no other")
        if self.loss == "cement" and self.negatives is None:
            raise ValueError("cement needs negatives")
        return self


class Evaluation(Section):
    """Items of each subset, scenes of the retrieval pool, and the encoder's batch."""

    items: Count
    retrieval: Count
    batch: Count


class Gradients(Section):
    """Batch sizes 2N at which the hard negative's gradient share is measured, and batches of each."""

    pictures: list[Annotated[int, Field(ge=4, multiple_of=2)]]
    batches: Annotated[int, Field(ge=2)]


class Experiment(Section):
    """Everything that decides a run's results."""

    profile: str
    seed: Seed
    world: World
    plant: Plant
    model: str
    pretrain: Training
    train: Training
    arms: dict[str, Arm]
    evaluation: Evaluation
    gradients: Gradients


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _set(tree: dict[str, Any], assignment: str) -> None:
    key, equals, text = assignment.partition("=")
    if not equals:
        raise ConfigError(f"{assignment!r} is not of the form section.key=value")
    names = key.split(".")
    node = tree
    for depth, name in enumerate(names, start=1):
        if not isinstance(node, dict):
            raise ConfigError(f"unknown parameter {key!r}: {names[depth - 2]!r} has no parts")
        if name not in node:
            hint = _nearest(name, node)
            raise ConfigError(f"unknown parameter {key!r}: {name!r} is not among {', '.join(node)}{hint}")
        if depth < len(names):
            node = node[name]
    node[names[-1]] = _read(text, assignment)


def load(profile: str, settings: str = "", folder: Path = PARAMS) -> Experiment:
    """The experiment of a profile, with `settings` such as "train.steps=400 train.seed=3" applied.

    Raises ConfigError with one line that names the parameter, its value and what would be right.
    """
    path = folder / f"{profile}.yml"
    if not path.is_file():
        choices = ", ".join(sorted(p.stem for p in folder.glob("*.yml"))) or f"none in {folder}"
        raise ConfigError(f"unknown profile {profile!r}; the profiles are: {choices}")
    tree = _read(path.read_text(), str(path))
    if not isinstance(tree, dict):
        raise ConfigError(f"{path} has no sections of parameters")
    try:
        assignments = shlex.split(settings)
    except ValueError as error:
        raise ConfigError(f"cannot read {settings!r}: {error}") from None
    for assignment in assignments:
        _set(tree, assignment)
    try:
        return Experiment(**tree)
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
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known = [name for section in Section.__subclasses__() for name in section.model_fields]
        return f"unknown parameter {where!r}{_nearest(str(first['loc'][-1]), known)}"
    if first["type"] == "missing":
        return f"{where} is missing, and it has no default"
    return f"{where} = {first['input']!r}: {first['msg'].removeprefix('Value error, ')}"


def fingerprint(*parts: Any) -> str:
    """Twelve hex digits that change when any part does; parts are plain values or sections."""
    plain = [part.model_dump() if isinstance(part, BaseModel) else part for part in parts]
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:12]
