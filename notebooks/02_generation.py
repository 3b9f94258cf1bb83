# %% [markdown]
# # Hard negatives from ConcretePlant
#
# ConcretePlant takes a caption, chooses the word to change by its concreteness, rewrites the caption, and
# edits the picture to fit, with everything else in place. In the embedded world both steps are exact: the
# rewriter puts another word of the same kind (a noun, a colour, a place), the editor draws the scene anew.
#
# ```{not-run}
# In the paper a language model, Qwen3-32B, rewrites the caption, and SDXL-Turbo edits a photograph.
# ```
#
# ## Figure 2: which word, and how hard
#
# What the paper's Figure 2 shows is in nothing that we had of it; this one is ours, the method in one
# picture. Two decisions hang on a word's concreteness $c$. ConcretePlant **chooses** by it: *hc* among
# words with $c \geq 4$, *lc* among the others, *wo* among all. It draws an object, an attribute or a
# relation first, each as likely, then one of its three most (*hc*) or least (*lc*) concrete words: our
# choice. Cement **pushes** by it: $m(c)$ is added to the hard negative's logit. Where do the words of this
# world lie? Below, each dot is one of them, filled where it has something to show in the picture; named are
# the most and the least concrete of each kind.

# %% tags=["remove-cell"]
from itertools import islice
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from IPython.display import HTML

from slipform_core import figures, tables
from slipform_core.concreteness import Norms
from slipform_core.figures import words
from slipform_core.shards import read_samples

figures.theme()

# %% tags=["parameters", "remove-cell"]
run = "build/runs/mini"
choose = "hc"
arm = "hc_cement"
examples = 8

# %% tags=["hide-input"]
training = tables.open_run(run).result("training")
config = training.made["config"]
margin = {name: value for name, value in config["arms"][arm]["margin"].items() if name != "kind"}
every = words.world_words(config["world"]["nouns"], Norms.load("brysbaert"))
words.draw(every, margin, scale=training["base/last/scale"])
plt.show()

# %% [markdown]
# ```{remake}
# ```
#
# *Red* and *blue* are equally visible, drawn by the same pen, and fall on the two sides of the step: the
# one is pushed away harder, the other is let go. That is not a fault of this world but of norms that are
# not about seeing, and it makes an experiment of [the colours](09_words).
#
# The margin is in logits, after the temperature. In cosines it is smaller by the logit scale (right axis,
# at the base's, {result}`training:base/last/scale|.1f`): at CLIP's scale of 100 the same ±2 are ±0.02.
#
# ## What it makes
#
# Left the picture and its caption, right the edited picture and the caption that is now false of the left
# one. What changed is marked, with its concreteness below.

# %% tags=["hide-input"]
negatives = tables.open_run(run).result("negatives").values


def pairs(choice, count):
    if choice not in negatives:
        return HTML(f"<p>No arm of this run has negatives of the choice <code>{choice}</code>.</p>")
    samples = read_samples(Path(negatives[choice]["folder"]))
    return HTML(figures.negative_pairs(islice(samples, count)))


pairs(choose, examples)

# %% [markdown]
# ```{remake}
# ```
#
# The same for order: here two words of one role have changed places. These negatives show whether order can
# be learnt at all; their $c$ is the mean of the two words' (our choice).

# %% tags=["hide-input"]
pairs("swap", 4)

# %% [markdown]
# ```{remake}
# ```
#
# :::{admonition} A modelling assumption
# :class: note
# Some words of the embedded world have no visible referent: *strange*, *picture*, *remains*. If one of them
# is changed, nothing in the picture changes but the renderer's own noise. That is built in. *Photo* (4.93)
# and *picture* (4.52) are such words and concrete all the same, so a few of these negatives are of that
# kind. What these pages show is what training does with such negatives, not that concreteness causes
# visible change: that is a question for photographs.
# :::
#
# ## What was kept and what was rejected
#
# A rewriting that fails a check is tried again with another word, and at last rejected: because nothing
# changed, because more changed than the word, because the new caption is still true of the picture ("a dog
# beside a cup" with the nouns exchanged), because the new scene contains a composition that is held out
# for the test, or because it reads as no caption of this world. Of a caption without a word to choose there
# is nothing to try.

# %% tags=["hide-input"]
counts = {
    name: {"captions": made["captions"], "kept": made["kept"]} | made["rejected"]
    for name, made in negatives.items()
}
tables.shown(pd.DataFrame(counts).T.fillna(0))

# %% [markdown]
# Which words were changed:

# %% tags=["hide-input"]
chosen = {(name, role): made["roles"][role] for name, made in negatives.items() for role in made["roles"]}
table = pd.DataFrame(chosen).T.reindex(columns=["count", "mean", "concrete"])
table.columns = ["records", "mean c", "share with c ≥ 4"]
tables.shown(table, 2)
