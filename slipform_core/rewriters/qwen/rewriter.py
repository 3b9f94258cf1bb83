"""QwenRewriter: a chat model changes one word of a caption; refused answers are asked for again."""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from slipform_core import sentences
from slipform_core.audit import audit
from slipform_core.records import Caption, Keyword
from slipform_core.rewriters.protocol import record_rng

from .answers import read_answer
from .checks import NO_EXCHANGE, PARAPHRASE, SYNONYM, Encoder, faults, no_exchange
from .engines import Engine, Settings, start
from .prompt import PROMPT_VERSION, again, conversation

RETRIES = 2  # our choice


class QwenRewriter:
    """Rewrites captions by any Qwen3, or another chat model, so that the keyword changes and nothing else.

    model, engine and settings: see `Settings`; an engine may be an `Engine` itself. retries: how often an
    answer that the audit or `fault` refuses is asked for again, with the reason; the last one stays, for the
    plant to refuse. synonym, paraphrase: cosines above which words and captions mean the same, by `encoder`,
    else by the packaged sentence encoder. Model and encoder are loaded when they are first needed.
    """

    def __init__(
        self,
        model: str,
        *,
        engine: str | Engine = "transformers",
        retries: int = RETRIES,
        synonym: float = SYNONYM,
        paraphrase: float = PARAPHRASE,
        encoder: Encoder | None = None,
        **settings: Any,
    ):
        if retries < 0:
            raise ValueError(f"retries {retries}: at least 0")
        self.retries, self.synonym, self.paraphrase = retries, synonym, paraphrase
        name, decides = model, (retries, synonym, paraphrase)
        if isinstance(engine, str):
            self.settings = Settings(model, engine, **settings)
            name, decides = self.settings.name, (*decides, *self.settings.decides)
        else:
            self.engine = engine
        if encoder is not None:
            self.encoder = encoder
        decides = (*decides, sentences.PACKAGE if encoder is None else encoder.version)
        digest = hashlib.sha256(repr(decides).encode()).hexdigest()[:8]
        self.version = f"qwen@{PROMPT_VERSION}-{name}-{digest}"
        self._failure: Exception | None = None
        self._verdicts: dict[tuple[str, str], str | None] = {}

    @cached_property
    def engine(self) -> Engine:
        # The plant tries each record alone after a batch that failed; a model that fails is loaded once.
        if self._failure is not None:
            raise self._failure
        try:
            return start(self.settings)
        except Exception as error:
            self._failure = error
            raise

    @cached_property
    def encoder(self) -> Encoder:
        return sentences.encoder()

    def rewrite(self, captions: Sequence[Caption], keywords: Sequence[Keyword], *, seed: int) -> list[str]:
        """The last answer for each caption; the caption itself where it is not asked for, or not exchanged.

        Not asked for are captions that are blank or no Unicode text.
        """
        pairs = list(zip(captions, keywords, strict=True))
        texts = [caption.text for caption in captions]
        talks = {
            row: conversation(caption.text, keyword)
            for row, (caption, keyword) in enumerate(pairs)
            if _askable(caption.text)
        }
        seeds = {
            row: record_rng(captions[row], seed).integers(2**31, size=self.retries + 1).tolist()
            for row in talks
        }
        self._verdicts.clear()
        for attempt in range(self.retries + 1):
            if not talks:
                break
            answers = self.engine.generate(list(talks.values()), [seeds[row][attempt] for row in talks])
            read = dict(zip(talks, map(read_answer, answers), strict=True))
            for row, reason in self._reasons(pairs, read).items():
                texts[row] = captions[row].text if reason == NO_EXCHANGE else read[row]
                if reason:
                    talks[row] = [*talks[row], *again(read[row], reason)]
                else:
                    del talks[row]
        return texts

    def fault(self, caption: Caption, negative: str) -> str | None:
        """Why a rewriting is no hard negative as far as words tell, or None; see `faults`."""
        key = (caption.text, negative)
        if key not in self._verdicts:
            [self._verdicts[key]] = self._faults([key])
        return self._verdicts[key]

    def _reasons(
        self, pairs: Sequence[tuple[Caption, Keyword]], read: dict[int, str]
    ) -> dict[int, str | None]:
        reasons = {}
        for row, text in read.items():
            caption, keyword = pairs[row]
            reasons[row] = audit(caption.text, keyword, text) or no_exchange(caption.text, keyword, text)
        rows = [row for row, reason in reasons.items() if reason is None]
        keys = [(pairs[row][0].text, read[row]) for row in rows]
        found = self._faults(keys)
        # The plant asks for the same again, one by one.
        self._verdicts.update(zip(keys, found, strict=True))
        return reasons | dict(zip(rows, found, strict=True))

    def _faults(self, keys: Sequence[tuple[str, str]]) -> list[str | None]:
        if not keys:
            return []
        captions, negatives = zip(*keys, strict=True)
        return faults(
            captions, negatives, encoder=self.encoder, synonym=self.synonym, paraphrase=self.paraphrase
        )


def _askable(text: str) -> bool:
    return bool(text.strip()) and not any("\ud800" <= character <= "\udfff" for character in text)
