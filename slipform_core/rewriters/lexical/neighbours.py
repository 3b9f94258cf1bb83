"""Words that the kinds do not list, by the listed words that a sentence encoder finds nearest."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from slipform_core.rewriters.lexical.kinds import Kind, Kinds, vague
from slipform_core.sentences import SentenceEncoder

NEAREST = 3  # listed words that have to share a kind
NEAR = 0.55  # their mean cosine: our choice; held out, nine listed words in ten find a kind of theirs


class Neighbours:
    """The kinds of a part with their words encoded, and, where asked for, of unlisted words as they come."""

    def __init__(self, kinds: Kinds, encoder: SentenceEncoder, unlisted: bool):
        self.kinds, self._encoder, self._open = kinds, encoder, unlisted
        self._listed = encoder.encode(kinds.words)
        self._rows: dict[str, NDArray[np.float32]] = dict(zip(kinds.words, self._listed, strict=True))
        self._found: dict[str, list[Kind]] = dict(kinds.kinds)

    def learn(self, words: Iterable[str]) -> None:
        """Encode words together that are asked about one by one later."""
        new = sorted({word for word in words if word not in self._rows})
        if new:
            self._rows.update(zip(new, self._encoder.encode(new), strict=True))

    def kinds_of(self, word: str) -> list[Kind]:
        """The kinds of a word: listed, or shared by its nearest listed words; of a phrase its last word's."""
        if word not in self._found:
            head = word.rpartition(" ")[2]
            if word in vague() or not self._open:
                self._found[word] = []
            else:
                self._found[word] = self.kinds_of(head) if head != word else self._shared(word)
        return self._found[word]

    def _shared(self, word: str) -> list[Kind]:
        cosines = self._listed @ self._row(word)
        nearest = np.argsort(-cosines)[:NEAREST]
        if cosines[nearest].mean() < NEAR:
            return []
        kinds = [self.kinds.kinds[self.kinds.words[row]] for row in nearest]
        return [kind for kind in kinds[0] if all(kind in others for others in kinds[1:])]

    def alike(self, word: str, others: Sequence[str]) -> NDArray[np.float32]:
        """Cosines of a word and others."""
        self.learn([word, *others])
        return np.array([self._rows[other] for other in others]) @ self._row(word)

    def _row(self, word: str) -> NDArray[np.float32]:
        self.learn([word])
        return self._rows[word]
