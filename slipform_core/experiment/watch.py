"""What is looked at along a training: whether the model still names what it sees."""

from collections.abc import Callable
from functools import partial
from itertools import islice

import numpy as np

from slipform_core.config import Experiment, Training

SCENES = 200


def zero_shot(experiment: Experiment, training: Training) -> Callable | None:
    """A model's zero-shot accuracy on "a dog", "a cat", ... where the training evaluates, or None.

    Of scenes of the training split: the test's are not seen before the end.
    """
    if training.evaluate_every is None:
        return None
    from slipform_core.emoji_world import mend_articles
    from slipform_core.evaluation.arrays import zero_shot_accuracy
    from slipform_core.sources.world import WorldSource

    source = WorldSource(experiment)
    captions = list(islice(source.captions("train", each=1), SCENES))
    there = [{noun for noun, _, _ in caption.scene["things"]} for caption in captions]
    return partial(
        zero_shot_accuracy,
        pictures=np.stack([source.picture(caption) for caption in captions]),
        prompts=[mend_articles(f"a {noun}") for noun in source.world.nouns],
        right=np.array([[noun in nouns for noun in source.world.nouns] for nouns in there]),
        batch=experiment.evaluation.batch,
    )
