"""The stages of scores, and of what text alone gives away."""

import json
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from slipform_core import outcomes
from slipform_core.config import Experiment
from slipform_core.experiment.arms import load, trained
from slipform_core.experiment.negatives import plant
from slipform_core.files import write_text
from slipform_core.stages import code, stage

if TYPE_CHECKING:
    from slipform_core.benchmarks.items import Benchmark


def score(experiment: Experiment, stages: Path, arm: str) -> Path:
    """The scores of an arm, or of the base, and which items it has right; `scores.json`, `outcomes.json`."""
    weights = trained(experiment, stages, arm).name
    scoring = ("slipform_core.evaluation.arrays", "slipform_core.benchmarks.world")
    code_hash = code(*scoring, "slipform_core.probes", "slipform_core.outcomes")
    depends = (weights, experiment.evaluation, experiment.world, experiment.seed, code_hash)
    return stage(stages, f"scores-{arm}", *depends, make=partial(_score, experiment, stages, arm))


def _score(experiment: Experiment, stages: Path, arm: str, folder: Path) -> None:
    from slipform_core.evaluation.arrays import evaluate
    from slipform_core.probes import features, linear_probes

    given, clip = _given(experiment.model_dump_json()), load(experiment, stages, arm)
    batch = experiment.evaluation.batch
    evaluation = evaluate(clip, given.benchmark, batch=batch)
    train, test = (
        (features(clip, part.pictures, batch), part.objects, part.places)
        for part in (given.train, given.test)
    )
    scores = [*evaluation.scores, *linear_probes(train, test)]
    write_text(folder / "scores.json", json.dumps([asdict(score) for score in scores]))
    packed = outcomes.pack_all(evaluation.outcomes)
    write_text(folder / "outcomes.json", json.dumps({"items": given.items, "right": packed}))


@dataclass(frozen=True)
class _Labelled:
    """Pictures (P, H, W, 3) uint8, and the nouns and the place of each."""

    pictures: np.ndarray
    objects: list[set[str]]
    places: list[str]


@dataclass(frozen=True)
class _Given:
    """What every arm is scored on."""

    benchmark: "Benchmark"
    items: dict[str, Any]
    train: _Labelled
    test: _Labelled


@lru_cache(maxsize=1)
def _given(text: str) -> _Given:
    """Drawn once a process, for all arms that it scores; from the experiment's JSON, which can be hashed."""
    from slipform_core.benchmarks.world import world_benchmark
    from slipform_core.sources.world import WorldSource

    experiment = Experiment.model_validate_json(text)
    source, scenes = WorldSource(experiment), experiment.world.test_scenes
    benchmark = world_benchmark(experiment)
    about = {
        subset: outcomes.items(items.clusters, items.words, scenes)
        for subset, items in benchmark.subsets.items()
    }
    # The pool are the first scenes, in order, with as many captions each.
    _, owners = benchmark.retrieval
    pool = np.arange(len(np.unique(owners)))
    for way, whose in (("t2i", pool.repeat(len(owners) // len(pool))), ("i2t", pool)):
        about[f"retrieval/world/{way}"] = outcomes.items(whose, [""] * len(whose), scenes)
    return _Given(
        benchmark,
        about,
        _labelled(source, "train", experiment.evaluation.probe),
        _labelled(source, "test", scenes),
    )


def _labelled(source: Any, split: str, count: int) -> _Labelled:
    captions = list(islice(source.captions(split, each=1), count))
    return _Labelled(
        np.stack([source.picture(caption) for caption in captions]),
        [{noun for noun, _, _ in caption.scene["things"]} for caption in captions],
        [caption.scene["place"] for caption in captions],
    )


def blind(experiment: Experiment, stages: Path) -> Path:
    """Whether text alone tells captions from rewrites, of training and of the benchmark; `blind.json`."""
    stands_on = [plant(experiment, stages, choice).name for choice in experiment.choices]
    code_hash = code("slipform_core.probes", "slipform_core.benchmarks.world")
    depends = (stands_on, experiment.world, experiment.evaluation, experiment.seed, code_hash)
    return stage(stages, "blind", *depends, make=partial(_blind, experiment, stages))


def _blind(experiment: Experiment, stages: Path, folder: Path) -> None:
    from slipform_core.benchmarks.world import world_benchmark
    from slipform_core.probes import FOLDS, text_probe
    from slipform_core.shards import read_records

    negatives = {}
    for choice in experiment.choices:
        records = list(read_records(plant(experiment, stages, choice)))
        groups = np.unique([record.image_id for record in records], return_inverse=True)[1]
        texts = [[record.caption for record in records], [record.negative_caption for record in records]]
        negatives[choice] = text_probe(*texts, groups.tolist(), seed=experiment.seed)
    benchmark = world_benchmark(experiment)
    foils = {}
    for subset, items in benchmark.subsets.items():
        # A small world may have fewer items of a kind than the probe has folds.
        if subset.startswith("sugarcrepe/") and len(items.clusters) >= FOLDS:
            texts = [[benchmark.texts[index] for index in column] for column in items.captions.T]
            foils[subset] = text_probe(*texts, items.clusters.tolist(), seed=experiment.seed)
    write_text(folder / "blind.json", json.dumps({"negatives": negatives, "benchmark": foils}))
