"""The experiment, as the paper's method section tells it: world, hard negatives, pretraining, arms, scores.

Every stage is a function of the experiment, kept in a folder by its fingerprint; a stage asks for the stages
it stands on, so that any of them can be called alone, by a notebook for instance.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from slipform_core import executors, results, summaries
from slipform_core.config import Arm, ConfigError, Experiment, fingerprint
from slipform_core.files import write_text
from slipform_core.stages import code, stage

BASE = "base"


def run(experiment: Experiment, *, run: Path, stages: Path, jobs: int, command: str) -> None:
    """Run all stages, `jobs` processes at a time, and write the run's results files.

    run: the run's folder, for `results/`. stages: where stages are kept, shared by runs. command: how to make
    the results again, printed in them. Raises ConfigError before any work, see `check`.
    """
    check(experiment)
    started = time.monotonic()
    choices = sorted({arm.negatives for arm in experiment.arms.values() if arm.negatives})
    first = [partial(pretrain, experiment, stages), partial(words, experiment, stages)]
    executors.run_all([*first, *(partial(plant, experiment, stages, choice) for choice in choices)], jobs)
    arms = [partial(score, experiment, stages, arm) for arm in (*experiment.arms, BASE)]
    executors.run_all([*arms, partial(gradients, experiment, stages)], jobs)
    made = results.provenance(
        command=command,
        config=experiment.model_dump(),
        fingerprint=fingerprint(experiment, code("slipform_core.experiment")),
        seconds=time.monotonic() - started,
    )
    for name, values in summarise(experiment, stages, choices).items():
        results.write(run / "results", results.Result(name, experiment.profile, values, made))


def check(experiment: Experiment) -> None:
    """Refuse what would fail after minutes of work; ConfigError names the parameter and the choices."""
    from slipform_core.editors import EDITORS
    from slipform_core.emoji_world.lexicon import nouns
    from slipform_core.loss import LOSSES
    from slipform_core.models import MODELS
    from slipform_core.rewriters import REWRITERS

    world, arms = experiment.world, experiment.arms
    names = {
        "plant.rewriter": (experiment.plant.rewriter, REWRITERS),
        "plant.editor": (experiment.plant.editor, EDITORS),
        "model": (experiment.model, MODELS),
        **{f"arms.{name}.loss": (arm.loss, LOSSES) for name, arm in arms.items()},
    }
    for parameter, (name, choices) in names.items():
        if name not in choices:
            raise ConfigError(f"{parameter} = {name!r} is none of {', '.join(choices)}")
    if BASE in arms:
        raise ConfigError(f"arms.{BASE}: this is the name of the pretrained model, give the arm another")
    try:
        parameter = "world.nouns"
        nouns(world.nouns)
        for name, arm in arms.items():
            parameter = f"arms.{name}"
            objective_of(arm)
    except ValueError as error:
        raise ConfigError(f"{parameter}: {error}") from None
    pairs = [experiment.train.pictures // (2 if arm.negatives else 1) for arm in arms.values()]
    shares = experiment.gradients.pictures if any(arm.negatives for arm in arms.values()) else []
    sizes = {
        "pretrain.pictures": (experiment.pretrain.pictures, "pretrain_scenes"),
        "train.pictures": (max(pairs, default=0), "train_scenes"),
        "gradients.pictures": (max(shares, default=0) // 2, "train_scenes"),
        "evaluation.retrieval": (experiment.evaluation.retrieval, "test_scenes"),
    }
    for parameter, (needed, scenes) in sizes.items():
        if needed > (there := getattr(world, scenes)):
            raise ConfigError(f"{parameter} needs {needed} scenes, and world.{scenes} = {there}")


def words(experiment: Experiment, stages: Path) -> Path:
    """Keywords of the training captions and what the norms say of them; `words.json`."""
    code_hash = code("slipform_core.concreteness", "slipform_core.sources", "slipform_core.summaries")
    depends = (experiment.seed, experiment.world, code_hash)
    return stage(stages, "words", *depends, make=partial(_words, experiment))


def _words(experiment: Experiment, folder: Path) -> None:
    from slipform_core.concreteness import Norms, extract_keywords_batch
    from slipform_core.sources import WorldSource

    captions = [caption.text for caption in WorldSource(experiment).captions("train", each=1)]
    norms = Norms.load("brysbaert")
    keywords = extract_keywords_batch(captions, norms)
    write_text(folder / "words.json", json.dumps(summaries.words(keywords, len(norms))))


def plant(experiment: Experiment, stages: Path, choice: str) -> Path:
    """ConcreteBatch for one choice of the target word: shards and manifest."""
    code_hash = code("slipform_core.concrete_plant", "slipform_core.sources")
    depends = (choice, experiment.seed, experiment.world, experiment.plant, code_hash)
    return stage(stages, f"negatives-{choice}", *depends, make=partial(_plant, experiment, choice))


def _plant(experiment: Experiment, choice: str, folder: Path) -> None:
    from slipform_core.concrete_plant import SWAP, ConcretePlant
    from slipform_core.concreteness import Norms
    from slipform_core.editors import EDITORS
    from slipform_core.rewriters import REWRITERS
    from slipform_core.sources import WorldSource

    source, settings = WorldSource(experiment), experiment.plant
    rewriter = SWAP if choice == SWAP else settings.rewriter
    concrete_plant = ConcretePlant(
        norms=Norms.load("brysbaert"),
        choose=choice,
        rewriter=REWRITERS[rewriter](source.world),
        editor=EDITORS[settings.editor](source.world),
        picture=source.picture,
        top_k=settings.top_k,
        attempts=settings.attempts,
        seed=experiment.seed,
    )
    captions = source.captions("train", each=settings.captions_per_scene)
    concrete_plant.run(captions, out=folder, shard_captions=settings.shard_captions)


def pretrain(experiment: Experiment, stages: Path) -> Path:
    """The base: plain pairs of the pretraining scenes, InfoNCE; `weights.safetensors` and `words.json`."""
    code_hash = code("slipform_core.trainer", "slipform_core.sources")
    depends = (experiment.seed, experiment.world, experiment.model, experiment.pretrain, code_hash)
    return stage(stages, BASE, *depends, make=partial(_pretrain, experiment))


def _pretrain(experiment: Experiment, folder: Path) -> None:
    from slipform_core import loss, trainer
    from slipform_core.data import caption_pool
    from slipform_core.models import MODELS, WordTokenizer
    from slipform_core.sources import WorldSource

    source = WorldSource(experiment)
    captions = list(source.captions("pretrain"))
    vocabulary = WordTokenizer.count(caption.text for caption in captions)
    write_text(folder / "words.json", json.dumps(vocabulary))
    clip = MODELS[experiment.model](vocabulary, seed=experiment.pretrain.seed, side=experiment.world.side)
    pool = caption_pool(captions, source.picture, clip.tokenize)
    trainer.train(clip, pool, loss.info_nce, experiment.pretrain, folder=folder, name=BASE)


def load(experiment: Experiment, stages: Path, arm: str):
    """The trained model of an arm, or of the base."""
    from slipform_core.models import MODELS, load_weights

    vocabulary = json.loads((pretrain(experiment, stages) / "words.json").read_text())
    clip = MODELS[experiment.model](vocabulary, seed=experiment.pretrain.seed, side=experiment.world.side)
    load_weights(clip.model, trained(experiment, stages, arm) / "weights.safetensors")
    return clip


def fine_tune(experiment: Experiment, stages: Path, arm: str) -> Path:
    """One arm: the base, trained on with its negatives and its loss, on as many pictures as any other arm."""
    settings = experiment.arms[arm]
    stands_on = [pretrain(experiment, stages).name, code("slipform_core.trainer")]
    if settings.negatives:
        stands_on.append(plant(experiment, stages, settings.negatives).name)
    else:
        stands_on.append(fingerprint(experiment.plant))
    depends = (settings, experiment.train, stands_on)
    return stage(stages, f"arm-{arm}", *depends, make=partial(_fine_tune, experiment, stages, arm))


def _fine_tune(experiment: Experiment, stages: Path, arm: str, folder: Path) -> None:
    from slipform_core import trainer
    from slipform_core.data import caption_pool, negative_pool
    from slipform_core.shards import read_samples
    from slipform_core.sources import WorldSource

    settings = experiment.arms[arm]
    clip = load(experiment, stages, BASE)
    if settings.negatives:
        samples = read_samples(plant(experiment, stages, settings.negatives))
        triples = ((sample.record, sample.picture, sample.negative_picture) for sample in samples)
        pool = negative_pool(triples, clip.tokenize)
    else:
        source = WorldSource(experiment)
        captions = list(source.captions("train", each=experiment.plant.captions_per_scene))
        pool = caption_pool(captions, source.picture, clip.tokenize)
    objective, margin = objective_of(settings)
    trainer.train(clip, pool, objective, experiment.train, folder=folder, name=arm, margin=margin)


def objective_of(arm: Arm):
    """The loss of an arm as a function of pairs and logit scale, and its margin or None."""
    from slipform_core import loss

    if arm.margin is None:
        return loss.LOSSES[arm.loss], None
    margin = loss.fermi_dirac_margin(**arm.margin.model_dump())
    return partial(loss.LOSSES[arm.loss], margin=margin), margin


def trained(experiment: Experiment, stages: Path, arm: str) -> Path:
    """The folder of an arm's weights and log, or of the base's."""
    return pretrain(experiment, stages) if arm == BASE else fine_tune(experiment, stages, arm)


def score(experiment: Experiment, stages: Path, arm: str) -> Path:
    """The scores of an arm, or of the base, on the world's benchmark; `scores.json`."""
    weights = trained(experiment, stages, arm).name
    depends = (weights, experiment.evaluation, experiment.world, code("slipform_core.evaluation"))
    return stage(stages, f"scores-{arm}", *depends, make=partial(_score, experiment, stages, arm))


