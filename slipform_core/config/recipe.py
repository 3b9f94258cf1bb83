"""A recipe: how hard negatives are made of photographs with captions."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from slipform_core.config.sections import Count, Fraction, Positive, Section, Seed, tagged

# Empty for none, as YAML reads "variant=" as null.
Name = Annotated[str, BeforeValidator(lambda given: given or "")]


class Lexical(Section):
    """A word of the same kind, without a language model; `fluency` names one that chooses among several.

    encoder: of words, a folder or a name of sentence-transformers; empty for the packaged MiniLM.
    """

    kind: Literal["lexical"]
    encoder: Name
    fluency: Name


class Qwen(Section):
    """A chat model, `engine` "transformers" or "vllm"; see `slipform_core.rewriters.qwen`."""

    kind: Literal["qwen"]
    model: str
    revision: Name
    engine: Literal["transformers", "vllm"]
    device: str
    dtype: str
    temperature: Annotated[float, Field(ge=0)]
    top_p: Fraction
    tokens: Count
    batch: Count
    retries: Annotated[int, Field(ge=0)]


class Retrieve(Section):
    """Another real photo of the same source; `encoder` as that of `Lexical`."""

    kind: Literal["retrieve"]
    encoder: Name
    batch: Count


class SdxlTurbo(Section):
    """Image to image by diffusion; see `slipform_core.editors.sdxl_turbo`."""

    kind: Literal["sdxl-turbo"]
    model: str
    revision: Name
    variant: Name
    vae: Name
    steps: Count
    strength: Positive
    side: Count
    batch: Count
    device: str
    dtype: str
    compile: Literal["default"] | None = None


class Recipe(Section):
    """Which word of a caption is changed, by which rewriter and editor, and how the shards are written.

    side: of the pictures in the shards; quality: of their JPEGs; shard_captions: read for a shard.
    """

    profile: str
    norms: str
    choose: Literal["hc", "lc", "wo", "swap"]
    top_k: Count
    attempts: Count
    seed: Seed
    rewriter: tagged(Lexical, Qwen)
    editor: tagged(Retrieve, SdxlTurbo)
    side: Annotated[int, Field(ge=32)]
    quality: Annotated[int, Field(ge=50, le=100)]
    shard_captions: Count
