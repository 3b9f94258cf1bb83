# %% [markdown]
# # Composition and retrieval
#
# Does a picture prefer its own caption to one with a word changed, or with two words exchanged? The scenes
# are of the test split: their pairs of nouns never occurred in training, in true captions or in negatives.
# The kinds are SugarCrepe's, and changes of size and place; `swap_rel` says the converse ("left" for
# "right"). Every comparison is strict: a tie is wrong. Guessing gives 50 %.

# %% tags=["remove-cell"]
import matplotlib.pyplot as plt

from slipform_core import figures, tables

figures.theme()

# %% tags=["parameters", "remove-cell"]
run = "build/runs/mini"
metric = "i2t"

# %% tags=["hide-input"]
composition = tables.open_run(run).result("composition").values
subsets = [subset for subset in composition["base"] if subset != "retrieval"]
tables.percent({arm: {s: scores[s][metric] for s in subsets} for arm, scores in composition.items()})

# %% [markdown]
# Percent of items, ± one standard error over items. One seed: differences between arms that are not several
# standard errors wide say little, and even those do not say what another seed would give.

# %% tags=["hide-input"]
colours = figures.palette(list(composition))
figure, axes = plt.subplots(figsize=(7.6, 5.6))
for shift, (arm, scores) in enumerate(composition.items()):
    values = [100 * scores[subset][metric]["value"] for subset in subsets]
    bars = [196 * scores[subset][metric]["stderr"] for subset in subsets]
    places = [place + 0.14 * (shift - len(composition) / 2 + 0.5) for place in range(len(subsets))]
    axes.errorbar(values, places, xerr=bars, fmt="o", markersize=4, label=arm, color=colours[arm])
axes.axvline(50, color=figures.INK, linestyle=":")
axes.set_yticks(range(len(subsets)), subsets)
axes.invert_yaxis()
axes.grid(axis="y", visible=False)
axes.set(xlabel=f"right, % ({metric}), with 95 % intervals over items", title="What each arm tells apart")
figure.legend(loc="outside lower center", ncols=3)
plt.show()

# %% [markdown]
# ```{remake}
# ```
#
# ## Reading it
#
# - **Is the base a bag of words?** On `swap_obj`, `swap_att` and `swap_rel` it has
#   {result}`composition:base/swap_obj/i2t/value|.1%`, {result}`composition:base/swap_att/i2t/value|.1%` and
#   {result}`composition:base/swap_rel/i2t/value|.1%`, where guessing has 50 %; on replaced objects
#   {result}`composition:base/replace_obj/i2t/value|.1%`.
# - **Can order be learnt at all?** The arm trained on swaps has
#   {result}`composition:swap_info_nce/swap_obj/i2t/value|.1%` on swapped objects,
#   {result}`composition:swap_info_nce/swap_att/i2t/value|.1%` on swapped attributes and
#   {result}`composition:swap_info_nce/swap_rel/i2t/value|.1%` on converse relations.
# - **What do concrete negatives teach?** On replaced objects the plain continuation has
#   {result}`composition:plain/replace_obj/i2t/value|.1%`, concrete negatives
#   {result}`composition:hc_info_nce/replace_obj/i2t/value|.1%` with InfoNCE and
#   {result}`composition:hc_cement/replace_obj/i2t/value|.1%` with Cement; on swapped objects
#   {result}`composition:hc_info_nce/swap_obj/i2t/value|.1%` and
#   {result}`composition:hc_cement/swap_obj/i2t/value|.1%`.
#
# The [ledger of claims](../book/claims.md) draws the conclusions, by checks that were written down before
# this run.
#
# ## The same with pictures exchanged, and both at once
#
# `t2i`: the caption prefers its own picture to the edited one. `group`: both captions and both pictures
# right, as in Winoground; guessing gives 16.7 %.

# %% tags=["hide-input"]
tables.percent({arm: {s: scores[s]["group"] for s in subsets} for arm, scores in composition.items()})

# %% [markdown]
# ## Retrieval
#
# What did it cost? {result}`composition:base/retrieval/i2t_r1/count|d` pictures of the test split and their
# captions, five each: at least one of a picture's captions (I2T), or a caption's picture (T2I), among the
# first $k$.

# %% tags=["hide-input"]
tables.percent({arm: scores["retrieval"] for arm, scores in composition.items()})
