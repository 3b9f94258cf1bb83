# %% [markdown]
# # The hard negative's share of the gradient
#
# In a row of the softmax, $p_{ij}$ is the weight of caption $j$ for picture $i$, and $i'$ is the pair's own
# hard negative. The loss pulls the own caption with $1 - p_{ii}$ and pushes the others with their $p_{ij}$,
# which add to the same (the paper's Equation 3). Of that push the hard negative gets the share
#
# $$\rho_i = \frac{p_{ii'}}{1 - p_{ii}}.$$
#
# The larger the batch, the more easy negatives there are, and the less is left for the hard one. Cement adds
# a margin $m$ to its logit, and the share becomes
#
# $$\tilde\rho_i = \frac{e^{m}\,\rho_i}{1 - \rho_i + e^{m}\rho_i}.$$
#
# A margin of $\ln k$ is exactly $k$ copies of the hard negative. A share of .20 becomes .033, .084, .405 and
# .649 under margins of −2, −1, +1 and +2. So for a noun, whose margin is near +2, Cement counts the hard
# negative about seven times. Its share falls with the batch all the same, from higher up.
#
# ```{stale}
# ```

# %% tags=["remove-cell"]
import matplotlib.pyplot as plt
import pandas as pd

from slipform_core import comparisons, figures, tables
from slipform_core.figures import batch

figures.theme()

# %% tags=["parameters", "remove-cell"]
run = "build/runs/mini"
reference = "results"
negatives = "hc"

# %% [markdown]
# ## Measured on the base model
#
# How much is left for the hard negative at each size of the batch? Features of the pretrained base, before
# any fine-tuning. Points are your run: pairs with {result}`gradients:batches|d` batches drawn at each size,
# bars are 95 % intervals of the mean over batches. Lines are the reference run where there is one: the mean
# over its seeds, each with a base of its own, in the band of its 95 % interval.

# %% tags=["hide-input"]
mine = tables.open_run(run)
several = comparisons.open_reference(reference, mine.profile)
figure, axes = plt.subplots(figsize=(6.6, 4.6))
if several:
    measured = batch.shares_over_seeds(list(several.runs.values()), negatives)
    batch.draw(axes, measured, source=f"reference run of {mine.profile}", band=True)
batch.draw(axes, batch.shares_in_run(mine, negatives), source=f"your run of {mine.profile}", band=False)
axes.set(xlabel="pictures in the batch, $2N$", ylabel="mean share of the hard negative", ylim=(0, None))
axes.set_title("The hard negative's share against the batch")
figure.legend(loc="outside lower center")
plt.show()

# %% [markdown]
# ```{remake}
# ```
#
# ```{reported} figure6
# ```
#
# The batches that the paper names are larger than ours, and the share depends on the model, the data and the
# temperature: the shape can be compared, the heights cannot.
#
# The same for each set of negatives, in your run:

# %% tags=["hide-input"]
rows = {
    (name, loss): {size: share["mean"] for size, share in by_size.items()}
    for name, losses in mine["gradients:shares"].items()
    for loss, by_size in losses.items()
}
tables.shown(pd.DataFrame(rows).T)

# %% [markdown]
# ```{remake}
# ```
#
# Whether a larger share, or a smaller batch, makes a better model is another question, for
# [the arms that were trained with other batches](10_batch).
