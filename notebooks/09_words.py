# %% [markdown]
# # Is it the word, or would any margin do?
#
# Concrete words make better hard negatives, and a margin that reads concreteness makes a better loss: two
# statements of the paper, without repeated seeds as far as is public. Both can be true for a reason that is
# not concreteness. Concrete words are mostly nouns, and nouns are much of what tests ask for. A margin above
# zero weighs hard negatives more, and perhaps any heavier weight would do. This page takes that apart, step
# by step: which word is changed; which margin meets it; the same margins blind to the word; words alike in
# kind; and at last colours, where concreteness differs and visibility does not.
#
# Every row of a figure is a difference of two arms, paired by seed: small dots are seeds, the bar is the 95 %
# interval over them. Filled points were planned [before the run](../book/plan.md) and are tested in tables of
# contrasts; open ones are exploratory, and of so many some exclude zero by chance.
#
# ```{stale}
# ```

# %% tags=["remove-cell"]
from itertools import product
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import HTML, display

from slipform_core import comparisons, figures, tables
from slipform_core.concreteness import Norms
from slipform_core.emoji_world.lexicon import COLOURS
from slipform_core.figures import controls, effects, gains

figures.theme()

# %% tags=["parameters", "remove-cell"]
run = "build/runs/mini"
reference = "results"
plan = "book/plan.yml"

# %% tags=["hide-input"]
mine = tables.open_run(run)
several = comparisons.open_reference(reference, mine.profile)
planned = comparisons.planned(Path(plan))
if several:
    source = f"reference run of {mine.profile}, {len(several.seeds)} seeds"
else:
    display(HTML(f"<p>No reference run of {mine.profile}, so only your run: <code>make reference</code></p>"))


def forest(contrasts, measures=controls.MEASURES):
    if several:
        found = effects.effects(several, contrasts, measures, planned)
        effects.forest(found, what="left minus right", source=source)
        plt.show()


# %% [markdown]
# ## Which word is changed
#
# Do negatives of concrete words (hc, $c \ge 4$) teach more than those of abstract ones (lc, $c < 4$) or of
# any (wo)? All with InfoNCE; `plain` has no hard negatives. Beside the macro average stand replaced objects,
# attributes and relations: what each choice changes in training is what it could gain in the test.

# %% tags=["hide-input"]
forest(controls.WORDS)

# %% [markdown]
# ```{remake}
# ```
#
# ```{reported} data_ablation
# ```
#
# Objects and attributes are planned, with opposite signs: an earlier trial of ours found that what is changed
# is what is learnt. If that is so, "concrete is better" is, in part, a statement about what the test counts.
#
# ```{contrasts} objects
# ```
#
# ```{contrasts} attributes
# ```
#
# ## Which margin meets concrete words
#
# Cement gives nouns a margin near +2, and the concrete colours one between 0 and that. Is it the curve that
# helps, or its height? Against it stand a margin of 1 and of 2 for every word, and Cement reversed, which
# gives nouns nearly −2. On hc all of Cement's margins are positive, so that it is not far from a static one:
# this says little about the curve, which is why the controls of the next section are on any words.

# %% tags=["hide-input"]
forest(controls.MARGINS, controls.MEASURES | controls.SCPP)

# %% [markdown]
# ```{remake}
# ```
#
# ```{reported} static_margin
# ```
#
# ## The same margins, blind to the word
#
# On any words (wo) concreteness is spread out, and a margin can tell words apart. Against Cement stand
# InfoNCE, without a margin; *equal mean*, the mean of Cement's margins for every word, so the same lift on
# average; *shuffled*, where each record gets another record's concreteness, so the very same margins at the
# wrong words; and *reversed*, the same word read the other way round. What Cement does beyond equal mean and
# shuffled is the word's; what it shares with them is the margin's.

# %% tags=["hide-input"]
forest(controls.BLIND)

# %% [markdown]
# ```{remake}
# ```
#
# ## The same kinds of words
#
# Concrete words are nouns, and a caption with another noun is farther from its original than one with another
# preposition. The matched sets take both away: of each part of speech, and of each fifth of the similarity
# between caption and rewrite by the base's text tower, they keep as many records of hc, wo and lc. Each set
# keeps what the rarest of the three has, so they are small and train on fewer distinct records, the same
# number in all three. How alike did they become?

# %% tags=["hide-input"]
if several:
    display(controls.matched_sets([one.result("matched").values for one in several.runs.values()]))

# %% [markdown]
# Means over the seeds of the reference run; $\cos(t, t')$ is between a caption and its rewrite.
#
# ```{remake}
# ```
#
# What is left of the choice of words when part of speech and distance are alike?

# %% tags=["hide-input"]
forest(controls.MATCHED)

# %% [markdown]
# ```{remake}
# ```
#
# ## What was planned of the macro average
#
# All contrasts of this page that the plan has on the macro average, corrected together:
#
# ```{contrasts} macro
# ```
#
# ## By kind
#
# An average hides who pays. Which kinds does each arm gain and lose against the plain continuation, which saw
# as many pictures and no hard negatives? Kinds are SugarCrepe's and ours (`replace_size`, `replace_place`,
# `swap_rel`), the measure is I2T; `swap` trains on exchanged words. A cell's colour is full at ten points.
# Exploratory.

