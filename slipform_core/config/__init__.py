"""An experiment is one YAML file: sections without defaults, unknown keys refused, changes `key=value`."""

from slipform_core.config.arms import CHOICES, MATCHED, Arm
from slipform_core.config.experiment import Experiment, fingerprint
from slipform_core.config.load import PARAMS, ConfigError, load
from slipform_core.config.sections import Training

__all__ = [
    "CHOICES",
    "MATCHED",
    "PARAMS",
    "Arm",
    "ConfigError",
    "Experiment",
    "Training",
    "fingerprint",
    "load",
]
