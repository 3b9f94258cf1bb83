"""transformers as the engine: any causal language model with a chat template, in batches."""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import torch

from slipform_core import hub, progress

from .engines import Settings
from .prompt import Message
from .sampling import GumbelNoise

if TYPE_CHECKING:
    from transformers import LogitsProcessorList, PreTrainedModel, PreTrainedTokenizerBase


class TransformersEngine:
    """Answers by `generate`, likeliest or sampled, in batches of like length, padded at the left.

    The keys and values of the instructions are made anew for every batch: to keep them would put the padding
    inside the prompt and change the rounding. vllm shares them.
    """

    def __init__(self, settings: Settings):
        self.settings = settings
        options = json.dumps(dict(settings.options), sort_keys=True)
        with hub.loading(settings.model):
            self.model, self.tokenizer = _load(
                settings.model, settings.revision, settings.device, settings.dtype, options
            )

    def generate(self, conversations: Sequence[Sequence[Message]], seeds: Sequence[int]) -> list[str]:
        prompts = [self._prompt(messages) for messages in conversations]
        # The longest first, so that what does not fit the memory fails at once.
        order = sorted(range(len(prompts)), key=lambda row: -len(prompts[row]))
        answers = [""] * len(prompts)
        batch, count = self.settings.batch, len(prompts)
        with progress.bar(
            total=count, desc="rewriting", unit="caption", leave=False, disable=count <= batch
        ) as bar:
            for first in range(0, count, batch):
                rows = order[first : first + batch]
                texts = self._answers([prompts[row] for row in rows], [seeds[row] for row in rows])
                for row, text in zip(rows, texts, strict=True):
                    answers[row] = text
                bar.update(len(rows))
        return answers

    def _prompt(self, messages: Sequence[Message]) -> list[int]:
        # A template that has no thoughts to turn off passes over the argument.
        text = self.tokenizer.apply_chat_template(
            list(messages), tokenize=False, add_generation_prompt=True, enable_thinking=False
        )
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def _answers(self, prompts: Sequence[Sequence[int]], seeds: Sequence[int]) -> list[str]:
        from transformers import GenerationConfig

        inputs = self.tokenizer.pad({"input_ids": prompts}, return_tensors="pt").to(self.model.device)
        width = inputs["input_ids"].shape[1]
        config = GenerationConfig(
            do_sample=False,  # the processors draw
            max_new_tokens=self.settings.tokens,
            eos_token_id=self.model.generation_config.eos_token_id,
            pad_token_id=self.tokenizer.pad_token_id,
        )
        with torch.inference_mode():
            tokens = self.model.generate(
                **inputs, generation_config=config, logits_processor=self._processors(seeds, width)
            )
        return self.tokenizer.batch_decode(tokens[:, width:], skip_special_tokens=True)

    def _processors(self, seeds: Sequence[int], width: int) -> "LogitsProcessorList":
        from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopPLogitsWarper

        temperature, top_p = self.settings.temperature, self.settings.top_p
        if temperature == 0:
            return LogitsProcessorList()
        return LogitsProcessorList(
            [TemperatureLogitsWarper(float(temperature)), TopPLogitsWarper(top_p), GumbelNoise(seeds, width)]
        )


@lru_cache(maxsize=1)
def _load(
    model: str, revision: str, device: str, dtype: str, options: str
) -> tuple["PreTrainedModel", "PreTrainedTokenizerBase"]:
    """Model and tokenizer, kept for the next rewriter; another model takes their place.

    Of the checkpoint's own settings of generation only the tokens that end an answer are kept.
    """
    import slipform_core.torchvision_import  # noqa: F401, I001, before transformers
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

    given = {"local_files_only": hub.is_folder(model), "revision": revision or "main"}
    tokenizer = AutoTokenizer.from_pretrained(model, padding_side="left", **given)
    if not tokenizer.chat_template:
        raise ValueError("it has no chat template: take a model that was trained to chat")
    # Where its file is missing, transformers makes a tokenizer without words.
    if tokenizer.decode(tokenizer("a dog", add_special_tokens=False)["input_ids"]).strip() != "a dog":
        raise ValueError("its tokenizer does not read a caption: a file of it is missing")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    made = AutoModelForCausalLM.from_pretrained(
        model, dtype=dtype, device_map=device, use_safetensors=True, **json.loads(options), **given
    ).eval()
    ends = made.generation_config.eos_token_id
    ends = {*(ends if isinstance(ends, list) else [ends]), tokenizer.eos_token_id} - {None}
    made.generation_config = GenerationConfig(eos_token_id=sorted(ends))
    return made, tokenizer
