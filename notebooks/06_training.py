# %% [markdown]
# # Training
#
# Every arm starts from the same base, which was pretrained on plain pairs, and sees the same number of
# pictures; where there are hard negatives, half of the pictures are those. AdamW, warm-up and cosine,
# gradients clipped, the logit scale kept at 100 or below.

# %% tags=["remove-cell"]
import matplotlib.pyplot as plt
import pandas as pd

from slipform_core import figures, tables

figures.theme()

# %% tags=["parameters", "remove-cell"]
run = "build/runs/mini"
window = 20

# %% tags=["hide-input"]
training = tables.open_run(run).result("training").values
arms = [arm for arm in training if arm != "base"]
colours = figures.palette(list(training))
rows = {
    arm: {"steps": log["steps"], "pictures seen": log["pictures"], "seconds": round(log["seconds"])}
    | log["last"]
    for arm, log in training.items()
}
columns = ["steps", "pictures seen", "seconds", "loss", "share", "scale"]
tables.shown(pd.DataFrame(rows).T[columns])

# %% [markdown]
# Loss, share and scale are means of the last 50 steps.
#
# ## Curves
#
# Losses with and without hard negatives, or with a margin, are not comparable in height: the rows of the
# softmax hold other things. Their shapes are. The share of the hard negative is the one of the arm's own
# loss, margin included.

# %% tags=["hide-input"]
figure, panels = plt.subplots(2, 2, figsize=(7.6, 6.0), sharex=True)
titles = {
    "loss": "Loss",
    "share": "Hard negative's share",
    "scale": "Logit scale",
    "learning_rate": "Learning rate",
}
for (key, title), axes in zip(titles.items(), panels.flat, strict=True):
    for arm in arms:
        if key in training[arm]["curves"]:
            curve = pd.Series(training[arm]["curves"][key]).rolling(window, min_periods=1).mean()
            axes.plot(curve, label=arm, color=colours[arm])
    axes.set_title(title)
for axes in panels[1]:
    axes.set_xlabel("step")
figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
plt.show()

# %% [markdown]
# ```{remake}
# ```
#
# The base's own pretraining:

# %% tags=["hide-input"]
figure, axes = plt.subplots(figsize=(7.2, 3.0))
axes.plot(
    pd.Series(training["base"]["curves"]["loss"]).rolling(window, min_periods=1).mean(), color=colours["base"]
)
axes.set(xlabel="step", ylabel=f"loss, mean of {window} steps", title="Pretraining", ylim=(0, None))
plt.show()

# %% [markdown]
# ```{remake}
# ```
