# %% [markdown]
# # ConcreteBatch by bias
#
# ConcreteBatch comes in three biases: rewrites of concrete words (*hc*, $c \geq 4$), of abstract ones
# (*lc*, $c < 4$), and of any (*wo*). A fourth set, ours, exchanges two words (*swap*). What does a model
# see in them that has been trained on none? The judge here is the base CLIP of this world, before any
# fine-tuning.
#
# ```{not-run}
# The paper's judges are large models of photographs and of text: PE-Core-L-14-336 (CLIPScore), DINOv2
# (DINOScore) and RoBERTa-large (BERTScore). They know nothing of a tiny drawn world.
# ```
#
# ```{stale}
# ```

# %% tags=["remove-cell"]
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import HTML, display

from slipform_core import comparisons, figures, tables
from slipform_core.figures import concretebatch, controls, survey

figures.theme()

# %% tags=["parameters", "remove-cell"]
run = "build/runs/mini"
reference = "results"
draws = 200

# %% tags=["remove-cell"]
mine = tables.open_run(run)
seeds = comparisons.open_reference(reference, mine.profile)
missing = HTML(figures.no_reference(mine.profile))
sources = survey.sources(seeds, mine)
first = next(iter(sources))
rng = np.random.default_rng(0)


def values(name):
    return {source: [one.result(name).values for one in runs.values()] for source, runs in sources.items()}


# %% [markdown]
# ## Table 1
#
# $v$ and $t$ are a picture and its caption, $v'$ and $t'$ their edits; all is by cosine.
#
# - **I2T accuracy**: $v$ is nearer to $t$ than to $t'$. **T2I accuracy**: $t$ is nearer to $v$ than to $v'$.
#   Strict: a tie is wrong. Guessing gives .5.
# - **Picture similarity**, of $v$ and $v'$ by the base's picture tower: in the place of DINOScore.
# - **Text similarity**, of $t$ and $t'$ by its text tower: in the place of BERTScore.
# - **Mean c**: of the word that was changed, or of the two that were exchanged.
#
# Rows of $c < 3$ are a part of the rows above them. What was reported is of photographs and of other
# judges: its order can be set beside ours, its size cannot.

# %% tags=["hide-input"]
judged = [one for each in values("judged").values() for one in each]
reported = tables.reported(Path("book/reported.yml"))["table1"]
tables.three_columns(concretebatch.table_1(judged, reported), seeds, mine, unit="fraction")

# %% [markdown]
# Over how many records, a mean over seeds:

# %% tags=["hide-input"]
concretebatch.counts(values("judged"))

# %% [markdown]
# ```{remake}
# ```
#
# ### Easy or hard?
#
# A secondary summary of the paper calls concrete negatives harder, and the reported I2T accuracy is higher
# for them than for words with $c < 3$. But that accuracy is the *judge's*: how often it tells a caption
# from its rewrite at the right picture. A high one says that the difference is plain to see, and the
# negative **easy**. The hard ones are those that the judge gets wrong: to a model that looks like the
# judge, the rewrite is as good a caption as the true one. "Visually distinct" is a fair name for a high I2T
# accuracy. It may well be what makes a negative useful, for what is seen can be learnt; but useful and hard
# are two questions, and this page answers the second. The first takes [training](07_composition). The
# [ledger](../book/claims.md) has the statement with its check.
#
# ## Figure 5
#
# ### Where do the words come from?
#
# Of each set, the share of records by the concreteness of what was changed. The dotted line is the choice's
# threshold, $c = 4$.

# %% tags=["hide-input"]
concretebatch.histograms(values("negatives"), mine["words:bins"])
plt.show()

# %% [markdown]
# ```{remake}
# ```
#
# ### How difficult, and how far from the original?
#
# From here on the *survey*: rewrites of any word, several captions of each of its scenes. How do the
# judge's two choices, and the similarity within each modality, go with the concreteness of the word that
# was changed? Curves are LOESS over two thirds of the records, on 40 points; bands are 95 %, from a
# bootstrap of scenes (parameter `draws`). Each dot is a word of the first-named source, larger for more
# records: filled where it has something in the picture to show for it, empty where it has not (moods,
# media, verbs).

# %% tags=["hide-input"]
frames = {source: survey.survey(runs) for source, runs in sources.items()}
columns = {
    "right_i2t": "I2T: share right",
    "right_t2i": "T2I: share right",
    "text_similarity": "text similarity",
    "image_similarity": "picture similarity",
}
survey.curves(frames, columns, rng=rng, draws=draws)
plt.show()

# %% [markdown]
# ```{remake}
# ```
#
# An empty dot is a word whose change leaves the scene as it was, by construction: there $v$ and $v'$ differ
# by the renderer's noise alone, and T2I is a guess. What such words do to the abstract end of a curve is
# the world's own rule, not a finding.
#
# ### Which measures go together?
#
# Spearman's rank correlation of each two, seeds pooled. *Own* is the cosine of $v$ and $t$, *edited* that
# of $v'$ and $t'$. A *gap* is own less the cosine of $v$ and $t'$ (I2T), or of $v'$ and $t$ (T2I).
# *Frequency* is how often the word occurs in the training captions. Own is a term of both gaps, and texts
# that are alike leave no room for an I2T gap: some of these correlations are there by arithmetic.

# %% tags=["hide-input"]
names = {
    "concreteness": "concreteness",
    "frequency": "frequency",
    "text_similarity": "text similarity",
    "image_similarity": "picture similarity",
    "own": "own",
    "edited": "edited",
    "gap_i2t": "gap I2T",
    "gap_t2i": "gap T2I",
}
found = {source: survey.correlations(frame, list(names), rng=rng) for source, frame in frames.items()}
survey.correlation_map(found[first], names, first)
plt.show()

# %% [markdown]
# ```{remake}
# ```
#
# The same with 95 % intervals, from a bootstrap of scenes:

# %% tags=["hide-input"]
survey.correlation_table(found, names)

# %% [markdown]
# ## Matched sets
#
# The biases differ in more than concreteness: in part of speech, and in how far a rewrite is from its
# caption. The matched sets have as many records of each part of speech and of each fifth of that
# similarity. What is in them, before and after? (Reference run, means over seeds; what they teach is
# [elsewhere](09_words).)

# %% tags=["hide-input"]
matched = [one.result("matched").values for one in seeds.runs.values()] if seeds else []
controls.matched_sets(matched) if seeds else missing

# %% [markdown]
# ## What does text alone tell?
#
# Could a model do without the picture? A classifier of words and word pairs, cross-validated by picture, is
# given a caption and its rewrite: how often does it find which is which? Guessing gives 50 %. What it gets
# right of a set of negatives can be learnt from them without looking; what it gets right of a kind in the
# benchmark is no composition. Intervals are over seeds in the reference run, over pictures in yours.

# %% tags=["hide-input"]
concretebatch.probe_figure({source: concretebatch.probes(of) for source, of in values("blind").items()})
plt.show()

# %% [markdown]
# ```{remake}
# ```
#
# The n-grams that weigh most, first those that most seeds name. Above zero they speak for a caption, below
# for a rewrite; of several seeds, the mean of those that name it.

# %% tags=["hide-input"]
for source, of in values("blind").items():
    display(concretebatch.telling(of, 10).rename_axis(source))
