"""The experiment, as the paper's method section tells it: world, hard negatives, pretraining, arms, scores.

Every stage is a function of the experiment, kept in a folder by its fingerprint; a stage asks for the stages
it stands on, so that any of them can be called alone, by a notebook for instance.
"""

import time
from functools import partial
from pathlib import Path

from slipform_core import executors, results
from slipform_core.config import Experiment, fingerprint
from slipform_core.experiment.arms import BASE, fine_tune, load, pretrain, train_with_ranks, trained
from slipform_core.experiment.checks import check
from slipform_core.experiment.measurements import blind, score
from slipform_core.experiment.negatives import SURVEY, judged, matched, plant, words
from slipform_core.experiment.shares import gradients, objectives
from slipform_core.experiment.summary import summarise
from slipform_core.stages import code

__all__ = [
    "BASE",
    "SURVEY",
    "blind",
    "check",
    "fine_tune",
    "gradients",
    "judged",
    "load",
    "matched",
    "objectives",
    "plant",
    "pretrain",
    "run",
    "score",
    "summarise",
    "train_with_ranks",
    "trained",
    "words",
]


def run(experiment: Experiment, *, folder: Path, stages: Path, jobs: int, command: str) -> None:
    """Run all stages, `jobs` processes at a time, and write the results files into `folder`.

    stages: where stages are kept, shared by runs. command: how to make the results again, printed in them.
    Raises ConfigError before any work, see `check`.
    """
    check(experiment)
    started = time.monotonic()
    choices, selected = experiment.choices, experiment.chosen

    def each(stage, *of):
        return [
            partial(stage, experiment, stages, *given) for given in (zip(*of, strict=True) if of else [()])
        ]

    executors.run_all([*each(pretrain), *each(plant, [*choices, SURVEY]), *each(words), *each(blind)], jobs)
    executors.run_all(each(judged, [*choices, SURVEY]), jobs)
    if experiment.matches:
        matched(experiment, stages)
    executors.run_all([*each(score, [*selected, BASE]), *each(gradients)], jobs)
    executors.run_all(each(objectives, [BASE, *experiment.examined]), jobs)
    made = results.provenance(
        command=command,
        config=experiment.model_dump(),
        fingerprint=results_fingerprint(experiment),
        code=code("slipform_core.experiment"),
        seconds=time.monotonic() - started,
    )
    for name, values in summarise(experiment, stages).items():
        results.write(folder, results.Result(name, experiment.profile, values, made))


def results_fingerprint(experiment: Experiment) -> str:
    """What the results of an experiment depend on: its parameters and all the code that makes them."""
    parameters = experiment.model_dump(exclude={"reference"})
    return fingerprint(parameters, code("slipform_core.experiment"))
