# %% [markdown]
# # Does a concrete word's change show?
#
# The paper's reason for concrete words is visual: change one, and the picture must change with it, so that
# a model has something to see. Its Figure 4 shows similarity and logit gap against concreteness $c$. Ours
# asks the same of the survey: rewrites of any word, several captions of each of its scenes, as the base of
# this world sees them before any fine-tuning.
#
# :::{admonition} What this page can say, and what it cannot
# :class: warning
# In the embedded world a word without a referent (a mood, a medium such as *picture*, a verb such as
# *remains*) changes nothing in the picture **by construction**, and most of these words are abstract. A
# curve that rises because of them shows how the world was made. So the line that can say something is the
# one **without such words**: every word in it has something in the picture that is drawn anew. There, $c$
# says whether *raters* call a word concrete, while the renderer decides what is seen. That concreteness
# *causes* visible change is a question for photographs, which this world cannot answer.
# :::
#
# ```{stale}
# ```

# %% tags=["remove-cell"]
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import HTML

from slipform_core import comparisons, figures, tables
from slipform_core.figures import regressions, survey

figures.theme()

# %% tags=["parameters", "remove-cell"]
run = "build/runs/mini"
reference = "results"
draws = 200

# %% tags=["remove-cell"]
mine = tables.open_run(run)
seeds = comparisons.open_reference(reference, mine.profile)
sources = survey.sources(seeds, mine)
frames = {source: survey.survey(runs) for source, runs in sources.items()}
rng = np.random.default_rng(0)
missing = HTML(figures.no_reference(mine.profile))

# %% [markdown]
# ## Figure 4
#
# Does a picture's similarity to its caption go with the concreteness of the word that will be changed
# (*own*), or with that of the edited pair (*edited*)? And do the two gaps: of a picture, between its
# caption and the rewrite (I2T), and of a caption, between its picture and the edit (T2I)? Gaps are in
# logits, cosines times the base's logit scale ({result}`training:base/last/scale|.1f` in your run, a mean
# of its last 50 steps). Above zero the base is right.
#
# Curves are LOESS over two thirds of the records, seeds pooled, on 40 points; bands are pointwise 95 %,
# from a bootstrap of scenes (parameter `draws`; scenes of different seeds are different scenes). The plan
# has the curves of all words; those without words that show nothing are exploratory. Each dot is a word of
# the first-named source: filled where it has a referent, empty where it has none.

# %% tags=["hide-input"]
columns = {
    "own": "own (picture, caption)",
    "edited": "edited (edit, rewrite)",
    "logit_i2t": "picture's gap (I2T), logits",
    "logit_t2i": "caption's gap (T2I), logits",
}
first = next(iter(sources))
shown = frames | {f"{first}: {survey.VISIBLE}": survey.parts(frames[first])[survey.VISIBLE]}
survey.curves(shown, columns, rng=rng, draws=draws)
plt.show()

# %% [markdown]
# ```{remake}
# ```
#
# LOESS draws a curve through words that are of few kinds: nouns at the concrete end, colours round 4, sizes
# and relations below. So a curve may rise from one kind to the next, and not within any.
#
# Spearman's correlation with $c$, with the same bootstrap:

# %% tags=["hide-input"]
survey.spearman_table(frames, columns, rng=rng)

# %% [markdown]
# ```{remake}
# ```
#
# ## The planned regression
#
# Is it concreteness, or what goes with it? Nouns are concrete, prepositions are not, and their rewrites may
# be nearer to their captions or further away. The plan's mixed model has the logit gap on
#
# - concreteness $c$, 1 to 5,
# - text distance, 1 − the cosine of caption and rewrite,
# - part of speech (against adjectives, or the first there is),
# - log frequency, $\log(1 + \text{occurrences in the training captions})$,
# - length of the caption in words,
#
# with a random intercept for each scene; for all seeds together also a fixed effect for each. The
# coefficient of $c$ is what one point of concreteness adds to the gap, in logits, between records that are
# alike in all of that. It is not an effect of concreteness: what the base has learnt of a word, and how
# large it is drawn, are in nothing that is held fixed. With all words it holds the world's own rule about
# words without a referent too.

# %% tags=["hide-input"]
found = regressions.fits(frames)
regressions.coefficients(found, "concreteness", "; ".join(sources))
plt.show()

# %% [markdown]
# ```{remake}
# ```
#
# All coefficients, with Wald's 95 % intervals. First the reference run, all seeds together:

# %% tags=["hide-input"]
regressions.table(found, "all seeds") if seeds else missing

# %% [markdown]
# Then your run:

# %% tags=["hide-input"]
regressions.table(found, "your run")
