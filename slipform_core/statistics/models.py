"""Regression with a random intercept a group, by statsmodels."""

import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from slipform_core.statistics.resampling import tails

if TYPE_CHECKING:
    import pandas

# Powell first: where the group variance is 0, the others meet singularities.
OPTIMISERS = ("powell", "lbfgs", "cg")
BOUNDARY = 1e-6  # of the residual variance: where the group variance is 0, optimisers stop at 1e-10 to 1e-8
ROUNDING = 1e-12  # of the outcome's variance


@dataclass(frozen=True)
class Fit:
    """A mixed model: coefficients have `estimate`, `low`, `high`, `p`; at a `boundary` groups do not vary."""

    coefficients: dict[str, dict[str, float]]
    group_variance: float
    residual_variance: float
    observations: int
    groups: int
    converged: bool
    boundary: bool


def mixed_model(frame: "pandas.DataFrame", formula: str, groups: str, level: float = 0.95) -> Fit:
    """Fixed effects and a random intercept a group, by restricted maximum likelihood; Wald's intervals.

    formula: "outcome ~ terms" of the frame's columns and np, as statsmodels reads it; groups: a column.
    ValueError, in one line, for a missing column, NaN in a column used, terms that depend linearly on each
    other, fewer than 2 groups, an outcome without a residual, and where no optimiser converges.
    """
    import pandas

    model = _model(frame, formula, groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = _converged(model, formula)
        intervals = fit.conf_int(alpha=2 * tails(level)[0])
        table = {"estimate": fit.fe_params, "low": intervals[0], "high": intervals[1], "p": fit.pvalues}
    coefficients = pandas.DataFrame(table).loc[model.exog_names].to_dict("index")
    group_variance, residual = float(fit.cov_re.to_numpy()[0, 0]), float(fit.scale)
    return Fit(
        coefficients,
        group_variance,
        residual,
        observations=int(model.nobs),
        groups=int(model.n_groups),
        converged=bool(fit.converged),
        boundary=group_variance < BOUNDARY * residual,
    )


def _model(frame: "pandas.DataFrame", formula: str, groups: str) -> Any:
    """statsmodels' model of the formula, its faults in one line."""
    from patsy import PatsyError
    from statsmodels.regression.mixed_linear_model import MixedLM

    if groups not in frame.columns:
        raise ValueError(f"groups = {groups!r} is none of the columns {', '.join(frame.columns)}")
    words = {groups, *re.findall(r"\w+", formula)}
    gaps = [name for name in frame.columns if name in words and frame[name].isna().any()]
    if gaps:
        raise ValueError(f"{formula!r}: NaN in {', '.join(gaps)}")
    if frame[groups].nunique() < 2:
        raise ValueError(f"{groups} has {frame[groups].nunique()} groups, a mixed model needs 2")
    try:
        model = MixedLM.from_formula(formula, frame, groups=groups, eval_env={"np": np})
    except PatsyError as error:
        reason = str(error.__cause__ or error).splitlines()[0]
        raise ValueError(f"{formula!r}: {reason}; the columns are {', '.join(frame.columns)}") from error
    if np.linalg.matrix_rank(model.exog) < model.exog.shape[1]:
        raise ValueError(f"{formula!r}: {', '.join(model.exog_names)} depend linearly on each other")
    return model


def _converged(model: Any, formula: str) -> Any:
    reasons = []
    for method in OPTIMISERS:
        try:
            fit = model.fit(method=method)
        except np.linalg.LinAlgError as error:
            reasons.append(f"{method}: {error}")
            continue
        if fit.scale <= ROUNDING * np.var(model.endog):
            raise ValueError(f"{formula!r}: the outcome has no residual")
        if fit.converged and np.isfinite(fit.bse_fe).all():
            return fit
        reasons.append(f"{method}: not converged")
    raise ValueError(f"{formula!r}: no optimiser converges ({'; '.join(reasons)})")
