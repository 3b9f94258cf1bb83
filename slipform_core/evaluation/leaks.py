"""Whether a benchmark's photographs were trained on, by name and by sight."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import length_hint
from pathlib import Path, PurePath
from typing import NamedTuple

import numpy as np
from more_itertools import chunked
from numpy.typing import NDArray
from PIL import Image

from slipform_core import progress
from slipform_core.benchmarks.items import Photo
from slipform_core.evaluation.encoding import Shown
from slipform_core.evaluation.threads import in_parts, reading_threads
from slipform_core.mistakes import BadPicture
from slipform_core.shards import read_manifest, read_samples
from slipform_core.sources import photographs

# Bits of 64: our choice. Of 283 photographs of COCO cut to 224 pixels and encoded again, 99 % and more are at
# most 4 from their original; of the 32.7 million pairs of Flickr8k one is, the same photograph.
NEAR = 4
FEW = 5  # pictures that are named
CELLS = 1 << 22  # of a block of distances: 32 MB
COCO = re.compile(r"(?:COCO_[a-z]+\d{4}_)?(\d{12})\.jpe?g", re.IGNORECASE)

Hashes = NDArray[np.uint64]
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Leaks:
    """How many of `tested` photographs are among `trained` pictures: by name, by sight, by either.

    named, seen: the first few, each with the training picture that it is. unread: photographs that could not
    be looked at, by reason.
    """

    trained: int
    tested: int
    by_name: int
    by_sight: int
    by_either: int
    named: Pairs
    seen: Pairs
    unread: Mapping[str, int]

    def __str__(self) -> str:
        lines = [f"{self.by_either:,} of {self.tested:,} test pictures are among {self.trained:,} trained on"]
        for way, count, first in (("name", self.by_name, self.named), ("sight", self.by_sight, self.seen)):
            shown = [f"{test} is {training}" for test, training in first] + ["…"] * (count > len(first))
            lines.append(f"by {way}: {count:,}" + (f" ({', '.join(shown)})" if shown else ""))
        lines += [f"not looked at: {count:,}, {why}" for why, count in self.unread.items()]
        return "\n".join(lines)


class Trained(NamedTuple):
    """Pictures that were trained on: their names by key, and what to call each, with its hash."""

    names: dict[str, str]
    hashes: list[tuple[str, int]]


def find_leaks(trained: Trained, tested: Iterable[Shown], *, near: int = NEAR) -> Leaks:
    """Which pictures are among those of ConcreteBatch folders, originals and the others beside them alike.

    By name: the same COCO number or else file name. By sight: difference hashes `near` bits apart at most, of
    the middle of the photograph, which is what ConcreteBatch keeps, or of all of it squeezed into a square; a
    picture without any edge resembles nothing. The whole file counts, whatever part of it is shown.
    """
    called, hashes, unread = _hashed(tested)
    names, known = trained
    distances, nearest = _nearest(hashes, np.array([of for _, of in known], dtype=np.uint64))
    named = {name: names[key] for name in called if (key := picture_key(name)) in names}
    seen = {called[k]: known[nearest[k]][0] for k in np.flatnonzero(distances <= near)}
    return Leaks(
        trained=len(known),
        tested=len(called),
        by_name=len(named),
        by_sight=len(seen),
        by_either=len(named.keys() | seen.keys()),
        named=_first(named),
        seen=_first(seen),
        unread=unread,
    )


def picture_key(place: str) -> str:
    """What names a photograph: COCO's number, the same in all years' splits, or the file's name.

    Inside a tar or Parquet file a picture has no name of its own: the place itself.
    """
    name = PurePath(place).name
    if photographs.INSIDE.fullmatch(place):
        return place
    found = COCO.fullmatch(name)
    return f"COCO {int(found[1])}" if found else name


def difference_hash(picture: Image.Image) -> int:
    """64 bits: which of 9 x 8 points are darker than the next of their row.

    Source: the dHash of Krawetz (2013), scaled by Lanczos, as the package imagehash does.
    """
    points = np.asarray(picture.convert("L").resize((9, 8), Image.Resampling.LANCZOS))
    return int.from_bytes(np.packbits(points[:, 1:] > points[:, :-1]).tobytes())


def _first(pairs: Mapping[str, str]) -> Pairs:
    return tuple((PurePath(one).name, PurePath(other).name) for one, other in list(pairs.items())[:FEW])


def _hashed(tested: Iterable[Shown]) -> tuple[list[str], Hashes, Counter[str]]:
    """What to call each picture, two hashes (P, 2), 0 where it cannot be read, and why not."""
    called, found, unread = [], [], Counter()
    with (
        reading_threads() as pool,
        progress.bar(desc="leaks", unit="picture", total=length_hint(tested) or None) as bar,
    ):
        for part in in_parts(_once(tested), lambda named: named[1]):
            for (name, _), both in zip(part, pool.map(_both_hashes, part), strict=True):
                if isinstance(both, str):
                    unread[both] += 1
                called.append(name)
                found.append((0, 0) if isinstance(both, str) else both)
                bar.update()
    return called, np.array(found, dtype=np.uint64).reshape(-1, 2), unread


def _once(tested: Iterable[Shown]) -> Iterator[tuple[str, Shown]]:
    """Photographs by where they lie, each once, whatever part of them is shown; others by their number."""
    known: set[str] = set()
    for number, picture in enumerate(tested):
        if not isinstance(picture, Photo):
            yield f"picture number {number}", picture
        elif picture.place not in known:
            known.add(picture.place)
            yield picture.place, picture


def _both_hashes(named: tuple[str, Shown]) -> tuple[int, int] | str:
    name, picture = named
    if isinstance(picture, Photo):
        try:
            picture = photographs.whole(photographs.content(name))
        except BadPicture as bad:
            return str(bad)
    return difference_hash(photographs.square(picture, min(picture.size))), difference_hash(picture)


def read_trained(folders: Iterable[Path]) -> Trained:
    """The pictures of ConcreteBatch folders; one sample in memory at a time. Errors of `read_samples`."""
    names: dict[str, str] = {}
    hashes: dict[tuple[str, int], None] = {}
    for folder in folders:
        done: set[str] = set()
        total = sum(shard.records for shard in read_manifest(folder))
        for sample in progress.bar(iterable=read_samples(folder), desc="leaks", unit="record", total=total):
            record = sample.record
            other = record.negative_image_path
            edit = other or f"the edit of record {record.record_id}"
            for name in filter(None, (record.image_id, record.image_path, other)):
                names.setdefault(picture_key(name), name)
            for name, pixels in ((record.image_id, sample.picture), (edit, sample.negative_picture)):
                if name not in done:
                    done.add(name)
                    hashes[name, difference_hash(Image.fromarray(pixels))] = None
    return names, list(hashes)


def _nearest(ours: Hashes, theirs: Hashes) -> tuple[NDArray[np.uint8], NDArray[np.intp]]:
    """Of hashes (P, 2) and (T,): how far each row's nearest is, 65 where there is none, and which it is."""
    distances, nearest = np.full(len(ours), 65, dtype=np.uint8), np.zeros(len(ours), dtype=np.intp)
    if not len(theirs):
        return distances, nearest
    for rows in chunked(range(len(ours)), max(1, CELLS // (2 * len(theirs)))):
        mine = ours[rows]
        apart = np.bitwise_count(mine[:, :, None] ^ theirs)
        apart[mine == 0] = 65
        apart[:, :, theirs == 0] = 65
        best = apart.min(axis=1)
        nearest[rows], distances[rows] = best.argmin(axis=1), best.min(axis=1)
    return distances, nearest
