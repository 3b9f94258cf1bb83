"""The language model that chooses among captions, against its own loss on one text at a time."""

import json
import shutil

import pytest
import tiny_qwen
import torch

from slipform_core.mistakes import Mistake
from slipform_core.rewriters.lexical import Fluency, fluency

TEXTS = [
    "A dog runs in the park",
    "A dog",
    "",
    "The old man and a café, near the \U0001f436 of a very long street with many red cars",
    "a dog",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> str:
    return tiny_qwen.write(tmp_path_factory.mktemp("tiny") / "tiny-qwen")


@pytest.fixture(scope="module")
def judge(folder) -> Fluency:
    return Fluency(folder)


def slow(folder: str, text: str, begin: str = tiny_qwen.ENDS[0]) -> float:
    """The log probability of a text by the mean loss of transformers, without a batch or padding."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokens = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = tokens(begin + text, return_tensors="pt")["input_ids"]
    if ids.shape[1] == 1:
        return 0.0
    with torch.no_grad():
        return -float(model(input_ids=ids, labels=ids).loss) * (ids.shape[1] - 1)


def test_scores_are_sums_of_log_probabilities(judge, folder):
    assert judge.scores(TEXTS) == pytest.approx([slow(folder, text) for text in TEXTS], abs=1e-3)
    assert judge.scores([]) == []


def test_a_score_does_not_depend_on_the_batch(judge, monkeypatch):
    together = judge.scores(TEXTS)
    monkeypatch.setattr(fluency, "BATCH", 2)
    assert judge.scores(TEXTS) == pytest.approx(together, abs=1e-3)
    assert judge.scores(TEXTS[::-1])[::-1] == pytest.approx(together, abs=1e-3)


def test_the_likeliest_of_each_group_is_taken(judge, folder):
    groups = [TEXTS[:2], TEXTS[3:4], [TEXTS[4], TEXTS[3], TEXTS[0]]]
    expected = [max(group, key=lambda text: slow(folder, text)) for group in groups]
    assert judge.best(groups) == expected
    assert [judge.best([group[::-1]]) for group in groups] == [[text] for text in expected]


def test_a_tie_goes_to_the_earlier(judge, monkeypatch):
    scores = {"a": -2.0, "b": -1.0, "c": -1.0}
    monkeypatch.setattr(judge, "scores", lambda texts: [scores[text] for text in texts])
    assert judge.best([["a", "b", "c"], ["a", "c", "b"]]) == ["b", "c"]


def test_a_text_begins_as_the_tokenizer_says_and_padding_may_be_unknown(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "own")
    path = tmp_path / "own/tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"bos_token": "<think>", "pad_token": None}))
    own = Fluency(str(tmp_path / "own"))
    expected = [slow(folder, text, "<think>") for text in TEXTS]
    assert own.scores(TEXTS) == pytest.approx(expected, abs=1e-3)


def test_the_version_is_the_name_of_the_model(judge):
    assert judge.version == "tiny-qwen"


def test_a_text_longer_than_the_model_reads_is_a_mistake(judge, monkeypatch):
    monkeypatch.setattr(judge._model.config, "max_position_embeddings", 8)
    with pytest.raises(Mistake, match=r"reads 8 tokens, and '.*a dog.*'\.\.\. has"):
        judge.scores(["a dog", "a dog " * 20])
