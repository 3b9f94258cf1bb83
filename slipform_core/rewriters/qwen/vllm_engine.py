"""vLLM as the engine, for runs of many captions; written against its documented interface, not run here."""

import json
import os
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from slipform_core import hub

from .engines import Settings
from .prompt import Message

if TYPE_CHECKING:
    from vllm import LLM

CONTEXT = 8192  # tokens of the longest prompt and its answers, far below Qwen3's, which would cost memory


class VllmEngine:
    """Answers by `LLM.chat`; the instructions are read once, by prefix caching, batches are vLLM's own."""

    def __init__(self, settings: Settings):
        self.settings = settings
        with hub.loading(settings.model):
            options = json.dumps({"max_model_len": CONTEXT, **settings.options}, sort_keys=True)
            self._llm = _load(settings.model, settings.revision, settings.dtype, options)

    def generate(self, conversations: Sequence[Sequence[Message]], seeds: Sequence[int]) -> list[str]:
        from vllm import SamplingParams

        if not conversations:
            return []
        settings = self.settings
        params = [
            SamplingParams(
                temperature=settings.temperature, top_p=settings.top_p, max_tokens=settings.tokens, seed=seed
            )
            for seed in seeds
        ]
        answered = self._llm.chat(
            [list(messages) for messages in conversations],
            params,
            use_tqdm=False,
            chat_template_kwargs={"enable_thinking": False},
        )
        return [request.outputs[0].text for request in answered]


@lru_cache(maxsize=1)
def _load(model: str, revision: str, dtype: str, options: str) -> "LLM":
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")  # it reports to its makers otherwise
    from vllm import LLM

    return LLM(
        model=model,
        revision=revision or None,
        tokenizer_revision=revision or None,
        dtype=dtype,
        enable_prefix_caching=True,
        **json.loads(options),
    )
