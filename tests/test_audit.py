"""What the audit knows of lines and of CLIP's cut, against open_clip's own tokens."""

import pytest

from slipform_core.audit import LONG, audit
from slipform_core.records import Keyword

FILL = "very " * 80


def key(text: str, word: str) -> Keyword:
    start = text.index(word)
    return Keyword(word, word, "NOUN", start, start + len(word), 4.0, "object")


def test_an_answer_of_several_lines():
    for negative in ("a cat\nHere it is.", "\na cat", "a cat\u2028Here"):
        assert audit("a dog", key("a dog", "dog"), negative) == "several lines"
    assert audit("a dog", key("a dog", "dog"), "a cat") is None


def test_letters_that_get_longer_in_lower_case():
    text = "a dog in \u0130stanbul"
    assert audit(text, key(text, "dog"), text.replace("dog", "cat")) is None


@pytest.mark.parametrize("fill", [60, 70, 71, 72, 73, 74, 75, 80])
def test_a_change_counts_where_clip_reads_it(fill):
    """A pair that open_clip tokenises alike, or cuts within the change, is refused."""
    import slipform_core.torchvision_import  # noqa: F401, I001, before open_clip
    import open_clip

    text = "very " * fill + "near a dog in a park"
    negative = text.replace("dog", "tyrannosaurus")
    tokens = open_clip.get_tokenizer("ViT-B-32")
    same = bool((tokens([text]) == tokens([negative])).all())
    reason = audit(text, key(text, "dog"), negative)
    assert reason in (None, LONG)
    if same:
        assert reason == LONG
    whole = tokens.encode(negative)
    inside = len(whole) - len(tokens.encode(" in a park")) <= 75
    fits = len(whole) <= 75 or len(tokens.encode(text)) > 75
    assert (reason is None) == (inside and fits)


def test_a_long_caption_whose_change_is_read_is_kept():
    text = "a dog in a park, " + FILL
    assert audit(text, key(text, "dog"), text.replace("dog", "cat")) is None


def test_what_stands_beside_a_relation_may_change_with_it():
    for words, word in (("in front of", "front"), ("on top of", "top"), ("next to", "next")):
        text = f"a cup {words} a dog"
        assert audit(text, key(text, word), "a cup behind a dog") is None


def tokens(text: str) -> int:
    import slipform_core.torchvision_import  # noqa: F401, I001, before open_clip
    import open_clip

    return len(open_clip.tokenizer.SimpleTokenizer().encode(text))


@pytest.mark.parametrize(("length", "reason"), [(74, None), (75, LONG), (76, None), (90, None)])
def test_a_caption_that_fits_keeps_its_end(length, reason):
    """An early change by one token more pushes the end of a caption of 75 past the cut."""
    text = "a dog" + " very" * (length - 2)
    negative = text.replace("dog", "tyrannosaurus")
    longer = tokens(negative) - tokens(text)
    negative = negative.replace("tyrannosaurus", "hot dog") if longer > 1 else negative
    assert (tokens(text), tokens(negative)) == (length, length + 1)
    assert audit(text, key(text, "dog"), negative) == reason


def test_a_word_of_the_caption_that_clip_cuts_is_no_change_to_it():
    text = "very " * 73 + "tyrannosaurus rex in a park"
    negative = text.replace("tyrannosaurus rex", "dog")
    before, after, rest = (tokens(one) for one in (text, negative, "in a park"))
    assert after - rest <= 75 < before - rest
    assert audit(text, key(text, "tyrannosaurus rex"), negative) == LONG


def test_short_texts_may_have_many_tokens():
    text = "1" * 76 + " dog"
    assert tokens(text) == 77
    assert audit(text, key(text, "dog"), text.replace("dog", "cat")) == LONG
    assert audit("a dog", key("a dog", "dog"), "a " + "1" * 80) == LONG


def test_short_captions_need_no_tokeniser(monkeypatch):
    monkeypatch.setattr("slipform_core.audit._tokenizer", lambda: pytest.fail("tokenised"))
    assert audit("a dog", key("a dog", "dog"), "a cat") is None
