"""What a run's results files say: the values of each, gathered from the stages."""

import json
from pathlib import Path
from typing import Any

from slipform_core import summaries
from slipform_core.config import Experiment
from slipform_core.experiment.arms import BASE, trained
from slipform_core.experiment.measurements import blind, score
from slipform_core.experiment.negatives import SURVEY, judged, matched, plant, words
from slipform_core.experiment.shares import gradients, objectives


def summarise(experiment: Experiment, stages: Path) -> dict[str, dict[str, Any]]:
    """The values of a run's results files, by name."""
    arms, choices = (BASE, *experiment.selected), experiment.choices
    values = {
        "words": _read(words(experiment, stages) / "words.json"),
        "negatives": {choice: summaries.negatives(plant(experiment, stages, choice)) for choice in choices},
        "judged": {choice: _judged(experiment, stages, choice) for choice in choices},
        "blind": _read(blind(experiment, stages) / "blind.json"),
        "gradients": _gradients(experiment, stages),
        "training": {arm: _training(experiment, stages, arm) for arm in arms},
    }
    values["survey"] = summaries.survey(_columns(experiment, stages, SURVEY), values["words"]["frequency"])
    scored = {arm: score(experiment, stages, arm) for arm in arms}
    found = {arm: _read(folder / "outcomes.json") for arm, folder in scored.items()}
    values["outcomes"] = {
        "scenes": experiment.world.test_scenes,
        "items": found[BASE]["items"],
        "arms": {arm: of["right"] for arm, of in found.items()},
    }
    macros = summaries.macros(values["outcomes"], seed=experiment.seed)
    values["composition"] = {
        arm: summaries.scores(folder / "scores.json") | ({"macro": macros[arm]} if arm in macros else {})
        for arm, folder in scored.items()
    }
    if experiment.matches:
        values["matched"] = _read(matched(experiment, stages) / "matched.json")["balance"]
    return values


def _read(path: Path) -> Any:
    return json.loads(path.read_text())


def _columns(experiment: Experiment, stages: Path, choice: str) -> dict[str, list]:
    return _read(judged(experiment, stages, choice) / "columns.json")


def _judged(experiment: Experiment, stages: Path, choice: str) -> dict[str, Any]:
    from slipform_core.judges import table

    return table(_columns(experiment, stages, choice))


def _gradients(experiment: Experiment, stages: Path) -> dict[str, Any]:
    by_arm = {
        arm: _read(objectives(experiment, stages, arm) / "shares.json")
        for arm in (BASE, *experiment.examined)
    }
    return {**_read(gradients(experiment, stages) / "shares.json"), "objectives": by_arm}


def _training(experiment: Experiment, stages: Path, arm: str) -> dict[str, Any]:
    settings = experiment.pretrain if arm == BASE else experiment.training(arm)
    return summaries.training(trained(experiment, stages, arm), settings.pictures)
