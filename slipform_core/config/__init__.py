"""An experiment is one YAML file: sections without defaults, unknown keys refused, changes `key=value`."""

from slipform_core.config.arms import CHOICES, MATCHED, Arm
from slipform_core.config.experiment import Experiment, fingerprint
from slipform_core.config.load import PARAMS, ConfigError, load, load_recipe
from slipform_core.config.recipe import Recipe
from slipform_core.config.sections import Training

__all__ = [
    "CHOICES",
    "MATCHED",
    "PARAMS",
    "Arm",
    "ConfigError",
    "Experiment",
    "Recipe",
    "Training",
    "fingerprint",
    "load",
    "load_recipe",
]
