# %% [markdown]
# # Any CLIP on the benchmarks
#
# ```sh
# .venv/bin/slipform eval ViT-B-32-quickgelu:openai ViT-B-32-quickgelu=build/epoch_5.pt \
#     -b sugarcrepe -b scpp
# ```
#
# scores models of open_clip, checkpoints of a training, and folders as open_clip saves them. Activation and
# pixels are a folder's own, or those of the name; of a file, the pixels are those that open_clip's weights of
# its name want (SigLIP's are not OpenAI's). One that does not state its activation is warned of, since
# OpenAI's weights need QuickGELU (`ViT-B-32-quickgelu=epoch_5.pt`). Pictures are read as published scripts
# read them, `Image.open(...).convert("RGB")`. Every comparison is strict, in float32: a tie is wrong and
# counted, NaN stops; captions that the model cuts are said. Each picture and each caption is encoded once,
# over all benchmarks of a call, and is kept by its content for the next. `--partial` scores what is there
# where pictures of a benchmark are missing or damaged, and says how many items are left out; without, that
# is refused.
#
# | Composition | and general |
# |---|---|
# | SugarCrepe, SugarCrepe++ (ITT, TOT), Winoground | retrieval: COCO, Flickr30k; R@k and mAP |
# | ARO: relation, attribution, COCO and Flickr30k order | on val2017 and Flickr8k |
# | VALSE, COLA, VL-CheckList, a file of your own | zero-shot and probes: ImageNet, torchvision's, VTAB |
#
# *i2t*: the picture prefers its own caption. *ITT*: both of its captions beat the wrong one at the picture.
# *TOT*: they are nearer to each other than to the wrong one, by text alone. *R@k*: a right one is among the
# first *k*.
#
# No CLIP that was pretrained on photographs was at hand: **no pretrained model was run by us** on any of
# these. In the tests, scores on the pictures of SugarCrepe that were at hand equal a loop over its items.

# %% tags=["remove-cell"]
import slipform_core.torchvision_import  # noqa: F401, I001, before open_clip
from functools import partial
from pathlib import Path

import open_clip  # noqa: F401, whose first import warns of tqdm's widgets
import pandas as pd
from IPython.display import HTML, display

from slipform_core import evaluating, experiment, figures, tables
from slipform_core.benchmarks import BENCHMARKS, own, write_own
from slipform_core.config import Experiment
from slipform_core.figures import lens, speed

figures.theme()

# %% tags=["parameters", "remove-cell"]
run = "build/runs/mini"
stages = "build/stages"
models = "base,plain,hc_cement"
subsets = "replace_obj,replace_att,swap_obj,swap_att"
benchmarks = "results/benchmarks"

# %% [markdown]
# ## Your own items
#
# A file of items is a benchmark, too (`--items`): pictures, captions with the right one first, and subsets.
# Here are some of your run's test, as anyone's would lie in a folder, and as models those of `models` that
# your run has.

# %%
config = Experiment(**tables.open_run(run).result("survey").made["config"])
keys = [f"sugarcrepe/{subset}" for subset in subsets.split(",")]
items = write_own(BENCHMARKS["world"](config), keys, Path(run) / "eval")
asked = evaluating.Asked([own(items)])
trained = [name for name in models.split(",") if name in ("base", *config.selected)]
arms = {name: partial(experiment.load, config, Path(stages), name) for name in trained}
how = {"command": "notebooks/14_any_clip.py", "config": {"models": models, "subsets": subsets}}
found = list(evaluating.evaluate_models(arms, asked, out=items.parent, **how))
evaluating.wide_table(found).droplevel("benchmark")

# %% [markdown]
# Percent: a score ± one standard error, an average with a 95 % interval by a bootstrap of pictures. **micro**
# counts every item alike, **macro** every subset. The columns called *blind* never saw a picture: they prefer
# the caption with fewer words, with fewer characters, or with less of a capital and a full stop; strictly,
# and with ties at half (at a third where three captions tie). A score that they reach says nothing of a
# model's eyes.
#
# Is one model better than the first? The difference in points, paired by item: the interval is a bootstrap
# of pictures, and McNemar's exact test, of items that only one has right, takes items for independent.

# %% tags=["hide-input"]
rows = []
for result in found[1:]:
    compared = result["differences"]
    for name, metrics in compared[own(items).name].items():
        rows.append({"": f"{result.experiment} − {compared['to']}", "of": name} | metrics["i2t"])
shown = pd.DataFrame(rows).set_index(["", "of"]).rename(columns={"only_left": "wins", "only_right": "losses"})
shown[["value", "low", "high"]] = (100 * shown[["value", "low", "high"]]).round(1)
shown.assign(mcnemar=shown["mcnemar"].map("{:.2g}".format))

# %% [markdown]
# ```{remake}
# ```
#
# ## Concreteness as a lens
#
# Each item changes a word; how concrete is it, and is it an object, an attribute or a relation? Scores by
# band of its concreteness, and how the odds of being right go with it: a logistic regression, errors
# clustered by picture, over all items and within a role, since roles differ in both. It needs nothing but
# texts and outcomes, so that it works for any checkpoint.

# %% tags=["hide-input"]
lens.bands({result.experiment: result for result in found}, own(items).name)

# %% tags=["hide-input"]
lens.trends({result.experiment: result for result in found}, own(items).name)

# %% [markdown]
# In the embedded world concreteness is bound to the kind of word by construction (an object is concrete, a
# spatial relation is not): the trend over all items is no finding about concreteness. On
# photographs it may be one, where it stands within a role too.
#
# ## Was the test trained on?
#
# `--trained FOLDER` looks whether pictures of a benchmark are among those of shards that `slipform plant`
# made, the other photographs included: by name, where COCO's number is the same in all its years, and by
# sight, by a 64-bit difference hash. An i2t, ITT or R@1 that chance explains is warned of, since a wrong
# activation or preprocessing looks like that.
#
# ## What it costs
#
# Published scripts encode an item at a time, its picture and its captions. On SugarCrepe's texts and a sample
# of pictures, ViT-B-32 with random weights, on one thread; minutes are extrapolated from that sample to all
# items and pictures:

# %% tags=["hide-input"]
cost = speed.read(benchmarks, "evaluation")
display(HTML(f"<p>{speed.on(cost)}</p>"), lens.cost(cost))

# %% [markdown]
# ## What the texts of the benchmarks give away
#
# The baselines on all items, which need no picture. Percent right, strictly / with ties at half (of
# ITT, at a third where all three tie):

# %% tags=["hide-input"]
lens.blind(cost)
