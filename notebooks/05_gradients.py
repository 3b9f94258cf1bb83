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
import numpy as np
import pandas as pd
from IPython.display import HTML, Math, display

from slipform_core import comparisons, equations, figures, tables
from slipform_core.figures import batch, gradients

figures.theme()

# %% tags=["parameters", "remove-cell"]
run = "build/runs/mini"
reference = "results"
negatives = "hc"
margined = "hc_cement"

# %% [markdown]
# ## The algebra, derived
#
# A row has the positive's logit $s$, the own hard negative's $h$ and those of easy negatives $e_j$. sympy
# takes the derivatives of the loss and simplifies the difference of both sides; a row that did not come to
# zero would say so. The same identities are tested in numbers, against torch's autograd.

# %% tags=["hide-input"]
for name, identity in equations.identities().items():
    proven = "" if identity.holds() else " <strong>(sympy does not find it so)</strong>"
    display(HTML(f"<p>{name.capitalize()}{proven}:</p>"), Math(identity.says))

# %% [markdown]
# ## From a word to a share
#
# Which words are changed, what margin do they get, and what does it do? All over the same axis. The margin
# is in logits, added after the temperature; beside it, what it is in cosine at the base's logit scale of
# {result}`gradients:logit_scale|.1f`: a model with the scale 100 would see two logits as 0.02 of cosine, and
# a margin added before the temperature would be 200 logits. Shares are those of the survey's negatives, where
# any word is changed, at the features of the base; bins with fewer than eight pairs are left out. Here a word
# that shows nothing leaves the picture as it was, by construction, so its negative can be as near as the
# caption itself.

# %% tags=["hide-input"]
mine = tables.open_run(run)
several = comparisons.open_reference(reference, mine.profile)
margin = dict(mine.result("gradients").made["config"]["arms"][margined]["margin"])
assert margin.pop("kind") == "fermi_dirac"
histograms = {choice: made["all"]["histogram"] for choice, made in mine.result("negatives").values.items()}
bins = mine["words:bins"]
histograms["survey, any word"] = np.histogram(mine["survey:concreteness"], bins)[0]
gradients.over_concreteness(
    histograms,
    bins,
    margin,
    mine["gradients:concreteness"],
    logit_scale=mine["gradients:logit_scale"],
    margined=margined,
)
plt.show()

# %% [markdown]
# ```{remake}
# ```
#
# ## Measured on the base model
#
# How much is left for the hard negative at each size of the batch? Features of the pretrained base, before
# any fine-tuning. Points are your run: pairs with {result}`gradients:batches|d` batches drawn at each size,
# bars are 95 % intervals of the mean over batches. Lines are the reference run where there is one: the mean
# over its seeds, each with a base of its own, in the band of its 95 % interval.

# %% tags=["hide-input"]
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
# ## In every objective
#
# Other objectives weigh the hard negative too, most by a term in which a picture chooses among its own
# captions alone. How much of the push in the logits falls on it? The gradient of each objective is taken by
# autograd, with its published weights, in batches of the survey's negatives: at the fixed features of the
# base, and at those of arms that were fine-tuned. Objectives in one row have the same shares to three
# digits. That is no accident for InfoNCE, TripletCLIP and DCL: their pictures choose among the same
# captions, and a share does not depend on the positive. "+ margin" is Cement's, inside another objective;
# "hard_positives" and "clic" have another caption of the picture as its paraphrase. SigLIP's questions are
# of single logits, so its share is that of the whole loss; the others' is of the pictures' choice.

# %% tags=["hide-input"]
names = {"base": "at the features of the base"}
panels = {
    names.get(arm, f"at the features of {arm}"): gradients.by_objective(measured)
    for arm, measured in mine["gradients:objectives"].items()
}
gradients.objectives(panels)
plt.show()

# %% [markdown]
# ```{remake}
# ```
#
# ## Along the training
#
# A share is of one row. Rows that are right already weigh little in the batch's gradient, and the budget
# counts that: of all that pulls and pushes the logits, image to text, half pulls the positives, as Equation 3
# says; the other half is divided between the own hard negatives and the easy ones. How does that change
# while an arm learns?

# %% tags=["hide-input"]
training = mine.result("training").values
if learnt := {arm: log for arm, log in training.items() if "budget" in log["curves"]}:
    gradients.budgets(learnt)
    plt.show()

# %% [markdown]
# ```{remake}
# ```
#
# Whether a larger share, or a smaller batch, makes a better model is another question, for
# [the arms that were trained with other batches](10_batch).