def _score(experiment: Experiment, stages: Path, arm: str, folder: Path) -> None:
    from slipform_core.benchmarks import BENCHMARKS
    from slipform_core.evaluation import evaluate

    benchmark = BENCHMARKS["world"](experiment)
    clip = load(experiment, stages, arm)
    scores = evaluate(clip, benchmark, batch=experiment.evaluation.batch)
    write_text(folder / "scores.json", json.dumps([asdict(score) for score in scores]))


def gradients(experiment: Experiment, stages: Path) -> Path:
    """The hard negative's gradient share against batch size at the base's features; `shares.json`."""
    choices = sorted({arm.negatives for arm in experiment.arms.values() if arm.negatives})
    stands_on = [pretrain(experiment, stages).name]
    stands_on += [plant(experiment, stages, choice).name for choice in choices]
    margins = {name: arm.margin.model_dump() for name, arm in experiment.arms.items() if arm.margin}
    code_hash = code("slipform_core.gradients", "slipform_core.summaries")
    depends = (stands_on, margins, experiment.gradients, experiment.seed, code_hash)
    return stage(stages, "gradients", *depends, make=partial(_gradients, experiment, stages, choices))


def _gradients(experiment: Experiment, stages: Path, choices: list[str], folder: Path) -> None:
    clip = load(experiment, stages, BASE)
    margins = {name: objective_of(arm)[1] for name, arm in experiment.arms.items() if arm.margin}
    shares = {
        choice: summaries.shares(experiment, clip, plant(experiment, stages, choice), margins)
        for choice in choices
    }
    write_text(folder / "shares.json", json.dumps(shares))


def summarise(experiment: Experiment, stages: Path, choices: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The values of a run's results files, by name."""
    arms = (BASE, *experiment.arms)
    pictures = {arm: (experiment.pretrain if arm == BASE else experiment.train).pictures for arm in arms}
    return {
        "words": json.loads((words(experiment, stages) / "words.json").read_text()),
        "negatives": {choice: summaries.negatives(plant(experiment, stages, choice)) for choice in choices},
        "training": {
            arm: summaries.training(trained(experiment, stages, arm), pictures[arm]) for arm in arms
        },
        "composition": {
            arm: summaries.scores(score(experiment, stages, arm) / "scores.json") for arm in arms
        },
        "gradients": {
            "batches": experiment.gradients.batches,
            "shares": json.loads((gradients(experiment, stages) / "shares.json").read_text()),
        },
    }
