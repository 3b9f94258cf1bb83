"""ConcreteBatch on disk: WebDataset tars of hard negatives and a manifest that says what each tar holds.

A sample is `<record_id>.png` or, of photographs, `.jpg`, `.txt`, `.negative.png`, `.negative.txt` and `.json`
(the record). The manifest has a line a shard: name, sha256, bytes, what it was made from, captions read,
records, rejections by reason. A shard is a pure function of its captions: a killed run resumes to the same
bytes, a damaged shard is made again.
"""

import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from slipform_core.files import write_text
from slipform_core.records import HardNegative

MANIFEST, LOCK = "manifest.jsonl", ".manifest.lock"
PNG_LEVEL = 0  # noise does not compress: 12.4 kB instead of 11.7, written and read in a fraction of the time


class DamagedShard(ValueError):
    """A shard that is missing or whose bytes are not those of the manifest."""


@dataclass(frozen=True)
class Shard:
    """A line of the manifest."""

    name: str
    sha256: str
    size: int
    source: str
    captions: int
    records: int
    rejected: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Sample:
    """A hard negative with its two pictures, (H, W, 3) uint8."""

    record: HardNegative
    picture: np.ndarray
    negative_picture: np.ndarray


def shard_name(index: int) -> str:
    return f"shard-{index:05d}.tar"


def write_shard(
    folder: Path,
    name: str,
    samples: Iterable[Sample],
    *,
    source: str,
    captions: int,
    rejected: Callable[[], Mapping[str, int]],
    quality: int | None = None,
) -> Shard:
    """Write one tar whole or not at all, always to the same bytes for the same samples.

    rejected: asked once all samples are written. quality: of JPEGs; None for PNG.
    """
    from webdataset.writer import TarWriter

    partial = folder / (name + ".partial")
    kind = "jpg" if quality else "png"
    count = 0
    with (
        partial.open("wb") as stream,
        TarWriter(stream, encoder=False, mtime=0, user="", group="") as writer,
    ):
        for sample in samples:
            writer.write(
                {
                    "__key__": sample.record.record_id,
                    kind: _encoded(sample.picture, quality),
                    "txt": sample.record.caption.encode(),
                    f"negative.{kind}": _encoded(sample.negative_picture, quality),
                    "negative.txt": sample.record.negative_caption.encode(),
                    "json": json.dumps(sample.record.to_json(), sort_keys=True).encode(),
                }
            )
            count += 1
    partial.replace(folder / name)
    path = folder / name
    reasons = dict(sorted(rejected().items()))
    return Shard(name, _sha256(path), path.stat().st_size, source, captions, count, reasons)


def read_manifest(folder: Path) -> list[Shard]:
    """The shards of a folder in order; none when it has no manifest."""
    path = folder / MANIFEST
    if not path.is_file():
        return []
    return [Shard(**json.loads(line)) for line in path.read_text().splitlines()]


def write_manifest(folder: Path, shards: Iterable[Shard]) -> None:
    lines = [json.dumps(vars(shard), sort_keys=True) for shard in sorted(shards, key=lambda s: s.name)]
    write_text(folder / MANIFEST, "".join(line + "\n" for line in lines))


def intact(folder: Path, shard: Shard) -> bool:
    path = folder / shard.name
    return path.is_file() and path.stat().st_size == shard.size and _sha256(path) == shard.sha256


def enter(folder: Path, made: Shard) -> None:
    """Put a shard into the manifest, in place of an older one of its name."""
    _change(folder, lambda lines: lines.update({made.name: made}))


def forget(folder: Path, keep: Collection[str]) -> None:
    """Leave only shards of these names, in the manifest and in the folder."""
    _change(folder, lambda lines: [lines.pop(name) for name in lines.keys() - keep])
    for path in folder.glob("shard-*.tar"):
        if path.name not in keep:
            path.unlink(missing_ok=True)


def _change(folder: Path, change: Callable[[dict[str, Shard]], Any]) -> None:
    from filelock import FileLock

    # Several processes may make shards of one folder.
    with FileLock(folder / LOCK):
        lines = {shard.name: shard for shard in read_manifest(folder)}
        change(lines)
        write_manifest(folder, lines.values())


def rejections(shards: Iterable[Shard]) -> Counter[str]:
    """How many captions were rejected in all, by reason."""
    return sum((Counter(shard.rejected) for shard in shards), Counter())


def read_samples(folder: Path) -> Iterator[Sample]:
    """Every sample of the shards in the manifest's order, one in memory at a time.

    Raises DamagedShard that names a shard whose bytes are not the manifest's, before any of it is read, and
    FileNotFoundError when the folder has no manifest. Nothing is unpickled or written.
    """
    for parts in _read(folder):
        yield _sample(parts)


def read_chosen(folder: Path, chosen: Collection[str], names: Collection[str]) -> Iterator[Sample]:
    """The samples with these record ids in the shards of these names; no other pictures are decoded."""
    for parts in _read(folder, names):
        if _record(parts).record_id in chosen:
            yield _sample(parts)


def read_records(folder: Path, names: Collection[str] | None = None) -> Iterator[HardNegative]:
    """The records of `read_samples`, with its errors, their pictures left undecoded; of some shards only."""
    return map(_record, _read(folder, names))


def _read(folder: Path, names: Collection[str] | None = None) -> Iterator[dict[str, bytes]]:
    from webdataset.tariterators import group_by_keys, tar_file_iterator

    manifest = read_manifest(folder)
    if not manifest:
        raise FileNotFoundError(f"{folder} has no {MANIFEST}: no ConcreteBatch was made there")
    for shard in manifest:
        if names is not None and shard.name not in names:
            continue
        if not intact(folder, shard):
            raise DamagedShard(f"{folder / shard.name} is missing or damaged: make it again")
        with (folder / shard.name).open("rb") as stream:
            members = ({**member, "__url__": shard.name} for member in tar_file_iterator(stream))
            yield from group_by_keys(members)


def _sample(parts: Mapping[str, bytes]) -> Sample:
    kind = "jpg" if "jpg" in parts else "png"
    return Sample(_record(parts), _pixels(parts[kind]), _pixels(parts[f"negative.{kind}"]))


def _record(parts: Mapping[str, bytes]) -> HardNegative:
    return HardNegative.from_json(json.loads(parts["json"]))


def _encoded(pixels: np.ndarray, quality: int | None) -> bytes:
    stream = io.BytesIO()
    picture = Image.fromarray(pixels)
    if quality:
        picture.save(stream, format="JPEG", quality=quality, subsampling=0)
    else:
        picture.save(stream, format="PNG", compress_level=PNG_LEVEL)
    return stream.getvalue()


def _pixels(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data), formats=["PNG", "JPEG"]).convert("RGB"))


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
