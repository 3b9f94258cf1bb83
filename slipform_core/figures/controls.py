"""Is it the word? The contrasts of the controls, and how alike the matched sets are."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from slipform_core.figures.arms import TABLE_2

if TYPE_CHECKING:
    import pandas

Contrasts = dict[str, tuple[str, str]]  # row of a figure -> left and right arm

MEASURES = {
    "macro": ["macro"],
    "objects": ["sugarcrepe/replace_obj/i2t"],
    "attributes": ["sugarcrepe/replace_att/i2t"],
    "relations": ["sugarcrepe/replace_rel/i2t"],
}
SCPP = {"SugarCrepe++ I2T": TABLE_2["SugarCrepe++ ITT"]}

WORDS: Contrasts = {
    "hc − plain": ("hc_info_nce", "plain"),
    "hc − wo": ("hc_info_nce", "wo_info_nce"),
    "hc − lc": ("hc_info_nce", "lc_info_nce"),
    "wo − plain": ("wo_info_nce", "plain"),
    "lc − plain": ("lc_info_nce", "plain"),
}
MARGINS: Contrasts = {
    "Cement − InfoNCE": ("hc_cement", "hc_info_nce"),
    "Cement − static 1": ("hc_cement", "hc_static_1"),
    "Cement − static 2": ("hc_cement", "hc_static_2"),
    "Cement − reversed": ("hc_cement", "hc_reversed"),
}
BLIND: Contrasts = {
    "Cement − InfoNCE": ("wo_cement", "wo_info_nce"),
    "Cement − equal mean": ("wo_cement", "wo_static_mean"),
    "Cement − shuffled": ("wo_cement", "wo_cement_shuffled"),
    "Cement − reversed": ("wo_cement", "wo_reversed"),
    "shuffled − InfoNCE": ("wo_cement_shuffled", "wo_info_nce"),
}
MATCHED: Contrasts = {
    "hc − wo": ("hc_info_nce", "wo_info_nce"),
    "hc − wo, matched": ("hc_matched_info_nce", "wo_matched_info_nce"),
    "hc − lc": ("hc_info_nce", "lc_info_nce"),
    "hc − lc, matched": ("hc_matched_info_nce", "lc_matched_info_nce"),
}
# Contrasts whose arms a plain run trains.
PLAIN_RUN: Contrasts = {
    "hc − plain": ("hc_info_nce", "plain"),
    "Cement − InfoNCE": ("hc_cement", "hc_info_nce"),
    "swap − plain": ("swap_info_nce", "plain"),
}
AGAINST_PLAIN: Contrasts = {
    arm.removesuffix("_info_nce"): (arm, "plain")
    for arm in (
        "hc_info_nce",
        "wo_info_nce",
        "lc_info_nce",
        "swap_info_nce",
        "hc_cement",
        "hc_static_1",
        "hc_static_2",
        "hc_reversed",
        "wo_cement",
        "wo_reversed",
        "wo_static_mean",
        "wo_cement_shuffled",
        "hc_matched_info_nce",
        "wo_matched_info_nce",
        "lc_matched_info_nce",
    )
}


def matched_sets(balances: Sequence[Mapping[str, Any]]) -> "pandas.DataFrame":
    """Matched sets before and after: records, part of speech and similarity, means over seeds, as text.

    balances: the values of each seed's `matched`.
    """
    import pandas

    kinds = sorted({kind for of in balances for sides in of.values() for kind in sides["before"]["kinds"]})

    def line(choice: str, when: str) -> dict[str, str]:
        sides = [of[choice][when] for of in balances]
        records = np.mean([side["count"] for side in sides])
        shares = {
            kind: np.mean([side["kinds"].get(kind, 0) / side["count"] for side in sides]) for kind in kinds
        }
        similarity = np.mean([side["similarity"] for side in sides])
        parts = {kind: f"{100 * share:.1f} %" for kind, share in shares.items()}
        return {"records": f"{records:,.0f}", **parts, "cos(t, t')": f"{similarity:.3f}"}

    return pandas.DataFrame(
        {(choice, when): line(choice, when) for choice in balances[0] for when in ("before", "after")}
    ).T
