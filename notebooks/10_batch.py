# %% [markdown]
# # Batch and margin
#
# [The hard negative's share of the gradient](05_gradients) falls as the batch grows, and a margin lifts it.
# That is arithmetic on features. Does it matter for what is learnt? The paper's Figure 6 plots the share, and
# its caption adds that a smaller batch degrades performance, which only arms that were trained with several
# batches can say. So here are both: the share, and the scores. Then the margin's own two constants: how much
# hangs on where it turns, and how steeply?
#
# ```{stale}
# ```

# %% tags=["remove-cell"]
from pathlib import Path

import matplotlib.pyplot as plt
from IPython.display import HTML, display

from slipform_core import comparisons, figures, tables
from slipform_core.figures import batch, effects

figures.theme()

# %% tags=["parameters", "remove-cell"]
run = "build/runs/mini"
reference = "results"
plan = "book/plan.yml"

# %% tags=["hide-input"]
mine = tables.open_run(run)
several = comparisons.open_reference(reference, mine.profile)
planned = comparisons.planned(Path(plan))
if several:
    source = f"reference run of {mine.profile}, {len(several.seeds)} seeds"
else:
    display(HTML(f"<p>No reference run of {mine.profile}, so only your run: <code>make reference</code></p>"))
arms = {
    "info_nce": ["hc_info_nce_quarter", "hc_info_nce", "hc_info_nce_double"],
    "hc_cement": ["hc_cement_quarter", "hc_cement", "hc_cement_double"],
}
panels = {
    "macro": ["macro"],
    "replaced objects": ["sugarcrepe/replace_obj/i2t"],
    "R@1, I2T": ["retrieval/world/i2t_r1"],
    "R@1, T2I": ["retrieval/world/t2i_r1"],
}

# %% [markdown]
# ## The share
#
# What part of the push falls on the own hard negative, before any fine-tuning, at the base's features, with
# concrete negatives? Band: 95 % over the reference run's seeds. Without a reference run, your run's, with
# intervals over its batches.

# %% tags=["hide-input"]
figure, axes = plt.subplots(figsize=(6.6, 4.4))
if several:
    measured = batch.shares_over_seeds(list(several.runs.values()), "hc")
    batch.draw(axes, measured, source=source, band=True)
else:
    batch.draw(axes, batch.shares_in_run(mine, "hc"), source=f"your run of {mine.profile}", band=False)
axes.set(xlabel="pictures in the batch, $2N$", ylabel="mean share of the hard negative", ylim=(0, None))
figure.legend(loc="outside lower center")
plt.show()

# %% [markdown]
# ```{remake}
# ```
#
# ```{reported} figure6
# ```
#
# ## The scores
#
# Do arms with a quarter, once and twice the pictures in a batch score differently? All see as many pictures
# in all, so a quarter of the batch is four times the steps; the learning rate goes with the square root of
# the batch, and the warm-up sees as many pictures (our choice). A batch thus changes three things together:
# the easy negatives beside the hard one, the number of steps and their size. What the share alone does, these
# arms cannot say.

# %% tags=["hide-input"]
if several:
    runs = list(several.runs.values())
    found = {title: batch.scores_by_batch(runs, arms, *measures) for title, measures in panels.items()}
    batch.score_panels(found, source=source)
    plt.show()

# %% [markdown]
# ```{remake}
# ```
#
# These intervals hold what a seed does to all arms alike, its base and its test; the planned differences,
# paired by seed, do not:
#
# ```{contrasts} batch
# ```
#
# Does Cement need the large batch less? If a margin makes up for the share that easy negatives take, what
# Cement has over InfoNCE should grow with the batch: the last row is the difference at twice the batch minus
# the difference at a quarter. Only the macro average at the batch of all other arms was planned (filled, and
# on the page of [words and margins](09_words)); the rest is exploratory.

# %% tags=["hide-input"]
if several:
    pairs = zip(("a quarter", "once", "twice"), arms["hc_cement"], arms["info_nce"], strict=True)
    apart = effects.effects(several, {size: sides for size, *sides in pairs}, panels, planned)
    for rows in apart.values():
        rows["twice − a quarter"] = effects.change(rows["twice"], rows["a quarter"])
    effects.forest(apart, what="Cement minus InfoNCE", source=source)
    plt.show()

# %% [markdown]
# ```{remake}
# ```
#
# ## Where the margin turns, and how steeply
#
# Cement's margin has a midpoint $\tilde c$ and a width $\tau_m$: 4 and 0.15 in the paper. How much depends on
# them? Nine arms on any words, where concreteness is spread out, against InfoNCE on the same words. A
# midpoint of 3.5 gives every colour a positive margin, one of 4.5 every colour a negative one; nouns, with
# few exceptions, keep a positive margin throughout. A width of 0.05 is a step, one of 0.5 a slope. This is a
# surface, not a search: shown with intervals, without tests, and no cell is picked out as best.

# %% tags=["hide-input"]
if several:
    settings = several.made[several.seeds[0]]["config"]["arms"]
    margins = {at: (arm, "wo_info_nce") for at, arm in batch.margins_of(settings, "wo").items()}
    titles = {
        "macro": ["macro"],
        "replaced objects": ["sugarcrepe/replace_obj/i2t"],
        "replaced attributes": ["sugarcrepe/replace_att/i2t"],
    }
    batch.surface(effects.effects(several, margins, titles), full=5, source=source)
    plt.show()

# %% [markdown]
# ```{remake}
# ```
