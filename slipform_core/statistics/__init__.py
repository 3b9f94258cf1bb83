"""Intervals, tests, curves and regressions from what results files hold.

N items; clusters are items that are drawn together, those of a scene, say; their labels (N,) are ints or
strings. `level` is an interval's coverage. A bootstrap takes percentiles of `draws` resamples of the items or
of whole clusters; one that leaves the statistic undefined (a column without an item, or without a spread) is
made again. Memory is linear in N.
Values are bool, int or float. NaN, infinities, no values, unequal lengths, a level outside 0..1 and fewer
than 2 items or clusters to draw from raise ValueError everywhere.

"""

from slipform_core.statistics.comparisons import (
    clustered_bootstrap,
    equivalent,
    holm,
    over_seeds,
    paired_bootstrap,
    permutation_p_value,
    seeds_p_value,
)
from slipform_core.statistics.curves import Curve, loess, spearman
from slipform_core.statistics.models import Fit, mixed_model
from slipform_core.statistics.resampling import Estimate, UndefinedError

__all__ = [
    "Curve",
    "Estimate",
    "Fit",
    "UndefinedError",
    "clustered_bootstrap",
    "equivalent",
    "holm",
    "loess",
    "mixed_model",
    "over_seeds",
    "paired_bootstrap",
    "permutation_p_value",
    "seeds_p_value",
    "spearman",
]
