# %% [markdown]
# # Hard negatives from ConcretePlant
#
# ConcretePlant takes a caption, chooses the word to change by its concreteness, rewrites the caption, and
# edits the picture to fit, with everything else in place. In the embedded world both steps are exact: the
# rewriter puts a sibling of the same kind (another animal or tool, another colour, another place), the editor
# draws the scene anew.
#
# ```{not-run}
# In the paper a language model, Qwen3-32B, rewrites the caption, and SDXL-Turbo edits a photograph.
# ```

# %% tags=["remove-cell"]
from itertools import islice
from pathlib import Path

import pandas as pd
from IPython.display import HTML

from slipform_core import figures, tables
from slipform_core.shards import read_samples

# %% tags=["parameters", "remove-cell"]
run = "build/runs/mini"
choose = "hc"
examples = 8

# %% [markdown]
# ## What it makes
#
# Left the picture and its caption, right the edited picture and the caption that is now false of the left
# one. What changed is marked, with its concreteness below.

# %% tags=["hide-input"]
negatives = tables.open_run(run).result("negatives")
folder = negatives[f"{choose}/folder"]
HTML(figures.negative_pairs(islice(read_samples(Path(folder)), examples)))

# %% [markdown]
# ```{remake}
# ```
#
# The same for order: here two words of one role have changed places. These negatives show whether order can
# be learnt at all; their $c$ is the mean of the two words' (our choice).

# %% tags=["hide-input"]
HTML(figures.negative_pairs(islice(read_samples(Path(negatives["swap/folder"])), 4)))

# %% [markdown]
# ```{remake}
# ```
#
# :::{admonition} A modelling assumption
# :class: note
# Some words of the embedded world have no visible referent: *strange*, *picture*, *remains*. If one of them
# is changed, nothing in the picture changes but the renderer's own noise. That is built in. *Photo* (4.93)
# and *picture* (4.52) are such words and concrete all the same, so a few of these negatives are of that
# kind. What these pages show is what training does with such negatives, not that concreteness causes
# visible change: that is a question for photographs.
# :::
#
# ## What was kept and what was rejected
#
# A rewriting that fails a check is tried again with another word, and at last rejected: because nothing
# changed, because more changed than the word, because the new caption is still true of the picture ("a dog
# beside a cup" with the nouns exchanged), or because the new scene contains a composition that is held out
# for the test.

# %% tags=["hide-input"]
counts = {
    name: {"captions": made["captions"], "kept": made["kept"]} | made["rejected"]
    for name, made in negatives.values.items()
}
tables.shown(pd.DataFrame(counts).T.fillna(0))

# %% [markdown]
# Which words were changed:

# %% tags=["hide-input"]
chosen = {
    (name, role): made["roles"][role] for name, made in negatives.values.items() for role in made["roles"]
}
table = pd.DataFrame(chosen).T.reindex(columns=["count", "mean", "concrete"])
table.columns = ["records", "mean c", "share with c ≥ 4"]
tables.shown(table, 2)
