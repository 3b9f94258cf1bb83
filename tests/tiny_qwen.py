"""A tiny Qwen3 on disk: the real classes, a byte-level vocabulary, Qwen3's way of writing a chat."""

import json
from collections.abc import Sequence
from pathlib import Path

import torch

from slipform_core.rewriters.qwen.prompt import INSTRUCTIONS, Message

ENDS = ["<|im_end|>", "<|endoftext|>"]
TEMPLATE = (
    "{% for message in messages %}"
    "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
    "{% endif %}"
)
WORDS = 700  # tokens, the 256 bytes among them


def tokenizer(template: str | None = TEMPLATE):
    import slipform_core.torchvision_import  # noqa: F401, I001, before transformers
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, trainers
    from transformers import Qwen2Tokenizer

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = Qwen2Tokenizer().backend_tokenizer.pre_tokenizer
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bpe.train_from_iterator(
        [INSTRUCTIONS],
        trainers.BpeTrainer(vocab_size=WORDS, initial_alphabet=alphabet, show_progress=False),
    )
    trained = json.loads(bpe.to_str())["model"]
    made = Qwen2Tokenizer(
        vocab=trained["vocab"],
        merges=[tuple(pair) for pair in trained["merges"]],
        eos_token=ENDS[0],
        extra_special_tokens=["<|im_start|>"],
    )
    # As in Qwen3, the marks of thoughts are tokens that stay in the text.
    made.add_tokens([AddedToken(mark, special=False, normalized=False) for mark in ("<think>", "</think>")])
    made.chat_template = template
    return made


def model(tokens, *, spread: float = 0.2, seed: int = 0):
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=len(tokens),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=8192,
        initializer_range=spread,
        bos_token_id=None,
        eos_token_id=tokens.convert_tokens_to_ids(ENDS),
    )
    return Qwen3ForCausalLM(config)


def write(folder: Path, *, made=None, template: str | None = TEMPLATE, **settings) -> str:
    """A tiny Qwen3 in a folder; settings are those of its generation."""
    tokens = tokenizer(template)
    made = made or model(tokens)
    made.generation_config.eos_token_id = tokens.convert_tokens_to_ids(ENDS)
    made.generation_config.update(**settings)
    made.save_pretrained(folder)
    tokens.save_pretrained(folder)
    return str(folder)


def taught(task: Sequence[tuple[Sequence[Message], str]], steps: int):
    """A tiny Qwen3 that was shown the answers to some conversations."""
    tokens = tokenizer()
    made = model(tokens, spread=0.1)
    rows = []
    for messages, answer in task:
        prompt = tokens.apply_chat_template(
            list(messages), tokenize=False, add_generation_prompt=True, enable_thinking=False
        )
        rows.append((tokens(prompt)["input_ids"], tokens(answer + ENDS[0])["input_ids"]))
    width = max(len(prompt) + len(answer) for prompt, answer in rows)
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    labels = torch.full_like(ids, -100)
    for row, (prompt, answer) in enumerate(rows):
        end = len(prompt) + len(answer)
        ids[row, :end] = torch.tensor(prompt + answer)
        labels[row, len(prompt) : end] = torch.tensor(answer)
    optimizer = torch.optim.AdamW(made.parameters(), lr=3e-3)
    for _ in range(steps):
        made(input_ids=ids, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return made
