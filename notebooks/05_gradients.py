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
# .649 under margins of −2, −1, +1 and +2.

# %% tags=["remove-cell"]
import matplotlib.pyplot as plt
import pandas as pd

from slipform_core import figures, tables

figures.theme()

# %% tags=["parameters", "remove-cell"]
run = "build/runs/mini"
negatives = "hc"

# %% [markdown]
# ## Measured on the base model
#
# Features of the pretrained base, before any fine-tuning, for pairs with {result}`gradients:batches|d`
# batches drawn at each size; bars are 95 % intervals of the mean over batches.

# %% tags=["hide-input"]
shares = tables.open_run(run).result("gradients")[f"shares/{negatives}"]
colours = figures.palette(list(shares))
figure, axes = plt.subplots()
for loss, by_size in shares.items():
    table = pd.DataFrame(by_size).T
    table.index = table.index.astype(int)
    axes.errorbar(
        table.index,
        table["mean"],
        1.96 * table["stderr"],
        marker="o",
        capsize=3,
        label=loss,
        color=colours[loss],
    )
axes.set_xscale("log", base=2)
axes.set_xticks(table.index, table.index)
axes.set(xlabel="pictures in the batch, $2N$", ylabel="mean share of the hard negative", ylim=(0, None))
axes.set_title("More easy negatives, less for the hard one")
axes.legend()
plt.show()

# %% [markdown]
# ```{remake}
# ```
#
# ```{not-run}
# The paper reports a share that falls from 0.32 at a batch of 256 to below 0.20 at 1,024 under InfoNCE, and
# one near 0.4 under Cement, for ViT-B-32 on COCO.
# ```
#
# The same as a table, for each set of negatives:

# %% tags=["hide-input"]
every = tables.open_run(run).result("gradients")["shares"]
rows = {
    (name, loss): {size: share["mean"] for size, share in by_size.items()}
    for name, losses in every.items()
    for loss, by_size in losses.items()
}
tables.shown(pd.DataFrame(rows).T)
