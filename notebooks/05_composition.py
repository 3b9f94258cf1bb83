# %% [markdown]
# # Composition and retrieval
#
# Scores on held-out compositions, strict: a tie is wrong. In percent.

# %% tags=["remove-cell"]
import pandas as pd

from slipform_core import tables

# %% tags=["parameters", "remove-cell"]
run = "build/runs/mini"
metric = "i2t"

# %% tags=["hide-input"]
composition = tables.open_run(run).result("composition").values
scores = {
    arm: {subset: score[metric]["value"] for subset, score in subsets.items() if metric in score}
    for arm, subsets in composition.items()
}
(100 * pd.DataFrame(scores).T).round(1)

# %% [markdown]
# ```{remake}
# ```
