# %% [markdown]
# # Words and their concreteness
#
# A hard negative changes one word of a caption. Which word, is decided by its concreteness $c$: how directly
# the senses reach what a word means, from 1 (abstract) to 5 (concrete), as rated for 39,954 English entries
# by Brysbaert and colleagues. This page shows the words of this run's captions.

# %% tags=["remove-cell"]
import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

from slipform_core import figures, tables

figures.theme()

# %% tags=["parameters", "remove-cell"]
run = "build/runs/mini"

# %% tags=["hide-input"]
words = tables.open_run(run).result("words")
table = pd.DataFrame.from_dict(words["concreteness"], orient="index")

style = {"weights": "count", "bins": 20, "binrange": (1, 5), "multiple": "stack", "linewidth": 0}
axes = sns.histplot(table, x="c", hue="role", **style)
axes.set(xlabel="concreteness $c$", ylabel="keywords in captions", title="What captions are made of")
plt.show()

# %% [markdown]
# ```{remake}
# ```
#
# Of {result}`words:captions|,` captions, the words that the norms lack:

# %% tags=["hide-input"]
pd.Series(words["missing"], name="times").rename_axis("missing word").to_frame()
