"""The stages of models: the pretrained base, and each arm's fine-tuning."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from slipform_core.config import MATCHED, Arm, Experiment, fingerprint
from slipform_core.experiment.checks import BASE
from slipform_core.experiment.negatives import matched, plant
from slipform_core.experiment.watch import zero_shot
from slipform_core.files import write_text
from slipform_core.stages import code, stage


def pretrain(experiment: Experiment, stages: Path) -> Path:
    """The base: plain pairs of the pretraining scenes, InfoNCE; `weights.safetensors` and `words.json`."""
    code_hash = code("slipform_core.trainer", "slipform_core.models.registry", "slipform_core.sources.world")
    depends = (experiment.seed, experiment.world, experiment.model, experiment.pretrain, code_hash)
    return stage(stages, BASE, *depends, make=partial(_pretrain, experiment))


def _pretrain(experiment: Experiment, folder: Path) -> None:
    from slipform_core import loss, trainer
    from slipform_core.data import caption_pool
    from slipform_core.models.registry import MODELS
    from slipform_core.models.tokenizer import WordTokenizer
    from slipform_core.sources.world import WorldSource

    source = WorldSource(experiment)
    captions = list(source.captions("pretrain"))
    vocabulary = WordTokenizer.count(caption.text for caption in captions)
    write_text(folder / "words.json", json.dumps(vocabulary))
    clip = MODELS[experiment.model](vocabulary, seed=experiment.pretrain.seed, side=experiment.world.side)
    pool = caption_pool(captions, source.picture, clip.tokenize)
    evaluate = zero_shot(experiment, experiment.pretrain)
    trainer.train(clip, pool, loss.info_nce, experiment.pretrain, folder=folder, name=BASE, evaluate=evaluate)


def load(experiment: Experiment, stages: Path, arm: str):
    """The trained model of an arm, or of the base."""
    from slipform_core.models.registry import MODELS
    from slipform_core.models.weights import load_weights

    vocabulary = json.loads((pretrain(experiment, stages) / "words.json").read_text())
    clip = MODELS[experiment.model](vocabulary, seed=experiment.pretrain.seed, side=experiment.world.side)
    load_weights(clip.model, trained(experiment, stages, arm) / "weights.safetensors")
    return clip


def fine_tune(experiment: Experiment, stages: Path, arm: str) -> Path:
    """One arm: the base, trained on with its negatives and its loss, on as many pictures as any other arm."""
    stands_on = [*needed_by(experiment, stages, arm), code("slipform_core.trainer")]
    depends = (experiment.arms[arm], experiment.train, stands_on)
    return stage(stages, f"arm-{arm}", *depends, make=partial(_fine_tune, experiment, stages, arm))


def needed_by(experiment: Experiment, stages: Path, arm: str) -> list[str]:
    """The names of the stages that an arm stands on, made where they do not stand."""
    base, negatives = pretrain(experiment, stages).name, experiment.arms[arm].negatives
    if negatives in MATCHED:
        return [base, matched(experiment, stages).name]
    if negatives:
        return [base, plant(experiment, stages, negatives).name]
    return [base, fingerprint(experiment.plant)]


def _fine_tune(experiment: Experiment, stages: Path, arm: str, folder: Path) -> None:
    from slipform_core import trainer
    from slipform_core.data import caption_pool, negative_pool
    from slipform_core.sources.world import WorldSource

    settings, training = experiment.arms[arm], experiment.training(arm)
    clip = load(experiment, stages, BASE)
    if settings.negatives:
        pool = negative_pool(_triples(experiment, stages, settings), clip.tokenize)
    else:
        source = WorldSource(experiment)
        captions = list(source.captions("train", each=experiment.plant.captions_per_scene))
        pool = caption_pool(captions, source.picture, clip.tokenize)
    margin = margin_of(settings, pool.concreteness)
    if settings.concreteness == "shuffled":
        pool = pool.shuffled(seed=experiment.train.seed)
    objective = objective_of(settings, margin)
    evaluate = zero_shot(experiment, training)
    trainer.train(clip, pool, objective, training, folder=folder, name=arm, margin=margin, evaluate=evaluate)


def train_with_ranks(experiment: Experiment, stages: Path, arm: str, folder: Path) -> None:
    """Fine-tune one arm into `folder` with the processes that torchrun started; killed, it goes on.

    What the arm stands on is made, or waited for, before they join.
    """
    from slipform_core import trainer

    needed_by(experiment, stages, arm)
    with trainer.ranks():
        _fine_tune(experiment, stages, arm, folder)


def _triples(experiment: Experiment, stages: Path, arm: Arm) -> Iterator[tuple]:
    """An arm's records with their two pictures each."""
    from slipform_core.shards import read_samples

    wanted = None
    if arm.negatives in MATCHED:
        records = json.loads((matched(experiment, stages) / "matched.json").read_text())["records"]
        wanted = set(records[arm.choice])
    for index, sample in enumerate(read_samples(plant(experiment, stages, arm.choice))):
        if wanted is None or index in wanted:
            yield sample.record, sample.picture, sample.negative_picture


def margin_of(arm: Arm, concreteness):
    """An arm's margin, or None; `concreteness` (R,) of its records is what a mean margin is the mean over."""
    from slipform_core import loss

    if arm.margin is None:
        return None
    if arm.margin.kind == "static":
        return loss.static_margin(arm.margin.value)
    curve = arm.margin.model_dump(exclude={"kind"})
    if arm.margin.kind == "reversed":
        return loss.reversed_margin(**curve)
    margin = loss.fermi_dirac_margin(**curve)
    if arm.margin.kind == "mean" and concreteness is not None:
        return loss.static_margin(margin(concreteness.double()).mean().item())
    return margin


def objective_of(arm: Arm, margin):
    """The loss of an arm as a function of pairs and logit scale."""
    from slipform_core import loss

    settings = (arm.settings or {}) | ({} if margin is None else {"margin": margin})
    return loss.make_objective(arm.loss, **settings)


def trained(experiment: Experiment, stages: Path, arm: str) -> Path:
    """The folder of an arm's weights and log, or of the base's."""
    return pretrain(experiment, stages) if arm == BASE else fine_tune(experiment, stages, arm)
