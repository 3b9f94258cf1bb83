"""An experiment is one YAML file: sections without defaults, unknown keys refused, `key=value` changes on
top.
"""

import difflib
import hashlib
import json
import shlex
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

PARAMS = Path("notebooks/params")

Fraction = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]


class ConfigError(ValueError):
    """A mistake in an experiment's parameters, in one line that names the parameter and the choices."""


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


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
    seed: int


class Margin(Section):
    """The Fermi-Dirac margin of Cement, in logits over concreteness."""

    low: float
    high: float
    midpoint: float
    width: Positive


class Arm(Section):
    """One fine-tuning: which negatives (a choice of ConcretePlant, or none) meet which loss."""

    negatives: Literal["hc", "lc", "wo", "swap"] | None
    loss: Literal["info_nce", "cement"]
    margin: Margin | None = None

    @model_validator(mode="after")
    def _margin_belongs_to_cement(self) -> "Arm":
        if (self.loss == "cement") != (self.margin is not None):
            raise ValueError("a margin is given for the loss cement and for no other")
        return self


class Evaluation(Section):
    """Items of each subset, scenes of the retrieval pool, and the encoder's batch."""

    items: Count
    retrieval: Count
    batch: Count


class Gradients(Section):
    """Batch sizes 2N at which the hard negative's gradient share is measured, and how many batches of
    each.
    """

    pictures: list[Annotated[int, Field(ge=4, multiple_of=2)]]
    batches: Count


class Experiment(Section):
    """Everything that decides a run's results."""

    profile: str
    seed: int
    world: World
    plant: Plant
    model: str
    pretrain: Training
    train: Training
    arms: dict[str, Arm]
    evaluation: Evaluation
    gradients: Gradients


def _set(tree: dict[str, Any], assignment: str) -> None:
    key, equals, text = assignment.partition("=")
    if not equals:
        raise ConfigError(f"{assignment!r} is not of the form section.key=value")
    *sections, last = key.split(".")
    node = tree
    for name in [*sections, last]:
        if not isinstance(node, dict) or name not in node:
            known = list(node) if isinstance(node, dict) else []
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ConfigError(f"unknown parameter {key!r}: {name!r} is not among {', '.join(known)}{hint}")
        if name is not last:
            node = node[name]
    node[last] = yaml.safe_load(text)


def load(profile: str, settings: str = "", folder: Path = PARAMS) -> Experiment:
    """The experiment of a profile, with `settings` such as "train.steps=400 train.seed=3" applied.

    Raises ConfigError with one line that names the parameter, its value and what would be right.
    """
    path = folder / f"{profile}.yml"
    if not path.is_file():
        choices = ", ".join(sorted(p.stem for p in folder.glob("*.yml"))) or f"none in {folder}"
        raise ConfigError(f"unknown profile {profile!r}; the profiles are: {choices}")
    try:
        tree = yaml.safe_load(path.read_text())
        for assignment in shlex.split(settings):
            _set(tree, assignment)
        return Experiment(**tree)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"{where} = {first['input']!r}: {first['msg']}") from None
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"cannot read {settings!r}: {error}") from None


def fingerprint(*parts: Any) -> str:
    """Twelve hex digits that change when any part does; parts are plain values or sections."""
    plain = [part.model_dump() if isinstance(part, BaseModel) else part for part in parts]
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:12]
