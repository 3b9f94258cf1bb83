# %% [markdown]
# # Words and their concreteness
#
# A hard negative changes one word of a caption. Which word is decided by its **concreteness** $c$: how
# directly the senses reach what a word means, from 1 (abstract) to 5 (concrete). Brysbaert and colleagues
# asked people, and published a mean for {result}`words:norms|,` English words and two-word expressions. *Dog*
# has 4.85, *null* 1.79.

# %% tags=["remove-cell"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import HTML

from slipform_core import figures, tables
from slipform_core.concreteness import Norms, extract_keywords

figures.theme()

# %% tags=["parameters", "remove-cell"]
run = "build/runs/mini"
caption = "A strange picture of a red dog to the left of a small blue cup on the grass."

# %% [markdown]
# ## One caption
#
# The keywords of a caption are its nouns, proper nouns and adjectives, found by spaCy; two-word expressions
# that the norms know come before single words, the form in the text before the lemma. The paper balances its
# choice over attribute, object and *relation*, so words of place and verbs are candidates too (our choice).

# %% tags=["hide-input"]
HTML(figures.marked_caption(caption, extract_keywords(caption)))

# %% [markdown]
# Yours? Run this page with `-p caption "..."`.
#
# ## What concreteness is made into
#
# Cement turns $c$ into a margin in logits on the hard negative. With the reported constants
# ($m_{max}=-m_{min}=2$, $\tilde c=4$, $\tau_m=0.15$) it is $m(c) = 2\tanh\!\big((c-4)/0.3\big)$: nearly a
# step, so that most words sit at its floor or its ceiling. *Red* and *blue* are equally visible and fall on
# its two sides.

# %% tags=["hide-input"]
norms = Norms.load("brysbaert")
values = np.array([norms[word] for word in norms])
grid = np.linspace(1, 5, 401)

figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(7.2, 5.2))
above.hist(values, bins=np.arange(1, 5.01, 0.1), color=figures.COLOURS[0])
above.set(ylabel="entries of the norms", title="Where words lie")
below.plot(grid, 2 * np.tanh((grid - 4) / 0.3), color=figures.COLOURS[2])
for word, lift in {"null": 10, "relation": -16, "blue": -14, "red": 10, "dog": -16}.items():
    point = (norms[word], 2 * np.tanh((norms[word] - 4) / 0.3))
    below.plot(*point, "o", color=figures.INK)
    below.annotate(word, point, (0, lift), textcoords="offset points", ha="center")
below.set(xlabel="concreteness $c$", ylabel="margin $m(c)$, logits", ylim=(-2.8, 2.8))
below.set_title("What Cement makes of it")
plt.show()

# %% [markdown]
# ```{remake}
# ```
#
# ## The words of this run
#
# One caption of each training scene, {result}`words:captions|,` in all, with {result}`words:keywords|,`
# keywords:

# %% tags=["hide-input"]
words = tables.open_run(run).result("words")
roles = pd.DataFrame(words["roles"]).T[["count", "mean", "concrete"]]
roles.columns = ["keywords", "mean c", "share with c ≥ 4"]
tables.shown(roles, 2)

# %% tags=["hide-input"]
edges = np.array(words["bins"])
figure, axes = plt.subplots()
floor = np.zeros(len(edges) - 1)
for role, colour in figures.palette(list(words["roles"])).items():
    heights = np.array(words["roles"][role].get("histogram", floor))
    axes.bar(edges[:-1], heights, np.diff(edges), floor, align="edge", label=role, color=colour)
    floor = floor + heights
axes.axvline(4, color=figures.INK, linestyle=":")
axes.set(xlabel="concreteness $c$", ylabel="keywords", title="What captions are made of")
axes.legend()
plt.show()

# %% [markdown]
# ```{remake}
# ```
#
# Objects are concrete, relations are not, and attributes fall on both sides of 4: choosing by concreteness
# is, in good part, choosing by role. A comparison of *concrete* with *abstract* negatives that does not look
# at roles would compare nouns with colours and prepositions.
#
# ### Words that the norms lack
#
# They cannot be chosen, and are counted:

# %% tags=["hide-input"]
missing = pd.Series(words["uncovered"], name="times", dtype=int).rename_axis("word").to_frame()
missing if len(missing) else HTML("<p>None in this run: the norms have every word of the embedded world.</p>")
