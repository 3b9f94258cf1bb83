"""What is wrong with the settings of an edit, before anything is loaded, and with its picture, after it."""

import math

import numpy as np
from numpy.typing import NDArray

DTYPES = ("float32", "float16", "bfloat16")
FACTOR = 8  # of SDXL's own VAE
NOT_A_NUMBER, BLACK, UNCHANGED = "not a number", "black", "unchanged"

# Levels of 0..255. A photograph of the night is above both; what a safety checker blanks is not.
BLACK_MAXIMUM, BLACK_MEAN = 16, 2.0
UNCHANGED_MEAN = 1.0


def check(*, steps: int, strength: float, side: int, batch: int, dtype: str, factor: int = FACTOR) -> int:
    """The steps that diffusers runs; ValueError for settings with which no picture could be made.

    factor: pixels of a picture for one of its latents.
    """
    if dtype not in DTYPES:
        raise ValueError(f"unknown dtype {dtype!r}; there are: {', '.join(DTYPES)}")
    if batch < 1:
        raise ValueError(f"batch is {batch}: it is at least 1")
    if side < 1 or side % factor:
        raise ValueError(f"side is {side}: it is a multiple of {factor}")
    return effective_steps(steps, strength)


def effective_steps(steps: int, strength: float) -> int:
    """The steps that diffusers runs; ValueError where it would run none, and change nothing."""
    if not isinstance(steps, int) or steps < 1:
        raise ValueError(f"steps is {steps!r}: it is a whole number, at least 1")
    if not 0 < strength <= 1:
        raise ValueError(f"strength is {strength!r}: it is above 0 and at most 1")
    count = min(int(steps * strength), steps)
    if count < 1:
        enough = math.ceil(1 / strength)
        enough += int(enough * strength) < 1
        raise ValueError(
            f"steps {steps} x strength {strength}: diffusers runs int(steps x strength) = 0 steps; "
            f"it takes at least {enough} steps, or a strength of at least {math.ceil(100 / steps) / 100}"
        )
    return count


def fault(edited: NDArray[np.uint8], original: NDArray[np.uint8]) -> str | None:
    """Why a picture of finite values is none to train on; None if it is one."""
    if edited.max() < BLACK_MAXIMUM or edited.mean() < BLACK_MEAN:
        return BLACK
    if np.abs(edited.astype(np.int16) - original).mean() < UNCHANGED_MEAN:
        return UNCHANGED
    return None
