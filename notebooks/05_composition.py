# %% [markdown]
# # Composition and retrieval
#
# Scores on held-out compositions, strict: a tie is wrong.

# %% tags=["parameters", "remove-cell"]
run = "build/runs/mini"
metric = "i2t"

# %% tags=["hide-input"]
import pandas as pd

from slipform_core import tables

composition = tables.open_run(run).result("composition").values
scores = {
    arm: {subset: score[metric]["value"] for subset, score in subsets.items() if metric in score}
    for arm, subsets in composition.items()
}
(100 * pd.DataFrame(scores).T).round(1)

# %% [markdown]
# ```{remake}
# ```
