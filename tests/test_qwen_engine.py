"""Engines of the chat-model rewriter: a tiny Qwen3 from disk against slow loops; vLLM by its interface."""

import socket
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import tiny_qwen
import torch
from qwen_fakes import ODD, Meanings, captions, keyword

from slipform_core import progress
from slipform_core.rewriters.qwen import QwenRewriter, Settings, engines
from slipform_core.rewriters.qwen.engines import start
from slipform_core.rewriters.qwen.prompt import as_json, conversation
from slipform_core.rewriters.qwen.sampling import GumbelNoise

TEXTS = ["a dog", "a dog runs along a very long and sandy beach with a man", "a dog in a car", "my dog"]
TALKS = [conversation(text, keyword(text, "dog")) for text in TEXTS]
SEEDS = [3, 1, 4, 2**31 - 1]
GOLDEN = 0x9E3779B97F4A7C15


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny Qwen3 that is not trained, whose own settings of generation would spoil every comparison."""
    odd = {"do_sample": True, "temperature": 3.0, "top_k": 2, "repetition_penalty": 5.0}
    return tiny_qwen.write(tmp_path_factory.mktemp("tiny"), **odd)


def engine(folder, **settings):
    return start(Settings(folder, **{"tokens": 12, "dtype": "float32", **settings}))


def splitmix(state: int) -> int:
    """One step of splitmix64, as published."""
    state = (state + GOLDEN) % 2**64
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB % 2**64
    return state ^ (state >> 31)


def mixed(state: int) -> int:
    return splitmix((state - GOLDEN) % 2**64)


def uniform(seed: int, step: int, token: int) -> float:
    start = mixed(mixed(seed + GOLDEN) + step + 1)
    return ((mixed(start + (token + 1) * GOLDEN) >> 12) + 0.5) / 2**52


def slowly(made, talk, *, tokens: int, seed: int | None = None, temperature: float = 1.0, top_p: float = 1.0):
    """One conversation, token by token, each by the whole text read anew, without cache and padding."""
    tokenizer, model = made.tokenizer, made.model
    text = "".join(f"<|im_start|>{one['role']}\n{one['content']}<|im_end|>\n" for one in talk)
    ids = tokenizer(text + "<|im_start|>assistant\n<think>\n\n</think>\n\n")["input_ids"]
    answer = []
    for step in range(tokens):
        with torch.no_grad():
            logits = model(torch.tensor([ids + answer])).logits[0, -1].double()
        best = int(logits.argmax())
        if seed is not None:
            chances = torch.softmax(logits / temperature, dim=-1).tolist()
            total, kept = 0.0, []
            for token in sorted(range(len(chances)), key=lambda token: -chances[token]):
                if total >= top_p:
                    break
                kept.append(token)
                total += chances[token]
            best = max(
                kept, key=lambda token: np.log(chances[token]) - np.log(-np.log(uniform(seed, step, token)))
            )
        if best in tokenizer.convert_tokens_to_ids(tiny_qwen.ENDS):
            break
        answer.append(best)
    return tokenizer.decode(answer, skip_special_tokens=True)


def test_the_likeliest_answers_are_those_of_a_slow_loop_alone_and_in_batches(folder):
    made = engine(folder, temperature=0.0, batch=3)
    answers = made.generate(TALKS, SEEDS)
    assert answers == [slowly(made, talk, tokens=12) for talk in TALKS]
    assert answers == [made.generate([talk], [0])[0] for talk in TALKS]
    assert answers == made.generate(TALKS[::-1], SEEDS)[::-1]
    assert len(set(answers)) == len(answers)


def test_sampled_answers_are_each_records_own(folder):
    made = engine(folder, temperature=0.9, top_p=0.7, batch=3)
    answers = made.generate(TALKS, SEEDS)
    settings = {"tokens": 12, "temperature": 0.9, "top_p": 0.7}
    pairs = list(zip(TALKS, SEEDS, strict=True))
    assert answers == [slowly(made, talk, seed=seed, **settings) for talk, seed in pairs]
    assert answers == [made.generate([talk], [seed])[0] for talk, seed in pairs]
    assert answers == made.generate(TALKS[::-1], SEEDS[::-1])[::-1]
    others = made.generate(TALKS, [seed + 1 for seed in SEEDS])
    assert all(one != other for one, other in zip(answers, others, strict=True))
    assert len(set(made.generate([TALKS[0]] * 8, range(8)))) == 8


def test_a_new_start_answers_alike(folder, tmp_path):
    made = engine(folder, batch=2)
    before = made.generate(TALKS, SEEDS)
    engine(tiny_qwen.write(tmp_path))  # takes the place of the loaded model
    again = engine(folder, batch=4)
    assert again.model is not made.model and again.generate(TALKS, SEEDS) == before
    assert engine(folder, temperature=0.0).model is again.model


def test_the_noise_draws_from_the_softmax_and_is_splitmix():
    scores = torch.tensor([1.5, 0.0, -float("inf"), 2.0, -1.0])
    seeds = range(40_000)
    tokens = torch.zeros(len(seeds), 9, dtype=torch.long)
    noisy = GumbelNoise(seeds, width=7)(tokens, scores.expand(len(seeds), -1))
    counts = torch.bincount(noisy.argmax(dim=1), minlength=5)
    expected = torch.softmax(scores, dim=0) * len(seeds)
    assert counts[2] == 0
    there = expected > 0
    chi_square = ((counts - expected)[there] ** 2 / expected[there]).sum()
    assert chi_square < 16.3  # 3 degrees of freedom: one run in a thousand
    for seed in (0, 1, 39_999):
        drawn = [-np.log(-np.log(uniform(seed, 2, token))) for token in range(5)]
        np.testing.assert_allclose(noisy[seed].numpy(), scores.double().numpy() + drawn, rtol=1e-9)
    later = GumbelNoise(seeds, width=6)(tokens, scores.expand(len(seeds), -1))
    agree = (later.argmax(dim=1) == noisy.argmax(dim=1)).double().mean()
    assert abs(agree - ((expected / len(seeds)) ** 2).sum()) < 0.01


def test_odd_captions_break_nothing_and_are_no_tokens(folder):
    long = "a dog and a cat " * 60
    texts = [*ODD, long, "word " * 500, "", "a dog"]
    targets = [keyword(text, text[:1]) for text in texts]
    rewriter = QwenRewriter(
        folder, encoder=Meanings(), tokens=8, batch=4, dtype="float32", retries=1, temperature=1.0, top_p=1.0
    )
    made = rewriter.rewrite(captions(*texts), targets, seed=1)
    assert len(made) == len(texts) and made[-2] == texts[-2] == ""
    assert made == rewriter.rewrite(captions(*texts), targets, seed=1)
    tokens = rewriter.engine.tokenizer
    marks = tokens.convert_tokens_to_ids(["<|im_start|>", "<|im_end|>", "<think>", "</think>"])
    for text, target in zip(texts, targets, strict=True):
        ids = rewriter.engine._prompt(conversation(text, target))
        assert [ids.count(mark) for mark in marks] == [3, 2, 1, 1], text


def test_a_template_that_knows_no_thoughts_will_do(folder, tmp_path):
    plain = tiny_qwen.TEMPLATE.replace("enable_thinking is defined and not enable_thinking", "false")
    made = engine(tiny_qwen.write(tmp_path, template=plain), temperature=0.0)
    prompt = made.tokenizer.decode(made._prompt(TALKS[0]))
    assert prompt.endswith("<|im_start|>assistant\n") and "<think>" not in prompt
    assert len(made.generate(TALKS, SEEDS)) == len(TALKS)


def test_a_folder_is_never_looked_for_on_the_hub(monkeypatch, tmp_path):
    tried = []

    def connect(*where, **_):
        tried.append(where)
        raise OSError("no network")

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "getaddrinfo", connect)
    folder = tiny_qwen.write(tmp_path)
    engine(folder, tokens=1).generate(TALKS[:1], [0])
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError):
        engine(folder, dtype="auto")
    assert not tried


@pytest.mark.parametrize("gone", ["model.safetensors", "tokenizer.json", "chat_template.jinja"])
def test_a_folder_that_lacks_a_part_is_one_line(gone, tmp_path):
    folder = tiny_qwen.write(tmp_path)
    (tmp_path / gone).unlink()
    with pytest.raises(FileNotFoundError, match="cannot load the model") as caught:
        engine(folder)
    assert "\n" not in str(caught.value)


def test_a_model_that_the_hub_does_not_give_is_one_line_and_looked_for_once(monkeypatch):
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    calls = []
    rewriter = QwenRewriter("slipform/there-is-none", encoder=Meanings())
    real = engines.start
    monkeypatch.setattr(
        "slipform_core.rewriters.qwen.rewriter.start", lambda settings: calls.append(1) or real(settings)
    )
    for _ in range(3):
        with pytest.raises(FileNotFoundError, match="hf download slipform/there-is-none") as caught:
            rewriter.rewrite(captions("a dog"), [keyword("a dog", "dog")], seed=1)
        assert "\n" not in str(caught.value)
    assert len(calls) == 1


def test_a_model_that_was_shown_answers_makes_hard_negatives(tmp_path):
    shown = {"a dog on a sofa": "a cat on a sofa", "an old boat": "an old bus"}
    words = {"a dog on a sofa": "dog", "an old boat": "boat"}
    task = [(conversation(text, keyword(text, words[text])), as_json(new)) for text, new in shown.items()]
    folder = tiny_qwen.write(tmp_path, made=tiny_qwen.taught(task, steps=25))
    rewriter = QwenRewriter(folder, encoder=Meanings(), temperature=0.0, tokens=20, dtype="float32")
    targets = [keyword(text, word) for text, word in words.items()]
    assert rewriter.rewrite(captions(*shown), targets, seed=1) == list(shown.values())


def test_the_bar_is_for_more_than_one_batch(folder, monkeypatch):
    seen = []
    real = progress.bar
    monkeypatch.setattr(progress, "bar", lambda **settings: seen.append(settings) or real(**settings))
    for batch in (2, 4):
        engine(folder, tokens=1, batch=batch).generate(TALKS, SEEDS)
    assert [one["disable"] for one in seen] == [False, True]
    assert seen[0]["total"] == len(TALKS) and seen[0]["unit"] == "caption" and seen[0]["leave"] is False
    assert engine(folder).generate([], []) == []


class DocumentedLLM:
    """Takes what vLLM's documentation says that LLM and LLM.chat take."""

    made = []

    def __init__(
        self, model, *, tokenizer_revision=None, revision=None, dtype="auto", max_model_len=None, **engine
    ):
        self.given = {"model": model, "dtype": dtype, "max_model_len": max_model_len, **engine}
        self.made.append(self)

    def chat(self, messages, sampling_params=None, use_tqdm=True, *, chat_template_kwargs=None):
        self.asked = messages, sampling_params, chat_template_kwargs
        return [
            SimpleNamespace(outputs=[SimpleNamespace(text=f"{talk[1]['content'][-4:]} {params.seed}")])
            for talk, params in zip(messages, sampling_params, strict=True)
        ]


def test_vllm_is_asked_by_its_documented_interface(monkeypatch, folder):
    vllm = ModuleType("vllm")
    vllm.LLM = DocumentedLLM
    vllm.SamplingParams = lambda *, temperature, top_p, max_tokens, seed: SimpleNamespace(**locals())
    monkeypatch.setitem(sys.modules, "vllm", vllm)
    made = start(Settings(folder, engine="vllm", top_p=0.9, options={"tensor_parallel_size": 2}))
    assert made.generate(TALKS, SEEDS) == [
        f"{talk[1]['content'][-4:]} {seed}" for talk, seed in zip(TALKS, SEEDS, strict=True)
    ]
    [model] = DocumentedLLM.made
    assert model.given["enable_prefix_caching"] and model.given["tensor_parallel_size"] == 2
    messages, params, template = model.asked
    assert messages == TALKS and template == {"enable_thinking": False}
    assert {(one.temperature, one.top_p, one.max_tokens) for one in params} == {(0.7, 0.9, 256)}
    assert made.generate([], []) == []
