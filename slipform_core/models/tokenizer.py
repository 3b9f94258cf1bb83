"""The tiny model's tokenizer: words."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor


class WordTokenizer:
    """Lower-cased words and numbers as tokens, anything else dropped, unknown words as one token.

    Ids are 0 padding, 1 unknown, the words, then start and end of text, which is the highest, as open_clip's
    pooling expects.
    """

    UNKNOWN = 1
    _word = re.compile(r"[a-z0-9]+")

    def __init__(self, words: Sequence[str], *, vocabulary: int, context: int):
        if len(words) + 4 > vocabulary:
            raise ValueError(
                f"{len(words)} words do not fit a vocabulary of {vocabulary} with four special tokens"
            )
        self.words = tuple(words)
        self.start, self.end = vocabulary - 2, vocabulary - 1
        self.context = context
        self._ids = {word: index for index, word in enumerate(self.words, start=2)}

    @classmethod
    def count(cls, texts: Iterable[str]) -> tuple[str, ...]:
        """The words of the texts, most frequent first, ties in alphabetical order."""
        counts = Counter(word for text in texts for word in cls._word.findall(text.lower()))
        return tuple(sorted(counts, key=lambda word: (-counts[word], word)))

    def __call__(self, texts: Sequence[str]) -> Tensor:
        """Token ids (B, context); ValueError names a text that is longer than the context."""
        tokens = torch.zeros(len(texts), self.context, dtype=torch.long)
        for row, text in enumerate(texts):
            ids = [self._ids.get(word, self.UNKNOWN) for word in self._word.findall(text.lower())]
            if len(ids) + 2 > self.context:
                raise ValueError(f"{len(ids)} words in {text!r}: the model reads {self.context - 2} at most")
            tokens[row, : len(ids) + 2] = torch.tensor([self.start, *ids, self.end])
        return tokens
