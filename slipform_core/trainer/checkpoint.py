"""What a training is, on disk: written whole, read without unpickling anything but tensors and numbers."""

from pathlib import Path
from typing import Any

import torch

from slipform_core.config import Training
from slipform_core.files import whole

NAME = "checkpoint.pt"


def save(folder: Path, **state: Any) -> None:
    """Write the state, with that of torch's random numbers."""
    random = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        random["cuda"] = torch.cuda.get_rng_state()
    with whole(folder / NAME) as partial:
        torch.save(state | {"random": random}, partial)


def load(folder: Path, settings: Training) -> dict[str, Any] | None:
    """The state, random numbers set, or None without a checkpoint.

    Raises ValueError that names what differs when the checkpoint was made with other settings.
    """
    if not (folder / NAME).is_file():
        return None
    state = torch.load(folder / NAME, weights_only=True, map_location="cpu")
    made, asked = state["settings"], settings.model_dump()
    differ = [
        f"{name} = {made.get(name)} (now {asked[name]})" for name in asked if made.get(name) != asked[name]
    ]
    if differ:
        raise ValueError(f"{folder / NAME} was made with {', '.join(differ)}; remove it to begin anew")
    torch.set_rng_state(state["random"]["cpu"])
    if torch.cuda.is_available() and "cuda" in state["random"]:
        torch.cuda.set_rng_state(state["random"]["cuda"])
    return state
