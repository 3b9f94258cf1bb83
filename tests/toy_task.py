"""Twelve pictures, a colour at a place each, that the tiny model learns within some steps."""

import json
from pathlib import Path

import numpy as np
import torch

from slipform_core.config import Training
from slipform_core.data import Pool
from slipform_core.loss import fermi_dirac_margin, info_nce
from slipform_core.models import MODELS, Clip
from slipform_core.trainer import train

COLOURS = {"red": (220, 30, 30), "green": (30, 200, 30), "blue": (40, 40, 230), "white": (240, 240, 240)}
PLACES = ("left", "right", "top")
TEXTS = [f"{colour} {place}" for colour in COLOURS for place in PLACES]
SETTINGS = Training(
    steps=7,
    pictures=8,
    learning_rate=1e-3,
    weight_decay=0.1,
    warmup=2,
    gradient_clip=1.0,
    checkpoint_every=2,
    seed=3,
)
MARGIN = fermi_dirac_margin(low=-2, high=2, midpoint=4, width=0.15)


def settings(**changes) -> Training:
    return SETTINGS.model_copy(update=changes)


def fresh(seed: int = 0) -> Clip:
    return MODELS["slipform-tiny"]([*COLOURS, *PLACES], seed=seed)


def drawn(text: str) -> np.ndarray:
    """A patch of a colour at a place of a grey picture."""
    colour, place = text.split()
    pixels = np.full((64, 64, 3), 120, dtype=np.uint8)
    where = {"left": np.s_[:, :32], "right": np.s_[:, 32:], "top": np.s_[:32]}[place]
    pixels[where] = COLOURS[colour]
    return pixels


def pool(clip: Clip, *, negatives: bool) -> Pool:
    """A picture of each text; a negative has another colour, or, less concrete, another place."""
    pictures, tokens = np.stack([drawn(text) for text in TEXTS]), clip.tokenize(TEXTS)
    first = np.arange(len(TEXTS) + 1)
    if not negatives:
        return Pool(pictures, first, tokens)
    others = [TEXTS[(i + 3) % 12] if i % 2 else TEXTS[3 * (i // 3) + (i + 1) % 3] for i in range(12)]
    concreteness = torch.tensor([4.2 if i % 2 else 3.5 for i in range(12)])
    return Pool(
        pictures,
        first,
        tokens,
        np.stack([drawn(text) for text in others]),
        clip.tokenize(others),
        concreteness,
    )


def run(
    folder: Path, given: Training = SETTINGS, objective=info_nce, *, negatives=True, clip=None, **more
) -> Clip:
    clip = clip or fresh()
    train(clip, pool(clip, negatives=negatives), objective, given, folder=folder, name="arm", **more)
    return clip


def log_of(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


class Killed(Exception):
    pass


def killed_at(step: int):
    """InfoNCE that does not survive its call number `step`, counted from 0."""
    calls = iter(range(step))

    def objective(pairs, scale):
        if next(calls, None) is None:
            raise Killed
        return info_nce(pairs, scale)

    return objective
