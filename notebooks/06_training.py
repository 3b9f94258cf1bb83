# %% [markdown]
# # Training
#
# Every arm starts from the same base, which was pretrained on plain pairs, and sees the same number of
# pictures; where there are hard negatives, half of the pictures are those. AdamW, warm-up and cosine,
# gradients clipped, the logit scale kept at 100 or below. These are the arms of your run; the reference run
# has more.
#
# ```{stale}
# ```

# %% tags=["remove-cell"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import HTML, display

from slipform_core import comparisons, figures, statistics, tables
from slipform_core.figures import arms

figures.theme()

# %% tags=["parameters", "remove-cell"]
run = "build/runs/mini"
reference = "results"
window = 20

# %% tags=["hide-input"]
mine = tables.open_run(run)
training = mine.result("training").values
seeds = comparisons.open_reference(reference, mine.profile)
looks = arms.looks(list(training))
rows = {
    arm: {"steps": log["steps"], "pictures seen": log["pictures"], "seconds": round(log["seconds"])}
    | log["last"]
    for arm, log in training.items()
}
columns = ["steps", "pictures seen", "seconds", "loss", "share", "scale"]
tables.shown(pd.DataFrame(rows).T.reindex(columns=columns))

# %% [markdown]
# Loss, share and scale are means of the last 50 steps.
#
# ## Curves
#
# Does every arm settle, and do hard negatives stay hard? Losses with and without hard negatives, or with a
# margin, are not comparable in height: the rows of the softmax hold other things. Their shapes are. The
# share of the hard negative is the one of the arm's own loss, margin included.


# %% tags=["hide-input"]
def curve(log: dict, key: str) -> pd.Series:
    """Means of `every` steps by the step at which each ends, smoothed over `window` steps."""
    values = log["curves"][key]
    ends = np.minimum(log["every"] * np.arange(1, len(values) + 1), log["steps"])
    return pd.Series(values, ends).rolling(max(1, window // log["every"]), min_periods=1).mean()


figure, panels = plt.subplots(2, 2, figsize=(7.6, 6.0), sharex=True)
titles = {
    "loss": "Loss",
    "share": "Hard negative's share",
    "scale": "Logit scale",
    "learning_rate": "Learning rate",
}
for (key, title), axes in zip(titles.items(), panels.flat, strict=True):
    for arm, log in training.items():
        if arm != "base" and key in log["curves"]:
            look = {"color": looks[arm].color, "linestyle": looks[arm].linestyle}
            axes.plot(curve(log, key), label=arm, **look)
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
axes.plot(curve(training["base"], "loss"), color=looks["base"].color)
axes.set(xlabel="step", ylabel="loss", title="Pretraining", ylim=(0, None))
plt.show()

# %% [markdown]
# ```{remake}
# ```
#
# ## How hard the negatives still are
#
# A negative that the model has learnt to tell apart has little weight left in its row of the softmax. How
# much of the push goes to it at the end of each arm's training, in its own loss? Means of the last 50
# steps, with 95 % intervals over the seeds of the reference run. The margin, the size of the batch and the
# kind of word all move this share; how hard the negatives are can be read from it only between arms that
# have the same loss and batch. The peers' objectives weigh a negative by other terms too: theirs is the
# share that InfoNCE would give at their features.

# %% tags=["hide-input"]
if seeds:
    logs = next(iter(seeds.runs.values())).result("training").values
    hard = [arm for arm in seeds.arms if "share" in logs[arm]["last"]]
    shares = {arm: statistics.over_seeds(seeds.values(f"training:{arm}/last/share")) for arm in hard}
    figure, axes = plt.subplots(figsize=(6.6, 1.2 + 0.27 * len(hard)))
    arms.intervals(axes, {"share": shares}, arms.looks(["share"]))
    axes.set(xlabel="share of the hard negative", xlim=(0, None))
    axes.set_title(f"Last steps (reference run, {len(seeds.seeds)} seeds)")
    plt.show()
else:
    display(HTML(figures.no_reference(mine.profile)))

# %% [markdown]
# ```{remake}
# ```
