"""What a run's results files say: plain values gathered from the stages' folders."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from slipform_core.config import Experiment
from slipform_core.records import ROLES, Keyword
from slipform_core.shards import read_manifest, read_records, read_samples, rejections
from slipform_core.stages import seconds

BINS = np.arange(1.0, 5.01, 0.25)  # of concreteness, 1..5


def words(captions: Sequence[Sequence[Keyword]], norms: int) -> dict[str, Any]:
    """Of the keywords of captions: coverage by the norms (`norms` entries), counts, concreteness."""
    keywords = [keyword for words in captions for keyword in words]
    missing = Counter(word.lemma.lower() for word in keywords if word.concreteness is None)
    return {
        "norms": norms,
        "captions": len(captions),
        "keywords": len(keywords),
        "covered": len(keywords) - missing.total(),
        "uncovered": dict(missing.most_common(20)),
        "bins": BINS.tolist(),
        "roles": {role: _concreteness(word for word in keywords if word.role == role) for role in ROLES},
    }


def _concreteness(keywords: Iterable[Keyword]) -> dict[str, Any]:
    values = np.array([word.concreteness for word in keywords if word.concreteness is not None])
    if not len(values):
        return {"count": 0}
    return {
        "count": len(values),
        "mean": round(float(values.mean()), 4),
        "concrete": round(float((values >= 4).mean()), 4),
        "histogram": np.histogram(values, BINS)[0].tolist(),
    }


def negatives(folder: Path) -> dict[str, Any]:
    """What ConcretePlant kept and rejected, by reason and by role."""
    manifest = read_manifest(folder)
    records = list(read_records(folder))
    return {
        "captions": sum(shard.captions for shard in manifest),
        "kept": len(records),
        "rejected": dict(rejections(manifest).most_common()),
        "roles": {
            role: _concreteness(record.keyword for record in records if record.keyword.role == role)
            for role in ROLES
        },
        "all": _concreteness(record.keyword for record in records),
        "folder": str(folder),
        "seconds": seconds(folder),
    }


def training(folder: Path, pictures: int) -> dict[str, Any]:
    """The curves of a training, a point a step, and what it took."""
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    curves = {key: [round(line[key], 5) for line in log] for key in log[0] if key != "step"}
    last = {key: round(float(np.mean(values[-50:])), 4) for key, values in curves.items()}
    return {
        "steps": len(log),
        "pictures": len(log) * pictures,
        "seconds": seconds(folder),
        "last": last,
        "curves": curves,
    }


def shares(experiment: Experiment, clip: Any, folder: Path, margins: Mapping[str, Any]) -> dict[str, Any]:
    """The hard negative's share at the features of `clip` for each 2N: InfoNCE's and each margin's."""
    import torch

    from slipform_core.gradients import share_against_batch

    settings = experiment.gradients
    features, concreteness = _features(clip, folder, experiment.evaluation.batch, 4 * max(settings.pictures))
    by_loss = {}
    for name, margin in {"info_nce": None, **margins}.items():
        measured = share_against_batch(
            *features,
            logit_scale=clip.logit_scale.item(),
            pictures=settings.pictures,
            batches=settings.batches,
            generator=torch.Generator().manual_seed(experiment.seed),
            margin=margin,
            concreteness=concreteness,
        )
        by_loss[name] = {
            str(share.pictures): {"mean": share.mean, "stderr": share.stderr} for share in measured
        }
    return by_loss


def _features(clip: Any, folder: Path, batch: int, count: int):
    """Unit vectors of pictures, captions, negative pictures and negative captions of the first records."""
    import torch

    from slipform_core.data import negative_pool

    samples = islice(read_samples(folder), count)
    pool = negative_pool(((s.record, s.picture, s.negative_picture) for s in samples), clip.tokenize)
    # One record a picture, so that no picture meets itself in a batch.
    rows = pool.first[:-1]
    parts: list[list[torch.Tensor]] = [[], [], [], []]
    with torch.inference_mode():
        for start in range(0, len(pool), batch):
            pictures = np.arange(start, min(start + batch, len(pool)))
            taken = pool.take(pictures, rows[pictures])
            parts[0].append(clip.encode_image(taken.pictures))
            parts[1].append(clip.encode_text(taken.tokens))
            parts[2].append(clip.encode_image(taken.negative_pictures))
            parts[3].append(clip.encode_text(taken.negative_tokens))
    return [torch.cat(part) for part in parts], pool.concreteness[torch.from_numpy(rows)]


def scores(path: Path) -> dict[str, Any]:
    """Scores as subset -> metric -> value, count and standard error."""
    tree: dict[str, Any] = {}
    for score in json.loads(path.read_text()):
        value = {key: score[key] for key in ("value", "count", "stderr")}
        tree.setdefault(score["subset"], {})[score["metric"]] = value
    return tree
