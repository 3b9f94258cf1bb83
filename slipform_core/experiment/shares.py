"""The stages of the gradient imbalance, at the base's features and at trained ones."""

import json
from functools import partial
from pathlib import Path

from slipform_core.config import Experiment
from slipform_core.experiment.arms import BASE, load, margin_of, pretrain, trained
from slipform_core.experiment.negatives import SURVEY, plant
from slipform_core.files import write_text
from slipform_core.stages import code, stage


def gradients(experiment: Experiment, stages: Path) -> Path:
    """InfoNCE's share and that under each margin at the base's features; `shares.json`.

    Against the batch for the negatives of each choice, against concreteness for the survey's.
    """
    stands_on = [pretrain(experiment, stages).name]
    stands_on += [plant(experiment, stages, choice).name for choice in (*experiment.choices, SURVEY)]
    margins = {name: experiment.arms[name].margin.model_dump() for name in experiment.gradients.arms}
    depends = (stands_on, margins, experiment.gradients, experiment.train.pictures, experiment.seed)
    code_hash = code("slipform_core.imbalance")
    return stage(stages, "gradients", *depends, code_hash, make=partial(_gradients, experiment, stages))


def _gradients(experiment: Experiment, stages: Path, folder: Path) -> None:
    from slipform_core import imbalance

    clip, settings, seed = load(experiment, stages, BASE), experiment.gradients, experiment.seed
    sizes = {"pictures": settings.pictures, "batches": settings.batches}
    margins = {name: margin_of(experiment.arms[name], None) for name in settings.arms}
    scale = clip.logit_scale.item()
    shares, batch = imbalance.closed_forms(scale, margins), experiment.evaluation.batch
    by_choice = {}
    for choice in experiment.choices:
        # Twice the pictures of the largest batch, for batches that differ.
        records = 4 * max(settings.pictures)
        pool = imbalance.embedded(clip, plant(experiment, stages, choice), batch=batch, records=records)
        by_choice[choice] = imbalance.against_batch(pool, shares, seed=seed, **sizes)
    survey = imbalance.embedded(clip, plant(experiment, stages, SURVEY), batch=batch)
    pictures = min(experiment.train.pictures, max(settings.pictures))
    values = {
        "batches": settings.batches,
        "logit_scale": scale,
        "shares": by_choice,
        "concreteness": imbalance.against_concreteness(
            survey, shares, pictures=pictures, batches=settings.batches, seed=seed
        ),
    }
    write_text(folder / "shares.json", json.dumps(values))


def objectives(experiment: Experiment, stages: Path, arm: str) -> Path:
    """The share in every objective at the features of an arm, or of the base, by autograd; `shares.json`.

    In batches of the survey's negatives, where any word is changed.
    """
    stands_on = [trained(experiment, stages, arm).name, plant(experiment, stages, SURVEY).name]
    depends = (stands_on, experiment.gradients, experiment.seed, code("slipform_core.imbalance"))
    return stage(stages, f"shares-{arm}", *depends, make=partial(_objectives, experiment, stages, arm))


def _objectives(experiment: Experiment, stages: Path, arm: str, folder: Path) -> None:
    from slipform_core import imbalance

    clip, settings = load(experiment, stages, arm), experiment.gradients
    batch = experiment.evaluation.batch
    pool = imbalance.embedded(clip, plant(experiment, stages, SURVEY), batch=batch)
    shares = imbalance.by_autograd(clip.logit_scale.item())
    sizes = {"pictures": settings.pictures, "batches": settings.objective_batches}
    values = imbalance.against_batch(pool, shares, seed=experiment.seed, **sizes)
    write_text(folder / "shares.json", json.dumps(values))
