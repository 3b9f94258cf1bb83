"""What would fail after minutes of work is refused before any."""

from typing import TYPE_CHECKING

from slipform_core.config import Arm, ConfigError, Experiment, Training

if TYPE_CHECKING:
    from slipform_core.loss import Objective

BASE = "base"  # the name of the pretrained model among the arms


def check(experiment: Experiment) -> None:
    """Refuse an experiment that cannot end well; ConfigError names the parameter and the choices."""
    _check_names(experiment)
    _check_settings(experiment)
    _check_sizes(experiment)


def _check_names(experiment: Experiment) -> None:
    from slipform_core.editors import EDITORS
    from slipform_core.loss import LOSSES
    from slipform_core.models.registry import MODELS
    from slipform_core.rewriters import REWRITERS

    arms = experiment.arms
    names = {
        "plant.rewriter": (experiment.plant.rewriter, REWRITERS),
        "plant.editor": (experiment.plant.editor, EDITORS),
        "model": (experiment.model, MODELS),
        **{f"arms.{name}.loss": (arm.loss, LOSSES) for name, arm in arms.items()},
        **{f"selected.{place}": (name, arms) for place, name in enumerate(experiment.selected)},
        **{
            f"gradients.{part}.{place}": (name, arms)
            for part in ("arms", "trained")
            for place, name in enumerate(getattr(experiment.gradients, part))
        },
    }
    for parameter, (name, choices) in names.items():
        if name not in choices:
            raise ConfigError(f"{parameter} = {name!r} is none of {', '.join(choices)}")
    if experiment.model == "open_clip":
        raise ConfigError("model = 'open_clip' has another vocabulary: experiments train slipform-tiny")
    for name in experiment.gradients.arms:
        if arms[name].margin is None:
            raise ConfigError(f"gradients.arms: {name} has no margin to add to the share")
    if BASE in arms:
        raise ConfigError(f"arms.{BASE}: this is the name of the pretrained model, give the arm another")


def _check_settings(experiment: Experiment) -> None:
    from slipform_core.emoji_world.lexicon import nouns
    from slipform_core.experiment.arms import margin_of, objective_of

    parameter = "world.nouns"
    try:
        nouns(experiment.world.nouns)
        for name, arm in experiment.arms.items():
            parameter = f"arms.{name}"
            objective = objective_of(arm, margin_of(arm, concreteness=None))
            _check_objective(arm, objective, experiment.training(name))
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{parameter}: {error}") from None


def _check_objective(arm: Arm, objective: "Objective", training: Training) -> None:
    from slipform_core.loss import needs_teacher

    if arm.loss == "hard_positives":
        raise ValueError("hard_positives needs paraphrases, which hard negatives come without")
    if arm.settings and "margin" in arm.settings:
        raise ValueError("a margin is given as `margin`, not in `settings`")
    if needs_teacher(objective) and training.ema is None:
        raise ValueError(f"{arm.loss} learns from the averaged model: give train.ema, 0.9996 say")


def _check_sizes(experiment: Experiment) -> None:
    world, chosen = experiment.world, experiment.chosen
    pairs = [
        experiment.training(name).pictures // (2 if arm.negatives else 1) for name, arm in chosen.items()
    ]
    largest = max(experiment.gradients.pictures, default=0) // 2
    sizes = {
        "pretrain.pictures": (experiment.pretrain.pictures, "pretrain_scenes"),
        "train.pictures": (max(pairs, default=0), "train_scenes"),
        "gradients.pictures": (largest if experiment.choices else 0, "train_scenes"),
        "survey.scenes": (experiment.survey.scenes, "train_scenes"),
        "evaluation.probe": (experiment.evaluation.probe, "train_scenes"),
        "evaluation.retrieval": (experiment.evaluation.retrieval, "test_scenes"),
    }
    for parameter, (needed, scenes) in sizes.items():
        if needed > (there := getattr(world, scenes)):
            raise ConfigError(f"{parameter} needs {needed} scenes, and world.{scenes} = {there}")
    if largest > experiment.survey.scenes:
        raise ConfigError(
            f"gradients.pictures needs {largest} scenes, and survey.scenes = {experiment.survey.scenes}"
        )
