# %% [markdown]
# # Training
#
# Every arm starts from the same pretrained base and sees the same number of pictures.

# %% tags=["remove-cell"]
import matplotlib.pyplot as plt
import pandas as pd

from slipform_core import figures, tables

figures.theme()

# %% tags=["parameters", "remove-cell"]
run = "build/runs/mini"
window = 10

# %% tags=["hide-input"]
training = tables.open_run(run).result("training").values
colours = figures.palette(list(training))
figure, axes = plt.subplots()
for arm, log in training.items():
    loss = pd.Series(log["loss"], index=log["step"]).rolling(window, min_periods=1).mean()
    axes.plot(loss, label=arm, color=colours[arm])
axes.set(xlabel="step", ylabel=f"loss, mean of {window} steps", title="Training curves")
axes.legend()
plt.show()

# %% [markdown]
# ```{remake}
# ```
