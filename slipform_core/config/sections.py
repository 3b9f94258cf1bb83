"""The sections of an experiment, without defaults where a value decides a result."""

from typing import Annotated, Any, Literal, Union, get_args

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, field_validator

Fraction = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
Seed = Annotated[int, Field(ge=0)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _no_bool_as_number(cls, value: Any) -> Any:
        # Python's True is 1, and "train.steps=true" is a mistake.
        if isinstance(value, bool):
            raise ValueError("a number or a name is wanted, not true or false")
        return value


def tagged(*sections: type[Section]) -> Any:
    """A section that is one of several, told apart by its `kind`."""
    kinds = {kind: section for section in sections for kind in kinds_of(section)}
    return Annotated[
        Union[*(Annotated[section, Tag(kind)] for kind, section in kinds.items())],  # noqa: UP007, it is unpacked
        Discriminator(_kind),
    ]


def kinds_of(section: type[Section]) -> tuple[str, ...]:
    """What the `kind` of a section may be."""
    return get_args(section.model_fields["kind"].annotation)


def _kind(given: Any) -> Any:
    return given.get("kind") if isinstance(given, dict) else getattr(given, "kind", None)


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
    """Batch sizes 2N for the hard negative's share, batches of each, arms whose margins are added.

    trained: arms at whose features, beside the base's, every objective is asked for its share by autograd, in
    `objective_batches` batches of each size.
    """

    pictures: list[Annotated[int, Field(ge=4, multiple_of=2)]]
    batches: Annotated[int, Field(ge=2)]
    arms: list[str]
    trained: list[str]
    objective_batches: Annotated[int, Field(ge=2)]


class Reference(Section):
    """The seeds of the reference run, each a world, a base and all arms of its own."""

    seeds: Annotated[list[Seed], Field(min_length=2)]
