"""Scores that chance explains."""

import math
from collections.abc import Iterable, Mapping

from slipform_core.benchmarks.items import Items
from slipform_core.evaluation.scores import RETRIEVAL
from slipform_core.records import Score

TELLING = 100  # items or pictures whose chance level says something of a model: our choice
DOUBT = "the model knows nothing of this data or was loaded wrongly (activation, preprocessing, tokenizer)"


def chance_warning(scores: Iterable[Score], subsets: Mapping[str, Items]) -> list[str]:
    """A line for each score that chance explains.

    Those are R@1 of retrieval up to twice chance, one over the number of pictures both ways, and i2t and ITT
    of items up to two standard errors above chance: one over the number of captions, which `subsets` tells.
    Items of a single picture have no standard error: chance.
    """
    table = {(score.benchmark, score.subset, score.metric): score for score in scores}
    lines = []
    for (name, subset, metric), score in table.items():
        if name == RETRIEVAL and metric in ("i2t_r1", "t2i_r1"):
            pictures = table.get((name, subset, "i2t_r1"), score).count
            chance, bound = 1 / pictures, 2 / pictures
        elif name != RETRIEVAL and metric in ("i2t", "itt"):
            chance = _chance(subsets[f"{name}/{subset}"])
            bound = chance + (2 * score.stderr if math.isfinite(score.stderr) else 0)
        else:
            continue
        if score.value <= bound:
            ties = table.get((name, subset, f"{metric[:3]}_ties" if name == RETRIEVAL else "ties"))
            why = DOUBT if score.count >= TELLING else f"{score.count:,} are too few to tell"
            if ties and ties.value >= 0.5:
                why = f"{ties.value:.0%} of the comparisons are ties"
            lines.append(f"{name}/{subset} {metric} is {score.value:.2%}, chance {chance:.2%}: {why}")
    return lines


def _chance(items: Items) -> float:
    """Of being right by a guess among an item's captions."""
    if items.rule == "scpp":
        return 1 / 3
    return float((1 / (~items.repeated).sum(axis=1)).mean())
