# %% [markdown]
# # The hard negative's share of the gradient
#
# In a row of the softmax, $p_{ij}$ is the weight of candidate $j$ for pair $i$, and $i'$ is the pair's own
# hard negative. Of the gradient that pushes candidates away, the hard negative gets the share
#
# $$\rho_i = \frac{p_{ii'}}{1 - p_{ii}}.$$
#
# More easy candidates in a larger batch take a larger part. Cement adds a margin $m(c_i)$ to the hard
# negative's logit, and the share becomes
#
# $$\tilde\rho_i = \frac{e^{m}\,\rho_i}{1 - \rho_i + e^{m}\rho_i}.$$

# %% tags=["remove-cell"]
import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

from slipform_core import figures, tables

figures.theme()

# %% tags=["parameters", "remove-cell"]
run = "build/runs/mini"
negatives = "hc"

# %% tags=["hide-input"]
shares = pd.DataFrame(tables.open_run(run).result("gradients")[negatives])
shares.index = shares.index.astype(int)

axes = sns.lineplot(shares, markers=True, dashes=False)
axes.set_xscale("log", base=2)
axes.set_xticks(shares.index, shares.index)
axes.set(xlabel="pictures in the batch, $2N$", ylabel="hard negative's share", ylim=(0, None))
axes.set_title("The share of the hard negative against the batch size")
plt.show()

# %% [markdown]
# ```{remake}
# ```
#
# ```{not-run}
# The paper reports a share that falls from 0.32 at a batch of 256 to below 0.20 at 1,024 under InfoNCE, and
# one near 0.4 under Cement, for ViT-B-32 on COCO.
# ```
