# %% [markdown]
# # Hard negatives from ConcretePlant
#
# ConcretePlant takes a caption, chooses the word to change by its concreteness, rewrites the caption, and
# redraws the picture with everything else in place. What fails a check is rejected, and counted by reason.

# %% tags=["remove-cell"]
import pandas as pd

from slipform_core import tables

# %% tags=["parameters", "remove-cell"]
run = "build/runs/mini"

# %% tags=["hide-input"]
negatives = tables.open_run(run).result("negatives").values
counts = {name: {"kept": made["kept"]} | made["rejected"] for name, made in negatives.items()}
pd.DataFrame(counts).T.fillna(0).astype(int)

# %% [markdown]
# ```{remake}
# ```
