# %% [markdown]
# # Your own data
#
# Hard negatives of your own captions and pictures are one command:
#
# ```sh
# .venv/bin/slipform plant captions.csv --out build/mine
# ```
#
# It reads COCO's captions and Karpathy's splits, Flickr8k and Flickr30k, a table (CSV, TSV, JSON lines or
# Parquet) with a column of pictures, a folder of pictures with a `.txt` beside each, and WebDataset tars;
# `slipform data fetch` has the public ones. For each caption it chooses a word by its concreteness, has it
# replaced, and looks for a picture that fits; what it cannot use it counts, with a reason. This page does so
# with pictures that were made for it, and shows what came of real ones.

# %% tags=["remove-cell"]
from pathlib import Path

from IPython.display import HTML, display

from slipform_core import figures, planting, tables
from slipform_core.config import Experiment, load_recipe
from slipform_core.figures import plant
from slipform_core.samples import draw_samples
from slipform_core.sources import WorldSource, photos, write_photos

figures.theme()

# %% tags=["parameters", "remove-cell"]
run = "build/runs/mini"
source = ""
pictures = 120
choose = "hc"
plants = "results/plant"

# %% [markdown]
# ## A source
#
# There are no photographs to ship with this book, so pictures of the embedded world lie here as anyone's
# would: files, and a table of captions. The parameter `source` takes yours instead.

# %%
folder = Path(run) / "plant"
if not source:
    config = tables.open_run(run).result("survey").made["config"]
    world = WorldSource(Experiment(**config))
    source = write_photos(world, "train", pictures, folder / "photos")
read = photos(Path(source))
print(read)

# %% [markdown]
# ## A recipe, and a look before
#
# A recipe is a file of `notebooks/params/plant` with changes on top. `photo` needs neither a language model
# nor a diffusion model nor a GPU; `paper` has the paper's, Qwen3-32B and SDXL-Turbo. A dry run
# (`--dry-run`) says what would be done.

# %%
recipe = load_recipe("photo", f"choose={choose}")
made = planting.Planting(recipe, read, folder / recipe.choose)
print(planting.outlook(made))

# %% [markdown]
# ## Planted
#
# The text stage writes what becomes of each caption, the picture stage shards of pairs. A run that is killed
# goes on where it was; `--stage` runs one of the two, `--part 2/8` a share of a cluster's.

# %%
report = made.run()
print(report)

# %% tags=["hide-input"]
display(HTML(figures.negative_pairs(draw_samples(report.folder, 6, recipe.seed))))

# %% [markdown]
# Right are *other pictures of the same source*, whose own captions fit the negative caption. That is
# NegCLIP's idea. It is no counterfactual: everything else differs too. With `paper`, SDXL-Turbo edits the
# picture itself. The command writes `samples.html` as well, a page of such pairs and of what was rejected.
#
# ```{remake}
# ```
#
# ## How a word is replaced without a language model
#
# The new word is of the same kind, by lists that are our choice: people, animals, places, things and colours
# are kept apart, and a word that is not listed has the kind that its nearest neighbours share by a small
# sentence encoder (all-MiniLM-L6-v2). It has the form of the old one, an article agrees, and the encoder
# finds it neither unlike nor nearly the same. No caption of the picture may say it, nor a word that names the
# same thing: the lists know some, and your own captions tell others, as words that stand for each other in
# captions of the same pictures (a *guy* is a *man*). Of what is left one is drawn, by how well it stands
# between its neighbours in your captions. The thresholds were chosen on Flickr30k's captions, and not on the
# sets below.
#
# ## On photographs
#
# The same recipe over Flickr8k's 6,000 training pictures, once for each choice of the word, and over the
# captions of COCO's val2017, of which only some pictures were at hand. Qwen3-32B and SDXL-Turbo were
# **not run by us**: in the tests the code runs small models of their classes from disk.

# %% tags=["hide-input"]
noted = plant.noted(plants)
plant.runs(noted)

# %% [markdown]
# What became of the captions, in percent:

# %% tags=["hide-input"]
plant.rejections(noted)

# %% [markdown]
# ## Are they hard negatives?
#
# Of each set 100 negatives were drawn by a fixed seed, from the text stage, so whether or not a picture was
# found; the sets were shuffled, and readers saw the picture, its caption and the negative, but not the set.
# The readers are language models that see pictures, not people. They were asked: is it grammatical? Is it
# really false of the picture? Is it changed in one place? Could the scene be? Aims, set before: 85, 85, 100
# and 60 %. The bars are 95 % intervals by Wilson, of one set's items.

# %% tags=["hide-input"]
verdicts = plant.verdicts(plants)
plant.quality(verdicts)

# %% [markdown]
# How often two readers gave the same answer, in percent:

# %% tags=["hide-input"]
plant.agreement(verdicts)

# %% [markdown]
# What text alone gives away: a classifier that sees only words and word pairs of one text, cross-validated
# over pictures, is asked whether it is a caption or a rewriting (single), or which of a caption and its
# rewriting is which (pair). Chance is 50 %.

# %% tags=["hide-input"]
plant.text_probe(verdicts)

# %% [markdown]
# A model that is trained on such negatives can learn what gives them away instead of what the picture shows;
# read a gain on a benchmark that was made alike with that in mind.
#
# ## What may go wrong
#
# | When | then |
# |---|---|
# | a caption is empty, has markup or unreadable characters, or comes twice for a picture | it is counted |
# | it has no word to choose: the norms cover none, or none is as concrete as asked | it is counted |
# | the change lies past CLIP's 77 tokens | it is counted; the pair would be read alike |
# | a picture is missing, damaged, under 32 pixels or over 500 million | its records are counted |
# | it is grey, CMYK, 16-bit, transparent, turned by EXIF | it is read as a viewer shows it |
# | one record makes a model fail | it is counted, and tried again with the command; twenty in a row stop it |
# | a missing picture is there by now | the command, said again, makes its shard again |
# | the folder was made by another recipe | it is refused, and stays as it is |
# | Karpathy's training split is asked for | a note: it has pictures that SugarCrepe tests on |
# | SDXL-Turbo's steps x strength is below 1 | it is refused before anything is loaded |
