"""An experiment: everything that decides a run's results."""

import hashlib
import json
from typing import Any

from pydantic import BaseModel

from slipform_core.config.arms import CHOICES, MATCHED, Arm
from slipform_core.config.sections import (
    Evaluation,
    Gradients,
    Matching,
    Plant,
    Reference,
    Section,
    Seed,
    Survey,
    Training,
    World,
)


class Experiment(Section):
    """Everything that decides a run's results; `selected` are the arms that it trains."""

    profile: str
    seed: Seed
    world: World
    plant: Plant
    model: str
    pretrain: Training
    train: Training
    selected: list[str]
    arms: dict[str, Arm]
    matching: Matching
    evaluation: Evaluation
    survey: Survey
    gradients: Gradients
    reference: Reference

    @property
    def chosen(self) -> dict[str, Arm]:
        """The arms that this run trains."""
        return {name: self.arms[name] for name in self.selected}

    @property
    def choices(self) -> list[str]:
        """The choices of ConcretePlant that these arms need; a matched one needs all three."""
        needed = {arm.choice for arm in self.chosen.values() if arm.negatives}
        if self.matches:
            needed.update(CHOICES)
        return sorted(needed)

    @property
    def matches(self) -> bool:
        """Whether an arm of this run needs the records that the choices have alike."""
        return any(arm.negatives in MATCHED for arm in self.chosen.values())

    @property
    def examined(self) -> list[str]:
        """The arms of this run at whose features every objective is asked for its share."""
        return [name for name in self.gradients.trained if name in self.selected]

    def training(self, name: str) -> Training:
        """How an arm is trained: as `train` says, or with a batch of its own at as many pictures in all."""
        train, batch, ema = self.train, self.arms[name].batch, self.arms[name].ema
        if ema is not None:
            train = train.model_copy(update={"ema": ema})
        if batch is None:
            return train
        changes = {
            "pictures": 2 * max(round(train.pictures * batch / 2), 2),
            "steps": max(round(train.steps / batch), 1),
            "warmup": round(train.warmup / batch),
            "learning_rate": train.learning_rate * batch**0.5,
        }
        return train.model_copy(update=changes)

    def with_seed(self, seed: int) -> "Experiment":
        """The same experiment with all arms, where everything random is drawn from this seed."""
        parts = {
            part: getattr(self, part).model_copy(update={"seed": seed}) for part in ("pretrain", "train")
        }
        return self.model_copy(update={"seed": seed, "selected": list(self.arms), **parts})


def fingerprint(*parts: Any) -> str:
    """Twelve hex digits that change when any part does; parts are plain values or sections."""
    plain = [part.model_dump() if isinstance(part, BaseModel) else part for part in parts]
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:12]
