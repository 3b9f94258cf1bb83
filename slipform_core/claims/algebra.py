"""Checks of the margin's curve and of the gradient algebra, on numbers in NumPy.

Of a drawn row of logits the first is the positive's (i), the second the own hard negative's (i'), the others
are easy; p is its softmax. `seed`, `rows`, `columns` decide the example, `within` the largest error allowed.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from .outcome import Outcome, decided

BASIS = "algebra"
SPREAD = 3.0  # of the logits, so that p is neither flat nor at its ends
STEP = 1e-5  # of central differences, whose error is then near 1e-10

Floats = NDArray[np.float64]


def margin_curve(
    *, low: float, high: float, midpoint: float, width: float, reported: Mapping[float, float], within: float
) -> Outcome:
    """Whether the Fermi-Dirac margin takes the reported values, in logits."""
    ours = {c: (high - low) / (1 + math.exp((midpoint - c) / width)) + low for c in reported}
    holds = all(abs(ours[c] - value) <= within for c, value in reported.items())
    return decided(holds, ", ".join(f"m({c:g}) = {m:+.5f}" for c, m in ours.items()), BASIS)


def margin_is_tanh(*, half: float, midpoint: float, width: float, within: float) -> Outcome:
    """Whether the margin from -half to half is half * tanh((c - midpoint) / (2 width)), c of 1..5."""
    c = np.linspace(1, 5, 401)
    margin = 2 * half / (1 + np.exp((midpoint - c) / width)) - half
    return _error(margin - half * np.tanh((c - midpoint) / (2 * width)), within, f"{len(c)} values of c")


def margin_is_step(*, half: float, midpoint: float, width: float, beyond: float, within: float) -> Outcome:
    """Whether a narrow margin is a step beyond a distance of its midpoint, where exp alone overflows."""
    c = np.linspace(1, 5, 401)
    c = c[np.abs(c - midpoint) >= beyond]
    margin = half * np.tanh((c - midpoint) / (2 * width))
    with np.errstate(over="ignore"):
        overflows = np.isinf(np.exp((midpoint - c) / width))
    error = np.abs(margin - half * np.sign(c - midpoint)).max()
    ours = (
        f"largest error {error:.1e}, width {width:g}; exp overflows at {overflows.sum()} of {len(c)} points"
    )
    return decided(bool(error <= within and overflows.any()), ours, BASIS)


def positive_gradient(*, seed: int, rows: int, columns: int, within: float) -> Outcome:
    """Whether |dL/ds_ii| = 1 - p_ii = p_ii' + the easy p_ij, the slope by central differences."""
    logits = _example(seed, rows, columns)
    p, nudge = _softmax(logits), STEP * np.eye(columns)[0]
    slope = np.abs(_losses(logits + nudge) - _losses(logits - nudge)) / (2 * STEP)
    errors = [slope - (1 - p[:, 0]), slope - (p[:, 1] + p[:, 2:].sum(1))]
    return _error(errors, within, f"{rows} rows")


def share_without_positive(*, seed: int, rows: int, columns: int, shift: float, within: float) -> Outcome:
    """Whether the hard negative's share p_ii' / (1 - p_ii) stays when the positive's logit is shifted."""
    logits = _example(seed, rows, columns)
    shifted = logits + shift * np.eye(columns)[0]
    return _error(_shares(logits) - _shares(shifted), within, f"{rows} rows")


def share_with_margin(
    *, seed: int, rows: int, columns: int, margins: Sequence[float], within: float
) -> Outcome:
    """Whether a margin m makes of a share rho the share e^m rho / (1 - rho + e^m rho)."""
    logits = _example(seed, rows, columns)
    errors = [_shares(_with_margin(logits, m)) - _new_share(_shares(logits), m) for m in margins]
    return _error(errors, within, f"{rows} rows, {len(margins)} margins")


def easy_with_margin(
    *, seed: int, rows: int, columns: int, margins: Sequence[float], within: float
) -> Outcome:
    """Whether a margin m shrinks the easy terms by 1 / (1 + p_ii' (e^m - 1))."""
    logits = _example(seed, rows, columns)
    p = _softmax(logits)
    shrunk = [p / (1 + p[:, 1:2] * np.expm1(m)) for m in margins]
    errors = [(_softmax(_with_margin(logits, m)) - q)[:, 2:] for m, q in zip(margins, shrunk, strict=True)]
    return _error(errors, within, f"{rows} rows, {len(margins)} margins")


def margin_is_copies(*, seed: int, rows: int, columns: int, copies: Sequence[int], within: float) -> Outcome:
    """Whether the loss with the margin ln k is that of a row with k copies of its own hard negative."""
    logits = _example(seed, rows, columns)
    repeated = [np.hstack([logits, np.repeat(logits[:, 1:2], k - 1, axis=1)]) for k in copies]
    errors = [
        _losses(_with_margin(logits, np.log(k))) - _losses(longer)
        for k, longer in zip(copies, repeated, strict=True)
    ]
    return _error(errors, within, f"{rows} rows, k of {', '.join(map(str, copies))}")


def margin_limits(*, seed: int, rows: int, columns: int, within: float) -> Outcome:
    """Whether m = 0 is InfoNCE, and m -> -inf InfoNCE on the row without its own hard negative."""
    logits = _example(seed, rows, columns)
    errors = [
        _losses(_with_margin(logits, 0.0)) - _losses(logits),
        _losses(_with_margin(logits, -np.inf)) - _losses(np.delete(logits, 1, axis=1)),
    ]
    return _error(errors, within, f"{rows} rows of {columns} and {columns - 1} columns")


def share_values(*, share: float, reported: Mapping[float, float], within: float) -> Outcome:
    """Whether a share becomes the reported one with each margin."""
    ours = {m: float(_new_share(share, m)) for m in reported}
    holds = all(abs(ours[m] - value) <= within for m, value in reported.items())
    return decided(holds, ", ".join(f"m = {m:+g}: {value:.3f}" for m, value in ours.items()), BASIS)


def _example(seed: int, rows: int, columns: int) -> Floats:
    return SPREAD * np.random.default_rng(seed).standard_normal((rows, columns))


def _softmax(logits: Floats) -> Floats:
    exponentials = np.exp(logits - logits.max(1, keepdims=True))
    return exponentials / exponentials.sum(1, keepdims=True)


def _losses(logits: Floats) -> Floats:
    return -np.log(_softmax(logits)[:, 0])


def _shares(logits: Floats) -> Floats:
    p = _softmax(logits)
    return p[:, 1] / (1 - p[:, 0])


def _with_margin(logits: Floats, margin: float) -> Floats:
    moved = logits.copy()
    moved[:, 1] += margin
    return moved


def _new_share(share: Floats | float, margin: float) -> Floats | float:
    return np.exp(margin) * share / (1 - share + np.exp(margin) * share)


def _error(errors: Floats | Sequence[Floats], within: float, over: str) -> Outcome:
    largest = float(np.abs(errors).max())
    return decided(largest <= within, f"largest difference {largest:.0e} over {over}", BASIS)


CHECKS = {
    check.__name__: check
    for check in (
        margin_curve,
        margin_is_tanh,
        margin_is_step,
        positive_gradient,
        share_without_positive,
        share_with_margin,
        easy_with_margin,
        margin_is_copies,
        margin_limits,
        share_values,
    )
}