# %% tags=["hide-input"]
if several:
    kinds = several.runs[several.seeds[0]]["composition:plain/sugarcrepe"]
    of_kinds = {kind: [f"sugarcrepe/{kind}/i2t"] for kind in kinds}
    effects.heatmap(effects.effects(several, controls.AGAINST_PLAIN, of_kinds), full=10, source=source)
    plt.show()

# %% [markdown]
# ```{remake}
# ```
#
# Read it by rows: if what is changed is what is learnt, an arm that changes nouns, by choice or by margin,
# gains on objects and pays elsewhere, and one that changes colours and prepositions the other way round. The
# sharpest case is words of size, under 4 on the scale, which `hc` leaves alone and Cement turns down. Of
# replaced sizes `plain` tells {seeds}`composition:plain/sugarcrepe/replace_size/i2t/value|.1%`, concrete
# words {seeds}`composition:hc_info_nce/sugarcrepe/replace_size/i2t/value|.1%`, abstract ones
# {seeds}`composition:lc_info_nce/sugarcrepe/replace_size/i2t/value|.1%`; any words with InfoNCE
# {seeds}`composition:wo_info_nce/sugarcrepe/replace_size/i2t/value|.1%`, with Cement
# {seeds}`composition:wo_cement/sugarcrepe/replace_size/i2t/value|.1%`, with Cement reversed
# {seeds}`composition:wo_reversed/sugarcrepe/replace_size/i2t/value|.1%`. (Means over seeds with intervals;
# the kind is ours, not SugarCrepe's, and no part of the macro average.)
#
# ## The experiment with colours
#
# This is the sharpest test that the world offers. In it a colour is the frame of a thing, drawn as large for
# one colour as for the next, and all eight come equally often: equally visible by construction, one part of
# speech, one kind of rewrite. The norms spread them about 4, just where Cement's margin turns: *red*
# ($c = 4.24$) gets $m = +1.33$, *blue* (3.76) gets $m = -1.33$. So what kinds, roles and similarity explain
# elsewhere is held still here, and opposite margins meet. If Cement acts through the word, a colour gains
# more, the higher its margin; if any margin would do, all colours gain or lose alike.
#
# For each colour: what `wo_cement` has over InfoNCE and over Cement with shuffled concreteness, on the items
# of replaced attributes (I2T) whose own colour it is. The line is the planned regression on the margin, with
# a random intercept for the seed; the 95 % interval of its slope decides. Dashes are seeds.

# %% tags=["hide-input"]
if several:
    measure, outcomes, norms = "sugarcrepe/replace_att/i2t", several.outcomes(), Norms.load("brysbaert")
    curve = dict(several.made[several.seeds[0]]["config"]["arms"]["wo_cement"]["margin"])
    curve.pop("kind")
    words = sorted({word for given in outcomes.values() for word in given.words(measure)})
    margins = gains.margins({word: norms[word] for word in words}, **curve)
    by_colour = {}
    for name, rival in {"InfoNCE": "wo_info_nce", "shuffled": "wo_cement_shuffled"}.items():
        gained = comparisons.by_word(outcomes, "wo_cement", rival, measure, words)
        by_colour[f"Cement minus {name}"] = gains.gains(gained, margins, several.seeds)
    gains.scatter(by_colour, COLOURS, source=source)
    plt.show()

# %% tags=["hide-input"]
if several:
    display(gains.slopes(by_colour, "red", "blue"))

# %% [markdown]
# ```{remake}
# ```
#
# A slope above zero says that a colour is told apart better the harder its negatives are pushed; one below
# zero, that it is told apart worse.
#
# What this cannot show. That concreteness is what matters about colours: the norms put them within .54
# points of each other, and the slope is of the margin, which Cement's step makes large out of that little.
# It tells whether a margin acts on the word that it is put on, not whether concrete words are better
# negatives. Eight colours have only as many margins as they have ratings, and black, blue and the rest
# differ in more than those, in contrast with frame and place for one; the regression takes a colour's seeds
# as separate observations, so its interval says what other seeds would give of these eight, not what other
# colours would. And equally visible is a fact of this world's frames, not of photographs.
#
# ## Your run
#
# A plain `make` trains only a few of these arms, with one seed. Their differences, with paired bootstrap
# intervals over the scenes of the test: what another seed would give is not in them.

# %% tags=["hide-input"]
trained, rng = mine.result("composition").values, np.random.default_rng(0)
there = {row: sides for row, sides in controls.PLAIN_RUN.items() if set(sides) <= set(trained)}
found = {title: {} for title in controls.MEASURES}
for (title, (measure,)), (row, sides) in product(controls.MEASURES.items(), there.items()):
    found[title][row] = effects.Effect(comparisons.in_run(mine, *sides, measure, rng=rng, draws=1000), {})
if there:
    effects.forest(found, what="left minus right", source=f"your run of {mine.profile}, one seed")
    plt.show()

# %% [markdown]
# ```{remake}
# ```
