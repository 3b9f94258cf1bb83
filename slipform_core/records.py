"""The records that travel down the pipeline: frozen, made of plain values, written as JSON."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

ROLES = ("object", "attribute", "relation")


@dataclass(frozen=True, slots=True)
class Caption:
    """A caption of a picture; `scene` is what a synthetic source knows of it, None for a photograph."""

    image_id: str
    image_path: str | None
    text: str
    scene: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Keyword:
    """A content word or bigram of a caption, `caption[start:end] == text`; c is 1..5, the role as in ARO."""

    text: str
    lemma: str
    pos: str
    start: int
    end: int
    concreteness: float | None
    role: str


@dataclass(frozen=True, slots=True)
class Provenance:
    """What made a hard negative: `name@version` of the rewriter and of the editor, and the record's seed."""

    rewriter: str
    editor: str
    seed: int


@dataclass(frozen=True, slots=True)
class HardNegative:
    """A caption with one word changed, and the picture edited to fit it.

    `keyword.concreteness` is the c that the loss reads; a swap of two words has the mean of their c.
    """

    image_id: str
    image_path: str | None
    caption: str
    keyword: Keyword
    negative_caption: str
    negative_image_path: str | None
    provenance: Provenance

    @property
    def record_id(self) -> str:
        """A name that depends on the picture and both captions only, so that a re-run makes the same one."""
        key = "\x1f".join((self.image_id, self.caption, self.negative_caption))
        return hashlib.sha256(key.encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "HardNegative":
        return cls(
            **{
                **fields,
                "keyword": Keyword(**fields["keyword"]),
                "provenance": Provenance(**fields["provenance"]),
            }
        )


@dataclass(frozen=True, slots=True)
class Score:
    """One number of an evaluation: a fraction 0..1 over `count` items, with its standard error."""

    benchmark: str
    subset: str
    metric: str
    value: float
    count: int
    stderr: float
