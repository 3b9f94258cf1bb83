# %% [markdown]
# # In a loop of your own
#
# `slipform_core.loss` can be taken without the rest. A training loop that was written for open_clip's
# `ClipLoss` needs one changed line: `CementLoss()` takes the features of originals and hard negatives,
# originals first, and the concreteness of the words that were changed. With several ranks it gathers features
# with gradients, as `ClipLoss(gather_with_grad=True)` does. Here it fine-tunes an open_clip model on some of
# your run's hard negatives; everything but the loss and the data is open_clip and torch.

# %% tags=["remove-cell"]
import slipform_core.torchvision_import  # noqa: F401, I001, before open_clip
from copy import deepcopy
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import open_clip
import pandas as pd
import torch
from IPython.display import HTML, display

from slipform_core import experiment, figures, tables
from slipform_core.config import Experiment
from slipform_core.shards import read_samples

figures.theme()

# %% tags=["parameters", "remove-cell"]
run = "build/runs/mini"
stages = "build/stages"
steps = 40
pairs = 32

# %% [markdown]
# ## The data
#
# One hard negative of each picture of the survey, in which any word may be changed, and the base of your run,
# a model of open_clip.

# %%
config = Experiment(**tables.open_run(run).result("survey").made["config"])
folder = experiment.plant(config, Path(stages), "survey")
given = list({sample.record.image_id: sample for sample in read_samples(folder)}.values())
pairs, records = min(pairs, len(given)), [sample.record for sample in given]
captions = [[r.caption for r in records], [r.negative_caption for r in records]]
pictures = [[s.picture for s in given], [s.negative_picture for s in given]]
concreteness = torch.tensor([r.keyword.concreteness for r in records])

clip = experiment.load(config, Path(stages), "base")  # clip.model is open_clip's
images = torch.stack([clip.preprocess(torch.tensor(np.stack(p))) for p in pictures])
texts = torch.stack([clip.tokenize(part) for part in captions])

# %% [markdown]
# ## The loop
#
# The changed line is marked; `concreteness` is the one more argument that it asks for.

# %%
from slipform_core.loss import CementLoss


def fine_tune(criterion: torch.nn.Module, **more: torch.Tensor) -> list[float]:
    model = deepcopy(clip.model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    generator, losses = torch.Generator().manual_seed(0), []
    for _ in range(steps):
        rows = torch.randperm(len(given), generator=generator)[:pairs]
        # Originals first, then their hard negatives.
        batch = [part[:, rows].flatten(0, 1) for part in (images, texts)]
        of_rows = {name: value[rows] for name, value in more.items()}
        image, text, scale = model(*batch)
        loss = criterion(image, text, scale, **of_rows)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


with_clip = fine_tune(open_clip.loss.ClipLoss())
# The changed line:
with_cement = fine_tune(CementLoss(), concreteness=concreteness)

# %% [markdown]
# Both losses fall. Their heights say nothing about which is better, as the rows of Cement's softmax hold a
# margin: what Cement does to a model is the matter of [the arms](07_composition).

# %% tags=["hide-input"]
curves = pd.DataFrame({"ClipLoss": with_clip, "CementLoss": with_cement}).rolling(10, min_periods=1).mean()
figure, axes = plt.subplots(figsize=(6.6, 3.4))
curves.plot(ax=axes, color=[figures.COLOURS[2], figures.COLOURS[3]])
axes.set(xlabel="step", ylabel="loss", ylim=(0, None), title="Means of ten batches")
plt.show()

# %% [markdown]
# ```{remake}
# ```
#
# ## Back into open_clip
#
# `save_open_clip` writes a folder that plain open_clip loads, with the architecture, the activation
# (`QuickGELU` in OpenAI's weights) and the pixels' mean and deviation in its config:
#
# ```python
# from pathlib import Path
#
# import slipform_core.torchvision_import
# import open_clip
# from slipform_core.models import from_open_clip, save_open_clip
#
# name = "ViT-B-32-quickgelu"  # "ViT-B-32" is refused: it has another activation
# clip = from_open_clip(name, "openai")
# ...  # train clip.model
# save_open_clip(clip, Path("mine"), open_clip.get_model_config(name))
#
# # And without slipform_core:
# model, _, pixels = open_clip.create_model_and_transforms("local-dir:mine")
# ```
#
# The loading of published weights was not run for this page, which needs no network; the rest is tested with
# small models.
#
# ## What happens when
#
# | When | then |
# |---|---|
# | features are not finite | the loss is NaN; the trainer stops and names the step |
# | features are zero | InfoNCE is the log of the number of candidates; Cement takes its own $e^m$ times |
# | a picture is twice in a batch | each is the other's easy negative; the trainer's batches have it once |
# | ten pairs at batch eight | one batch, and two pairs that wait for the next epoch's permutation |
# | a word has no concreteness | it is NaN; a margin that needs it raises an error (on an accelerator NaN) |
# | a concreteness is outside 1..5 | an error that names the pair; on an accelerator it is not read |
# | pairs have different numbers of negatives | by `mask` a missing one is no candidate and no query |
# | the logit scale is above 100 | the loss takes what it gets; the trainer keeps it at 100 or below |
# | the matrix would pass 1 GB | it is streamed, rows at a time; of `cement`, `stream=` decides otherwise |
#
# ## Other objectives
#
# The field's objectives are functions of one batch of embedded pairs, `Pairs`, and the logit scale. They
# differ in what they read of it and in what they add:
#
# ```python
# from slipform_core.loss import LOSSES, PAPER_MARGIN, Pairs, make_objective
#
# # (B, D), (B, D), (B, K, D) and (B, K)
# pairs = Pairs(image, text, negative_text=negatives, concreteness=words)
# # Cement's margin inside NegCLIP
# loss = make_objective("neg_clip", margin=PAPER_MARGIN)(pairs, logit_scale)
# ```

# %% tags=["hide-input"]
from slipform_core.loss import LOSSES

said = {name: loss.__doc__.partition("\n")[0].replace("`", "") for name, loss in LOSSES.items()}
with pd.option_context("display.max_colwidth", None):
    display(HTML(pd.DataFrame({"objective": said}).to_html()))

# %% [markdown]
# ```{remake}
# ```
