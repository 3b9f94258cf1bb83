"""What a run's results files say: plain values gathered from the stages' folders."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from slipform_core.metrics import counts_for_macro, macro_of
from slipform_core.outcomes import Outcomes
from slipform_core.records import ROLES, Keyword
from slipform_core.shards import read_manifest, read_records, rejections
from slipform_core.stages import seconds
from slipform_core.statistics import clustered_bootstrap

BINS = np.arange(1.0, 5.01, 0.25)  # of concreteness, 1..5
EVERY = 10  # steps to a point of a training's curves
DRAWS = 1000  # of the bootstrap behind the macro average's standard error


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
        "frequency": dict(Counter(word.text.lower() for word in keywords).most_common()),
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
    """The curves of a training, each point the mean of `every` steps, and what it took."""
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    steps = {key: np.array([line[key] for line in log]) for key in log[0] if key != "step"}
    cuts = np.arange(0, len(log), EVERY)
    sizes = np.diff([*cuts, len(log)])
    curves = {key: np.round(np.add.reduceat(values, cuts) / sizes, 5) for key, values in steps.items()}
    return {
        "steps": len(log),
        "pictures": len(log) * pictures,
        "seconds": seconds(folder),
        "last": {key: round(float(np.mean(values[-50:])), 4) for key, values in steps.items()},
        "every": EVERY,
        "curves": {key: values.tolist() for key, values in curves.items()},
    }


def survey(columns: Mapping[str, list], frequency: Mapping[str, int]) -> dict[str, Any]:
    """The survey's records, a column each, with how often the word occurs in the training captions."""
    return {**columns, "frequency": [frequency.get(word, 0) for word in columns["word"]]}


def scores(path: Path) -> dict[str, Any]:
    """Scores as benchmark -> subset -> metric -> value, count and standard error."""
    tree: dict[str, Any] = {}
    for score in json.loads(path.read_text()):
        value = {key: score[key] for key in ("value", "count", "stderr")}
        tree.setdefault(score["benchmark"], {}).setdefault(score["subset"], {})[score["metric"]] = value
    return tree


def macros(values: Mapping[str, Any], *, seed: int) -> dict[str, dict[str, float]]:
    """The macro average of each arm of an `outcomes` file, its standard error by a bootstrap of scenes.

    None has one where a small world lacks the items of a whole column.
    """
    given = Outcomes(values)
    references = [reference for reference in given.references() if counts_for_macro(reference)]
    found: dict[str, dict[str, float]] = {}
    if macro_of(dict.fromkeys(references, 0.0)) is None:
        return found
    for arm in given.arms:
        columns = {reference: given.column(arm, reference) for reference in references}
        rng = np.random.default_rng(seed)
        estimate = clustered_bootstrap(columns, macro_of, rng=rng, draws=DRAWS)
        stderr = (estimate.high - estimate.low) / (2 * 1.96)
        found[arm] = {"value": estimate.value, "count": values["scenes"], "stderr": stderr}
    return found
