"""What `slipform eval` found: scores by concreteness, their trends, its cost, and what texts give away."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from slipform_core.figures.speed import NOT_YET, Measured, spread

if TYPE_CHECKING:
    import pandas

    from slipform_core.results import Result


def bands(found: Mapping[str, "Result"], benchmark: str, metric: str = "i2t") -> "pandas.DataFrame":
    """Percent right of all items by band of c and by role, ± one standard error, a column a model."""
    import pandas

    rows: dict[str, dict[str, str]] = {}
    for model, strata in _strata(found, benchmark, metric).items():
        parts = {f"c from {band['low']:g} to {band['high']:g}": band for band in strata["bands"]}
        parts |= {"c unknown": strata["unrated"]} | strata["roles"]
        for name, scored in parts.items():
            if scored["count"]:
                row = rows.setdefault(name, {"items": f"{scored['count']:,}"})
                error = "" if scored["stderr"] is None else f" ± {100 * scored['stderr']:.1f}"
                row[model] = f"{100 * scored['value']:.1f}{error}"
    return pandas.DataFrame(rows).T


def trends(found: Mapping[str, "Result"], benchmark: str, metric: str = "i2t") -> "pandas.DataFrame":
    """The factor by which a point of c multiplies the odds of being right; a column a model."""
    import pandas

    columns = {
        model: {of: _odds(trend) for of, trend in strata["trend"].items()}
        for model, strata in _strata(found, benchmark, metric).items()
    }
    return pandas.DataFrame(columns)


def _strata(found: Mapping[str, "Result"], benchmark: str, metric: str) -> dict[str, Any]:
    return {
        model: result.values["benchmarks"][benchmark]["lens"][f"{benchmark}/{metric}"]
        for model, result in found.items()
    }


def _odds(trend: Mapping[str, Any]) -> str:
    if "reason" in trend:
        return trend["reason"]
    return f"{trend['odds_ratio']:.2f} [{trend['low']:.2f}, {trend['high']:.2f}], p = {trend['p']:.2g}"


def cost(measured: Measured | None) -> "pandas.DataFrame":
    """How long SugarCrepe takes, a row a fact."""
    import pandas

    if measured is None:
        return pandas.DataFrame({"": {"times faster than the loop": NOT_YET}})
    values = measured["values"]
    rows = {name: f"{value:,}" for name, value in values.items() if isinstance(value, int | float)}
    return pandas.DataFrame({"": rows | {"times faster than the loop": spread(values["faster"])}})


def blind(measured: Measured | None) -> "pandas.DataFrame":
    """Percent right without a picture, strictly / with ties at half, a column a benchmark."""
    import pandas

    if measured is None:
        return pandas.DataFrame({"": {"baselines": NOT_YET}})
    columns = {
        name: {rule: " / ".join(f"{100 * value:.1f}" for value in pair) for rule, pair in rules.items()}
        for name, rules in measured["values"]["blind"].items()
    }
    return pandas.DataFrame(columns)
