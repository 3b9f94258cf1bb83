"""How an answer of the chat model is read, and which rewritings are refused."""

import pytest
from qwen_fakes import Script, scripted

from slipform_core.records import Caption
from slipform_core.rewriters.qwen import QwenRewriter
from slipform_core.rewriters.qwen.answers import read_answer
from slipform_core.rewriters.qwen.language import is_english
from slipform_core.sentences import SentenceEncoder

ANSWERS = [
    ('"a cat"', "a cat"),
    ("a cat", "a cat"),
    ("  a cat \n", "a cat"),
    ("“a cat”", "a cat"),
    ("'a cat'", "a cat"),
    ("Answer: a cat", "a cat"),
    ('New caption: "a cat"', "a cat"),
    ("The caption: a cat", "a cat"),
    ("```json\n\"a cat\"\n```", "a cat"),
    ("```\na cat\n```", "a cat"),
    ('{"caption": "a cat"}', "a cat"),
    ('{"caption": 3}', '{"caption": 3}'),
    ('"a \\"cat\\" \\u003c3 \\ud83d\\ude00"', 'a "cat" <3 😀'),
    ('"stop" says a "sign"', '"stop" says a "sign"'),
    ("'s cat", "'s cat"),
    ('"', '"'),
    ("a cat\nor a fox", "a cat\nor a fox"),
    ('"a cat\nor a fox"', "a cat\nor a fox"),
    ("<think>a dog? no.</think>\n\na cat", "a cat"),
    ("a dog? no.</think>a cat", "a cat"),
    ("<think>\n\n</think>\n\n\"a cat\"", "a cat"),
    ("<think>a dog", ""),
    ("<think>a dog</think><think>a cat", ""),
    ("", ""),
    ('"\\ud83d"', "?"),
    ("[" * 5000, "[" * 5000),
    ('{"caption":' * 5000, '{"caption":' * 5000),
    ("3", "3"),
    ("a caption: with a colon", "a caption: with a colon"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), ANSWERS)
def test_the_caption_is_found_in_an_answer(text, expected):
    assert read_answer(text) == expected


FAULTS = [
    ("a dog on a sofa", "a cat on a sofa", None),
    ("a dog on a sofa", "an owl on a sofa", None),
    ("a dog on a sofa", "a dog under a sofa", None),
    ("a dog to the left of a cat", "a dog above a cat", None),
    ("a hot dog", "an ice cream", None),
    ("a corgi", "a labrador", None),
    ("a park", "a skatepark", None),
    ("a big sign, 3 boats", "a big sign, 4 boats", None),
    ("a dog on a sofa", "a dog on a sofa", "unchanged"),
    ("a dog on a sofa", "an dog on the sofa", "unchanged"),
    ("a dog on a sofa", "a dog on a sofa.", "other capitals or marks"),
    ("a dog on a sofa", "a cat on a sofa.", "other capitals or marks"),
    ("a dog on a sofa", "a cat on a Sofa", "other capitals or marks"),
    ("a dog on a sofa", "a **cat** on a sofa", "other capitals or marks"),
    ("a dog on a sofa", "a dog on a sofa today", "no other word"),
    ("a small dog", "a dog", "no other word"),
    ("a cat sees a very very old dog", "a cat sees a very old dog", "no other word"),
    ("a dog", "", "no other word"),
    ("a dog on a sofa", "a cat on a chair", "changed more than one word"),
    ("a dog on a sofa", "a 犬 on a sofa", "another language"),
    ("a dog on a sofa", "a собака on a sofa", "another language"),
    ("a dog on a sofa", "a köpek on a sofa", "another language"),
    ("a dog on a sofa", "a perro on a sofa", "another language"),
    ("a köpek and a dog in a hut", "a dog and a köpek in a hut", "still true"),
    ("犬 と 猫", "犬 と dog", "another language"),
    ("a dog on a sofa", "a dogs on a sofa", "synonym"),
    ("a man sits", "a man sitting", "synonym"),
    ("a dog on a sofa", "a dog on a couch", "synonym"),
    ("a large dog", "a big dog", "synonym"),
    ("a truck on a road", "a lorry on a road", "paraphrase"),
    ("a dog and a cat", "a cat and a dog", "still true"),
    ("a black and white dog", "a white and black dog", "still true"),
    ("two dogs next to a cat", "two cats next to a dog", "still true"),
    ("a black dog and a white cat", "a white dog and a black cat", None),
    ("a dog on a cat", "a cat on a dog", None),
    ("two dogs chase an owl", "two owls chase a dog", None),
    ("a dog, a cat on a bus", "a bus, a dog on a cat", "changed more than one word"),
]


@pytest.mark.parametrize(("caption", "negative", "expected"), FAULTS)
def test_what_is_wrong_with_a_rewriting(caption, negative, expected):
    assert scripted({}).fault(Caption("1", None, caption), negative) == expected


def test_the_thresholds_fit_the_real_encoder():
    rewriter = QwenRewriter("script", engine=Script({}), encoder=SentenceEncoder())
    field = "two large elephants walk in the tall grass"
    for old, new, expected in [
        ("a dog runs on the beach", "a cat runs on the beach", None),
        ("a dog runs on the beach", "a puppy runs on the beach", "synonym"),
        ("a black dog", "a white dog", None),
        ("a man on a couch", "a man on a sofa", "synonym"),
        (field, field.replace("large", "small"), None),
        (field, field.replace("large", "big"), "synonym"),
        ("a dog left of a cat", "a dog right of a cat", None),
        ("a black dog and a white cat", "a white dog and a black cat", None),
    ]:
        assert rewriter.fault(Caption("1", None, old), new) == expected, (old, new)
    for settings, old, new, expected in [
        ({"synonym": 0.75}, "a black dog", "a white dog", "synonym"),
        ({"paraphrase": 0.9}, field, field.replace("large", "small"), "paraphrase"),
    ]:
        strict = QwenRewriter("script", engine=Script({}), encoder=rewriter.encoder, **settings)
        assert strict.fault(Caption("1", None, old), new) == expected


def test_english_words_are_known():
    for word in ["dogs", "t-shirt", "dog's", "colour", "selfie", "skatepark", "2", "3d", "ice-cream", "Dog"]:
        assert is_english(word), word


def test_foreign_words_are_not():
    for word in ["perro", "chien", "katze", "hunde", "sobaka", "köpek", "niño"]:
        assert not is_english(word), word
