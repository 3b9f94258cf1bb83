"""A language model that says which of several captions is likeliest."""

from collections.abc import Sequence
from pathlib import Path

import torch

from slipform_core import hub
from slipform_core.mistakes import Mistake

BATCH = 32


class Fluency:
    """Any causal language model of transformers, a folder or a name of the hub."""

    def __init__(self, model: str, device: str = "cpu"):
        import slipform_core.torchvision_import  # noqa: F401, I001, before transformers
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.version = Path(model).name
        with hub.loading(model):
            self._tokenizer = AutoTokenizer.from_pretrained(model)
            self._model = AutoModelForCausalLM.from_pretrained(model, use_safetensors=True).to(device).eval()
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token

    def best(self, texts: Sequence[Sequence[str]]) -> list[str]:
        """Of each list of texts the likeliest; a tie goes to the earlier one."""
        flat = [text for group in texts for text in group]
        scores = iter(self.scores(flat))
        return [max(group, key=lambda _: next(scores)) for group in texts]

    @torch.inference_mode()
    def scores(self, texts: Sequence[str]) -> list[float]:
        """The log probability of each text, its first token given what begins a text; Mistake if too long."""
        found = []
        for start in range(0, len(texts), BATCH):
            part = [self._begin + text for text in texts[start : start + BATCH]]
            batch = self._tokenizer(part, return_tensors="pt", padding=True, padding_side="right")
            width = batch["input_ids"].shape[1]
            longest = getattr(self._model.config, "max_position_embeddings", width)
            if width > longest:
                cut = max(part, key=len)[:60]
                raise Mistake(f"{self.version} reads {longest} tokens, and {cut!r}... has {width}")
            batch = batch.to(self._model.device)
            logits = self._model(**batch).logits[:, :-1].float().log_softmax(-1)
            targets, real = batch["input_ids"][:, 1:], batch["attention_mask"][:, 1:]
            found += (logits.gather(-1, targets[..., None])[..., 0] * real).sum(-1).tolist()
        return found

    @property
    def _begin(self) -> str:
        return self._tokenizer.bos_token or self._tokenizer.eos_token
