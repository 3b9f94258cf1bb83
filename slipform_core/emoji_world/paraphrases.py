"""The same said in other words: the grammar's speaker, held to what a caption states and free in how."""

import numpy as np

from slipform_core.emoji_world.grammar import Speaker, mentioned
from slipform_core.emoji_world.lexicon import CONVERSE, SURFACES
from slipform_core.emoji_world.scenes import Scene
from slipform_core.records import Caption

EITHER_FIRST = 0.5  # of the pair: half of the paraphrases state the converse, "a cup right of a dog"


class _Paraphraser(Speaker):
    """States of a caption's scene what the caption states, and nothing else."""

    def __init__(self, caption: Caption, rng: np.random.Generator):
        super().__init__(Scene.from_json(caption.scene), rng)
        self.said = mentioned(caption)

    def states(self, slot: str, habit: str) -> bool:
        return slot in self.said

    def stands(self, first: int, second: int) -> str | None:
        for slot, word in self.said.items():
            if slot.startswith("relation"):
                stated = SURFACES["relation"][word]
                return stated if slot == f"relation.{first}.{second}" else CONVERSE.get(stated, stated)
        return None


def paraphrase(caption: Caption, rng: np.random.Generator) -> str:
    """A sentence that states exactly what a true caption of `captions` states, in other words.

    Order of the pair (with the converse relation), synonyms, opening, clauses and place's position are the
    speaker's by its habits; so are moods, media and verbs, which state nothing visible. It differs from the
    caption in more than capital and full stop.
    """
    while True:
        text, _ = _Paraphraser(caption, rng).say(EITHER_FIRST)
        if _bare(text) != _bare(caption.text):
            return text


def _bare(text: str) -> str:
    return text.removesuffix(".").lower()
