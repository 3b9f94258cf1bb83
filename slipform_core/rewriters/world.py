"""Rewriters of the embedded world, which itself says when a caption is still true."""

from collections.abc import Sequence

from slipform_core.emoji_world import Scene, World, edit, holds, read_back, reword
from slipform_core.emoji_world.lexicon import CONVERSE, INVISIBLE, SURFACES
from slipform_core.records import Caption, Keyword
from slipform_core.rewriters.protocol import record_rng
from slipform_core.rewriters.swap import SwapWords


class _WorldRewriter:
    """What the rewriters of the embedded world share: the world itself says when a caption is still true."""

    def __init__(self, world: World):
        self.world = world
        self.nouns = frozenset(world.nouns)

    def fault(self, caption: Caption, negative: str) -> str | None:
        """Why a rewriting is no hard negative in this world, or None.

        "no edit of the caption"; "still true": the rewriting of the picture, or the caption of the edited
        picture ("near" when "left of" is shown); "held out": a composition that is kept for the test.
        """
        said, now = read_back(caption, caption.text), read_back(caption, negative)
        if now is None or not self.nouns.issuperset(now[slot] for slot in now if slot.startswith("noun")):
            return "no edit of the caption"
        changed = {slot.split(".")[0] for slot in said if said[slot] != now[slot]}
        if changed <= INVISIBLE:
            return None  # the modelling assumption: a word without a visible referent counts as changed
        scene = Scene.from_json(caption.scene)
        edited = edit(scene, now, self.nouns)
        if holds(scene, now) or holds(edited, said):
            return "still true"
        return "held out" if self.world.held_out(edited) else None


class GrammarRewriter(_WorldRewriter):
    """Replaces the keyword by a sibling of the same kind that the caption's picture does not show."""

    version = "grammar@1"

    def rewrite(self, captions: Sequence[Caption], keywords: Sequence[Keyword], *, seed: int) -> list[str]:
        return [self._one(*pair, seed) for pair in zip(captions, keywords, strict=True)]

    def _one(self, caption: Caption, keyword: Keyword, seed: int) -> str:
        mentions = [m for m in caption.scene["mentions"] if m[0] < keyword.end and keyword.start < m[1]]
        if not mentions:
            return caption.text
        start, end, slot = mentions[-1]  # a bigram such as "black sheep" is changed at its head
        text = caption.text
        for word in record_rng(caption, seed).permutation(self.siblings(caption, slot, text[start:end])):
            text = reword(caption, {slot: str(word)})
            if not self.fault(caption, text):
                break
        return text

    def siblings(self, caption: Caption, slot: str, said: str) -> list[str]:
        """The words that may stand in a slot instead: the same kind, another meaning."""
        scene = Scene.from_json(caption.scene)
        kind = slot.split(".")[0]
        if kind == "noun":
            shown = {thing.noun for thing in scene.things}
            return [noun for noun in self.world.nouns if noun not in shown]
        if kind == "colour":
            shown = {thing.colour for thing in scene.things}
            return [colour for colour in SURFACES["colour"] if colour not in shown]
        if kind in INVISIBLE:
            return [word for word in SURFACES[kind] if word != said]
        means = SURFACES[kind][said]
        others = [word for word, meaning in SURFACES[kind].items() if meaning != means]
        if kind != "relation":
            return others
        # A third thing leaves no room to turn the pair, only to exchange it; "near" is hardly ever false.
        allowed = {CONVERSE.get(means)} if len(scene.things) == 3 else set(CONVERSE)
        return [word for word in others if SURFACES[kind][word] in allowed]


class SwapRewriter(SwapWords, _WorldRewriter):
    """Exchanges the two words at the ends of the keyword; the world says what is still true."""

    fault = _WorldRewriter.fault
