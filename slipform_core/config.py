"""An experiment is one YAML file: sections without defaults, unknown keys refused, changes `key=value`."""

import difflib
import hashlib
import json
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, Union

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    field_validator,
    model_validator,
)

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
    """AdamW with warm-up and cosine; `pictures` counts pictures a step, hard negatives included.

    precision: of the towers; weights and loss are float32. compile: a mode of torch.compile. chunk: pairs
    encoded at a time, where a batch does not fit. ema: decay of the averaged weights. evaluate_every: steps.
    """

    steps: Count
    pictures: Annotated[int, Field(ge=4, multiple_of=2)]
    learning_rate: Positive
    weight_decay: Annotated[float, Field(ge=0)]
    warmup: Annotated[int, Field(ge=0)]
    gradient_clip: Positive
    checkpoint_every: Count
    seed: Seed
    precision: Literal["float32", "bfloat16"] | None = None
    compile: Literal["default", "reduce-overhead", "max-autotune"] | None = None
    chunk: Count | None = None
    ema: Fraction | None = None
    evaluate_every: Count | None = None


class FermiDirac(Section):
    """A margin of logits over concreteness.

    "fermi_dirac" rises from low to high, "reversed" falls; "mean" is the same for every word, the mean that
    "fermi_dirac" has over the arm's negatives.
    """

    kind: Literal["fermi_dirac", "reversed", "mean"]
    low: float
    high: float
    midpoint: float
    width: Positive


class Static(Section):
    """The same margin for every word, in logits."""

    kind: Literal["static"]
    value: float


KINDS = {"fermi_dirac": FermiDirac, "reversed": FermiDirac, "mean": FermiDirac, "static": Static}


def _kind(margin: Any) -> Any:
    return margin.get("kind") if isinstance(margin, dict) else getattr(margin, "kind", None)


Margin = Annotated[
    Union[*(Annotated[section, Tag(kind)] for kind, section in KINDS.items())],  # noqa: UP007, it is unpacked
    Discriminator(_kind),
]

CHOICES = ("hc", "lc", "wo")
MATCHED = tuple(f"{choice}_matched" for choice in CHOICES)


class Arm(Section):
    """One fine-tuning: which negatives (a choice of ConcretePlant, or none) meet which loss.

    "hc_matched" and so on are the records of that choice that the three choices have alike in part of speech
    and similarity. concreteness "shuffled": c is permuted among the records. batch: so many times the
    pictures of a step, at as many pictures in all; the learning rate goes with the square root.
    """

    negatives: Literal["hc", "lc", "wo", "swap", "hc_matched", "lc_matched", "wo_matched"] | None
    loss: str
    margin: Margin | None = None
    concreteness: Literal["shuffled"] | None = None
    batch: Positive | None = None

    @model_validator(mode="after")
    def _margin_belongs_to_cement(self) -> "Arm":
        if (self.loss == "cement") != (self.margin is not None):
            raise ValueError("a margin is given for the loss cement and for no other")
        if self.loss == "cement" and self.negatives is None:
            raise ValueError("cement needs negatives")
        if self.concreteness and self.margin is None:
            raise ValueError("concreteness is shuffled for a margin to read, and there is none")
        return self

    @property
    def choice(self) -> str | None:
        """The choice of ConcretePlant that made the negatives."""
        return self.negatives and self.negatives.removesuffix("_matched")


class Evaluation(Section):
    """Items of a subset, scenes of the retrieval pool and of the probes' training, the encoder's batch."""

    items: Count
    retrieval: Count
    probe: Count
    batch: Count


class Survey(Section):
    """Records of concreteness against similarity: so many scenes, so many captions of each."""

    scenes: Count
    captions: Annotated[int, Field(ge=1, le=5)]


class Matching(Section):
    """Bins of caption-negative similarity in which the three choices get as many records each."""

    bins: Count


class Gradients(Section):
    """Batch sizes 2N for the hard negative's share, batches of each, arms whose margins are added."""

    pictures: list[Annotated[int, Field(ge=4, multiple_of=2)]]
    batches: Annotated[int, Field(ge=2)]
    arms: list[str]


class Reference(Section):
    """The seeds of the reference run, each a world, a base and all arms of its own."""

    seeds: Annotated[list[Seed], Field(min_length=2)]


class Experiment(Section):
    """Everything that decides a run's results; `selected` are the arms that it trains."""

    profile: str
    seed: Seed
    world: World
    plant: Plant
    model: str
    pretrain: Training
    train: Training
    selected: list[str]
    arms: dict[str, Arm]
    matching: Matching
    evaluation: Evaluation
    survey: Survey
    gradients: Gradients
    reference: Reference

    @property
    def chosen(self) -> dict[str, Arm]:
        """The arms that this run trains."""
        return {name: self.arms[name] for name in self.selected}

    @property
    def choices(self) -> list[str]:
        """The choices of ConcretePlant that these arms need; a matched one needs all three."""
        needed = {arm.choice for arm in self.chosen.values() if arm.negatives}
        if any(arm.negatives in MATCHED for arm in self.chosen.values()):
            needed.update(CHOICES)
        return sorted(needed)

    def training(self, name: str) -> Training:
        """How an arm is trained: as `train` says, or with a batch of its own at as many pictures in all."""
        train, batch = self.train, self.arms[name].batch
        if batch is None:
            return train
        changes = {
            "pictures": 2 * max(round(train.pictures * batch / 2), 2),
            "steps": max(round(train.steps / batch), 1),
            "warmup": round(train.warmup / batch),
            "learning_rate": train.learning_rate * batch**0.5,
        }
        return train.model_copy(update=changes)

    def with_seed(self, seed: int) -> "Experiment":
        """The same experiment with all arms, where everything random is drawn from this seed."""
        parts = {
            part: getattr(self, part).model_copy(update={"seed": seed}) for part in ("pretrain", "train")
        }
        return self.model_copy(update={"seed": seed, "selected": list(self.arms), **parts})


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
    path = folder / f"{profile}.yml"
    if not path.is_file():
        choices = ", ".join(sorted(p.stem for p in folder.glob("*.yml"))) or f"none in {folder}"
        raise ConfigError(f"unknown profile {profile!r}; the profiles are: {choices}")
    tree = _read(path.read_text(), str(path))
    if not isinstance(tree, dict):
        raise ConfigError(f"{path} has no sections of parameters")
    if isinstance(arms := tree.get("arms"), str):
        if not (folder / arms).is_file():
            raise ConfigError(f"{path}: arms = {arms!r} is no file of {folder}")
        tree["arms"] = _read((folder / arms).read_text(), arms)
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
    # pydantic names the kind of a margin in the path
    where = ".".join(str(part) for part in first["loc"] if part not in KINDS)
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
