"""What the text stage leaves on disk: a file a part, and what became of every caption in it.

`text/part-00000.jsonl` starts with a line that says what it was made from; each other line has a caption and
either its hard negative, without a picture yet, or the reason why there is none and the word that was tried.
`dropped/part-00000.jsonl` has the records that the picture stage dropped.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from slipform_core.concrete_plant.guard import FAILED
from slipform_core.files import write_text
from slipform_core.records import Caption, HardNegative

TEXT, DROPPED = "text", "dropped"


class Share(NamedTuple):
    """The parts of one process among several: every `count`-th, from `index` on."""

    index: int
    count: int

    def has(self, part: int) -> bool:
        return part % self.count == self.index


WHOLE = Share(0, 1)


@dataclass(frozen=True, slots=True)
class Rejection:
    """A caption without a hard negative: why, the word that was to change, the rewriting if there was one."""

    caption: Caption
    reason: str
    word: str = ""
    negative_caption: str = ""


@dataclass(frozen=True)
class Part:
    """The outcome of the text stage for some captions, in their order."""

    kept: Sequence[tuple[Caption, HardNegative]]
    rejected: Sequence[Rejection]

    @property
    def captions(self) -> int:
        return len(self.kept) + len(self.rejected)

    @property
    def reasons(self) -> Counter[str]:
        return Counter(rejection.reason for rejection in self.rejected)


def part_path(folder: Path, index: int, kind: str = TEXT) -> Path:
    return folder / kind / f"part-{index:05d}.jsonl"


def part_paths(folder: Path, kind: str = TEXT) -> dict[int, Path]:
    """The parts that stand, by number: those of other processes may be missing in between."""
    paths = sorted((folder / kind).glob("part-*.jsonl"))
    return {int(path.stem.removeprefix("part-")): path for path in paths}


def stands(path: Path, source: str) -> bool:
    """Whether a part was made from this source and nothing failed meanwhile; parts are written whole."""
    found = head(path) if path.is_file() else {}
    return found.get("source") == source and not failed(found["rejected"])


def failed(reasons: Iterable[str]) -> bool:
    """Whether one of the reasons may have passed by now, as that a device was out of memory."""
    return any(reason.startswith(FAILED) for reason in reasons)


def head(path: Path) -> dict:
    """The first line of a part: what it was made from, its captions, and its rejections by reason."""
    with path.open(encoding="utf-8") as lines:
        return json.loads(next(lines, "{}"))


def write_part(path: Path, part: Part, source: str) -> None:
    rows = [{"caption": asdict(caption), "negative": record.to_json()} for caption, record in part.kept]
    rows += map(asdict, part.rejected)
    _write(path, [{"source": source, "captions": part.captions, "rejected": dict(part.reasons)}, *rows])


def read_part(path: Path) -> Part:
    kept, rejected = [], []
    for row in _rows(path):
        if "negative" in row:
            kept.append((Caption(**row["caption"]), HardNegative.from_json(row["negative"])))
        else:
            rejected.append(_rejection(row))
    return Part(kept, rejected)


def digest(path: Path) -> str:
    """Sixteen hex digits of a part's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:16]


@dataclass
class Dropped:
    """The records that the picture stage dropped, and the captions of the pictures that it could not read."""

    records: list[Rejection] = field(default_factory=list)
    unread: list[Caption] = field(default_factory=list)


def write_dropped(path: Path, dropped: Dropped) -> None:
    _write(path, [{"unread": list(map(asdict, dropped.unread))}, *map(asdict, dropped.records)])


def unread(path: Path) -> list[Caption]:
    """A caption of each picture that could not be read."""
    return [Caption(**fields) for fields in head(path)["unread"]]


def rejections(folder: Path) -> Iterator[Rejection]:
    """Every caption that has no hard negative and every record that was dropped, one in memory at a time."""
    for kind in (TEXT, DROPPED):
        for path in part_paths(folder, kind).values():
            yield from (_rejection(row) for row in _rows(path) if "reason" in row)


def _rejection(row: dict) -> Rejection:
    return Rejection(**{**row, "caption": Caption(**row["caption"])})


def _rows(path: Path) -> Iterator[dict]:
    with path.open(encoding="utf-8") as lines:
        next(lines)
        yield from map(json.loads, lines)


def _write(path: Path, rows: Iterable[dict]) -> None:
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
