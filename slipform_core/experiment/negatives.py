"""The stages of words: keywords of the captions, hard negatives, what the base sees in them, matched sets."""

import json
from collections.abc import Iterable
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from slipform_core import summaries
from slipform_core.config import CHOICES, Experiment
from slipform_core.files import write_text
from slipform_core.records import Caption
from slipform_core.stages import code, stage

SURVEY = "survey"


def words(experiment: Experiment, stages: Path) -> Path:
    """Keywords of the training captions and what the norms say of them; `words.json`."""
    code_hash = code("slipform_core.concreteness", "slipform_core.sources.world", "slipform_core.summaries")
    depends = (experiment.seed, experiment.world, code_hash)
    return stage(stages, "words", *depends, make=partial(_words, experiment))


def _words(experiment: Experiment, folder: Path) -> None:
    from slipform_core.concreteness import Norms, extract_keywords_batch
    from slipform_core.sources.world import WorldSource

    captions = [caption.text for caption in WorldSource(experiment).captions("train", each=1)]
    norms = Norms.load("brysbaert")
    keywords = extract_keywords_batch(captions, norms)
    write_text(folder / "words.json", json.dumps(summaries.words(keywords, len(norms))))


def plant(experiment: Experiment, stages: Path, choice: str) -> Path:
    """ConcreteBatch for one choice of the target word: shards and manifest.

    "survey" is a small one for the analysis of words: any word, several captions of each of its scenes.
    """
    code_hash = code("slipform_core.concrete_plant", "slipform_core.sources.world")
    extra = (experiment.survey,) if choice == SURVEY else ()
    depends = (choice, experiment.seed, experiment.world, experiment.plant, *extra, code_hash)
    return stage(stages, f"negatives-{choice}", *depends, make=partial(_plant, experiment, choice))


def _plant(experiment: Experiment, choice: str, folder: Path) -> None:
    from slipform_core.concrete_plant import SWAP, ConcretePlant
    from slipform_core.concreteness import Norms
    from slipform_core.editors import EDITORS
    from slipform_core.rewriters import REWRITERS
    from slipform_core.sources.world import WorldSource

    source, settings = WorldSource(experiment), experiment.plant
    rewriter = SWAP if choice == SWAP else settings.rewriter
    concrete_plant = ConcretePlant(
        norms=Norms.load("brysbaert"),
        choose="wo" if choice == SURVEY else choice,
        rewriter=REWRITERS[rewriter](source.world),
        editor=EDITORS[settings.editor](source.world),
        picture=source.picture,
        top_k=settings.top_k,
        attempts=settings.attempts,
        seed=experiment.seed,
    )
    captions: Iterable[Caption] = source.captions("train", each=settings.captions_per_scene)
    if choice == SURVEY:
        each = experiment.survey.captions
        captions = islice(source.captions("train", each=each), experiment.survey.scenes * each)
    concrete_plant.run(captions, out=folder, shard_captions=settings.shard_captions)


def judged(experiment: Experiment, stages: Path, choice: str) -> Path:
    """What the base sees in each hard negative of a choice: similarities and logit gaps; `columns.json`."""
    from slipform_core.experiment.arms import pretrain

    stands_on = (pretrain(experiment, stages).name, plant(experiment, stages, choice).name)
    depends = (*stands_on, experiment.evaluation.batch, code("slipform_core.judges"))
    return stage(stages, f"judged-{choice}", *depends, make=partial(_judged, experiment, stages, choice))


def _judged(experiment: Experiment, stages: Path, choice: str, folder: Path) -> None:
    from slipform_core.experiment.arms import BASE, load
    from slipform_core.judges import measure
    from slipform_core.shards import read_samples

    samples = read_samples(plant(experiment, stages, choice))
    columns = measure(load(experiment, stages, BASE), samples, batch=experiment.evaluation.batch)
    write_text(folder / "columns.json", json.dumps(columns))


def matched(experiment: Experiment, stages: Path) -> Path:
    """Records of hc, lc and wo with as many of each part of speech and similarity; `matched.json`."""
    stands_on = [judged(experiment, stages, choice).name for choice in CHOICES]
    depends = (stands_on, experiment.seed, experiment.matching, code("slipform_core.matching"))
    return stage(stages, "matched", *depends, make=partial(_matched, experiment, stages))


def _matched(experiment: Experiment, stages: Path, folder: Path) -> None:
    from slipform_core.matching import balance, match

    sets = {}
    for choice in CHOICES:
        columns = json.loads((judged(experiment, stages, choice) / "columns.json").read_text())
        sets[choice] = (columns["pos"], np.array(columns["text_similarity"]))
    rng = np.random.default_rng(experiment.seed)
    kept = match(sets, bins=experiment.matching.bins, rng=rng)
    records = {choice: rows.tolist() for choice, rows in kept.items()}
    write_text(folder / "matched.json", json.dumps({"records": records, "balance": balance(sets, kept)}))
