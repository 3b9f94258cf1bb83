"""Coarsened exact matching: sets of records made alike in part of speech and in caption-negative similarity.

A set is (kinds, similarity) of its n records: the part of speech of each changed word, and cos(t, t') (n,).
Sets may differ in length; records are matched as strata, not one to one.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Sets = Mapping[str, tuple[Sequence[str], NDArray[np.floating]]]


def match(sets: Sets, *, bins: int, rng: np.random.Generator) -> dict[str, NDArray[np.intp]]:
    """Indices of the records to keep in each set, sorted; as many in each.

    A stratum is a kind and one of `bins` quantile bins of all sets' similarities together. Each keeps as many
    records of every set as the set with the fewest has there, drawn without replacement.
    Raises ValueError for unequal lengths in a set, NaN, bins < 1, and sets that share no stratum.
    Source: Iacus, King and Porro (2012), coarsened exact matching, with k-to-k pruning.
    """
    if bins < 1:
        raise ValueError(f"bins = {bins}: it takes one at least")
    for name, (kinds, similarity) in sets.items():
        if np.shape(similarity) != (len(kinds),):
            raise ValueError(f"{name} has {len(kinds)} kinds and similarities {np.shape(similarity)}")
        if np.isnan(similarity).any():
            raise ValueError(f"{name} has a similarity that is NaN")
    pooled = np.concatenate([similarity for _, similarity in sets.values()])
    if len(pooled) == 0:
        raise ValueError(f"nothing can be matched: {', '.join(sets)} are empty")
    inner = np.quantile(pooled, np.arange(1, bins) / bins)
    strata = {name: _strata(kinds, np.digitize(values, inner)) for name, (kinds, values) in sets.items()}
    shared = sorted(set.intersection(*map(set, strata.values())))
    if not shared:
        raise ValueError(f"nothing can be matched: {', '.join(sets)} share no part of speech and similarity")
    kept: dict[str, list[int]] = {name: [] for name in sets}
    for stratum in shared:
        count = min(len(members[stratum]) for members in strata.values())
        for name, members in strata.items():
            kept[name].extend(rng.choice(members[stratum], count, replace=False))
    return {name: np.sort(np.array(rows, dtype=np.intp)) for name, rows in kept.items()}


def _strata(kinds: Sequence[str], bins: NDArray[np.intp]) -> dict[tuple[str, int], list[int]]:
    members: dict[tuple[str, int], list[int]] = {}
    for row, stratum in enumerate(zip(kinds, bins.tolist(), strict=True)):
        members.setdefault(stratum, []).append(row)
    return members


def balance(sets: Sets, chosen: Mapping[str, NDArray[np.intp]]) -> dict[str, dict[str, Any]]:
    """What each set is like before and after `match`: its count, its kinds' counts, its mean similarity."""
    return {
        name: {
            "before": _profile(kinds, similarity),
            "after": _profile([kinds[row] for row in chosen[name]], similarity[chosen[name]]),
        }
        for name, (kinds, similarity) in sets.items()
    }


def _profile(kinds: Sequence[str], similarity: NDArray[np.floating]) -> dict[str, Any]:
    return {
        "count": len(kinds),
        "kinds": dict(sorted(Counter(kinds).items())),
        "similarity": round(float(np.mean(similarity)), 5),
    }
