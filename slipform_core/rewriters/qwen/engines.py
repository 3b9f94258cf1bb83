"""What answers conversations: the interface, its settings, and the two engines behind it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

from slipform_core import hub

from .prompt import Message

ENGINES = ("transformers", "vllm")


class Engine(Protocol):
    """Answers conversations in their order; each draws by its own seed, whatever is answered beside it."""

    def generate(self, conversations: Sequence[Sequence[Message]], seeds: Sequence[int]) -> list[str]: ...


@dataclass(frozen=True)
class Settings:
    """Which model answers, and how.

    model: a folder as `save_pretrained` writes it, never looked for on the hub, or a name on the hub.
    revision: a commit or branch of the hub. dtype: "auto" is the checkpoint's; a record answers alike alone
    and in a batch in "float32", and up to rounding in "bfloat16". temperature: 0 takes the likeliest token,
    more draws one of the likeliest that together have `top_p`; 0.7 and 0.8 are what Qwen3's card recommends
    without thoughts. tokens: of an answer at most. batch: conversations at a time, for transformers. options:
    more for the loader, in plain values, such as {"tensor_parallel_size": 2} for vllm.
    """

    model: str
    engine: str = "transformers"
    revision: str = ""
    device: str = "cpu"
    dtype: str = "auto"
    temperature: float = 0.7
    top_p: float = 0.8
    tokens: int = 256
    batch: int = 32
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise ValueError(f"unknown engine {self.engine!r}; the choices are: {', '.join(ENGINES)}")
        if self.temperature < 0 or not 0 < self.top_p <= 1:
            raise ValueError(
                f"temperature {self.temperature}, top_p {self.top_p}: from 0, and above 0 up to 1"
            )
        if self.tokens < 1 or self.batch < 1:
            raise ValueError(f"tokens {self.tokens}, batch {self.batch}: at least 1")
        if self.is_folder and not (Path(self.model) / "config.json").is_file():
            raise FileNotFoundError(f"{self.model!r} has no config.json: {hub.ADVICE}")
        hub.check(self.model, self.revision)

    @property
    def is_folder(self) -> bool:
        return hub.is_folder(self.model)

    @property
    def decides(self) -> tuple[Any, ...]:
        """What else than the model decides the answers."""
        options = sorted(self.options.items())
        return self.dtype, self.temperature, self.top_p, self.tokens, options

    @property
    def name(self) -> str:
        """The model, its revision and the engine; a folder goes by its own name alone."""
        try:
            engine = self.engine + metadata.version(self.engine)
        except metadata.PackageNotFoundError:
            command = f"python -m pip install {self.engine}"
            raise FileNotFoundError(f"the engine {self.engine!r} is not installed: {command}") from None
        model = Path(self.model).resolve().name if self.is_folder else self.model.rpartition("/")[2]
        return "-".join(part for part in (model, self.revision, engine) if part)


def start(settings: Settings) -> Engine:
    """The engine with its model loaded; FileNotFoundError, in one line, where it cannot be."""
    if settings.engine == "vllm":
        from .vllm_engine import VllmEngine

        return VllmEngine(settings)
    from .transformers_engine import TransformersEngine

    return TransformersEngine(settings)
