"""Which of a run's records and rejections a page shows: drawn by a seed, without reading all of them."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from slipform_core.concrete_plant import Rejection, rejections
from slipform_core.concrete_plant.parts import part_paths, read_part
from slipform_core.records import HardNegative
from slipform_core.shards import Sample, read_chosen, read_manifest, read_records

SHARDS = 8  # that are read for samples, of however many
EACH = 4  # rejections shown of a reason


def draw_samples(folder: Path, count: int, seed: int) -> list[Sample]:
    """`count` samples, or all where there are fewer, of at most eight shards."""
    rng = np.random.default_rng(seed)
    names = [shard.name for shard in read_manifest(folder) if shard.records]
    read = [names[row] for row in sorted(rng.permutation(len(names))[:SHARDS])]
    if not read:
        return []
    ids = [record.record_id for record in read_records(folder, read)]
    chosen = {ids[row] for row in rng.permutation(len(ids))[:count]}
    found = list(read_chosen(folder, chosen, read))
    return [found[row] for row in rng.permutation(len(found))]


def draw_texts(folder: Path, count: int, seed: int) -> list[HardNegative]:
    """`count` hard negatives without pictures, or all where there are fewer, of at most eight parts."""
    rng = np.random.default_rng(seed)
    paths = list(part_paths(folder).values())
    read = [paths[row] for row in sorted(rng.permutation(len(paths))[:SHARDS])]
    found = [record for path in read for _, record in read_part(path).kept]
    return [found[row] for row in rng.permutation(len(found))[:count]]


def draw_rejections(folder: Path, seed: int) -> dict[str, list[Rejection]]:
    """Some rejections of each reason, all as likely: reservoir sampling over the files."""
    rng = np.random.default_rng(seed)
    return _reservoirs(rejections(folder), rng)


def _reservoirs(rows: Iterable[Rejection], rng: np.random.Generator) -> dict[str, list[Rejection]]:
    kept: dict[str, list[Rejection]] = defaultdict(list)
    seen: dict[str, int] = defaultdict(int)
    for row in rows:
        seen[row.reason] += 1
        if len(kept[row.reason]) < EACH:
            kept[row.reason].append(row)
        elif (place := int(rng.integers(seen[row.reason]))) < EACH:
            kept[row.reason][place] = row
    return dict(kept)
