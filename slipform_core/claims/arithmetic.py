"""Checks on numbers alone, reported ones or counts: no run is needed.

`rows` and `pairs` are named; `within` is how far from a reported number its recomputation may lie.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from slipform_core import metrics

from .outcome import Outcome, decided

BASIS = "arithmetic"
Numbers = float | Sequence[float]


def mean_of_columns(*, rows: Mapping[str, Mapping[str, Any]], within: float) -> Outcome:
    """Whether each row's reported average is the plain mean of its columns."""
    means = {name: sum(row["columns"]) / len(row["columns"]) for name, row in rows.items()}
    return _averages(means, rows, within)


def macro_average(*, rows: Mapping[str, Mapping[str, Any]], within: float) -> Outcome:
    """Whether each row's reported average is the mean of its three benchmarks' means.

    Columns are SugarCrepe; SugarCrepe++ I2T, TOT; Winoground text, image, group.
    """
    means = {name: metrics.macro_average(*row["columns"]) for name, row in rows.items()}
    return _averages(means, rows, within)


def _averages(means: Mapping[str, float], rows: Mapping[str, Mapping[str, Any]], within: float) -> Outcome:
    holds = all(abs(means[name] - row["average"]) <= within for name, row in rows.items())
    return decided(holds, "; ".join(f"{name} {mean:.2f}" for name, mean in means.items()), BASIS)


def greater(*, pairs: Mapping[str, tuple[Numbers, Numbers]]) -> Outcome:
    """Whether in every pair the first number is the greater; a list stands for its mean."""
    compared = {name: (_mean(left), _mean(right)) for name, (left, right) in pairs.items()}
    holds = all(left > right for left, right in compared.values())
    shown = (
        f"{name}: {left:.6g} {_sign(left, right)} {right:.6g}" for name, (left, right) in compared.items()
    )
    return decided(holds, "; ".join(shown), BASIS)


def _mean(numbers: Numbers) -> float:
    return sum(numbers) / len(numbers) if isinstance(numbers, Sequence) else numbers


def _sign(left: float, right: float) -> str:
    return ">" if left > right else "<" if left < right else "="


def differences(*, rows: Mapping[str, tuple[float, float, float]], within: float) -> Outcome:
    """Whether in every row the first number minus the second is the reported third."""
    found = {name: (left - right, reported) for name, (left, right, reported) in rows.items()}
    holds = all(abs(apart - reported) <= within for apart, reported in found.values())
    shown = (
        f"{name}: {left:.6g} − {right:.6g} = {round(left - right, 6):+.6g}"
        for name, (left, right, _) in rows.items()
    )
    return decided(holds, "; ".join(shown), BASIS)


def ratios(*, rows: Mapping[str, tuple[Sequence[float], float, float]], within: float) -> Outcome:
    """Whether in every row the product of the factors over the divisor is the reported number."""
    found = {name: math.prod(factors) / divisor for name, (factors, divisor, _) in rows.items()}
    holds = all(abs(found[name] - reported) <= within for name, (_, _, reported) in rows.items())
    return decided(holds, "; ".join(f"{name}: {ratio:.5g}" for name, ratio in found.items()), BASIS)


def gain(*, left: float, right: float, reported: float, within: float) -> Outcome:
    """Whether the first number is by the reported percentage greater than the second."""
    percent = 100 * (left / right - 1)
    return decided(abs(percent - reported) <= within, f"{left:.6g} / {right:.6g}: {percent:+.2f} %", BASIS)


def close(*, left: float, right: float, within: float) -> Outcome:
    """Whether two numbers lie within a distance of each other."""
    apart = abs(left - right)
    return decided(apart <= within, f"{left:,g} and {right:,g} are {round(apart, 6):,g} apart", BASIS)


def different(*, pairs: Mapping[str, tuple[float, float]], beyond: float) -> Outcome:
    """Whether the numbers of every pair lie more than a distance apart."""
    holds = all(abs(left - right) > beyond for left, right in pairs.values())
    shown = (
        f"{name}: {left:.6g}, {right:.6g} ({round(left - right, 6):+.6g})"
        for name, (left, right) in pairs.items()
    )
    return decided(holds, "; ".join(shown), BASIS)


def item_moves_macro(*, items: int, reported: float, within: float) -> Outcome:
    """Whether one item of Winoground, right in one more column, moves the macro average by that much."""
    moved = metrics.macro_average(0, 0, 0, 100 / items, 0, 0)
    return decided(abs(moved - reported) <= within, f"{moved:.4f} points", BASIS)


def paper_scale(*, why: str) -> Outcome:
    """What only training or data at the paper's scale can show."""
    return Outcome(verdict="needs paper scale", ours=f"not run by us; {why}", basis="nothing here can tell")


CHECKS = {
    check.__name__: check
    for check in (
        mean_of_columns,
        macro_average,
        greater,
        differences,
        ratios,
        gain,
        close,
        different,
        item_moves_macro,
        paper_scale,
    )
}
