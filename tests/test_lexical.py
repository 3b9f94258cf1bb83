"""The lexical rewriter on captions that are made up for it, with an encoder that says what it is told."""

from collections import Counter
from math import log
from types import SimpleNamespace

import numpy as np
import pytest
from made_up_encoder import MadeUpEncoder

from slipform_core.audit import audit
from slipform_core.concreteness import Norms, extract_keywords
from slipform_core.records import Caption
from slipform_core.rewriters.lexical import Candidates, LexicalRewriter, Lexicon
from slipform_core.rewriters.lexical import lexicon as lexicons

NORMS = Norms.load("brysbaert")

# Pictures, each with its captions: enough of each sentence that words have neighbours.
PICTURES = [
    *(["A dog runs in the park", "A brown dog runs on the grass"] for _ in range(6)),
    *(["A cat sleeps on a sofa", "An old cat on a couch"] for _ in range(6)),
    *(["A horse runs in the field", "A brown horse near a fence"] for _ in range(6)),
    *(["A man sits on a bench", "A guy sits on a red bench"] for _ in range(6)),
    *(["A woman sits on a chair", "A lady on a blue chair"] for _ in range(6)),
    *(["Two boys play with a ball", "Two kids play with a white ball"] for _ in range(6)),
    *(["Two dogs play with a frisbee", "Two black dogs in a park"] for _ in range(6)),
    *(["A man in a blue shirt", "A man wearing an orange shirt"] for _ in range(6)),
    *(["A man in a red jacket holds a bag", "A man with an umbrella"] for _ in range(6)),
    *(["A bird stands under a table", "A bird behind a table"] for _ in range(6)),
]


def source(pictures=PICTURES) -> list[Caption]:
    return [Caption(f"p{row}", None, text) for row, texts in enumerate(pictures) for text in texts]


def candidates(pictures=PICTURES, encoder=None) -> Candidates:
    rows = source(pictures)
    lexicon = Lexicon(lambda: rows, len(rows), NORMS)
    return Candidates(
        lexicon, encoder or MadeUpEncoder(), lambda name: pictures[int(name[1:])] if name != "x" else []
    )


@pytest.fixture(scope="module")
def found() -> Candidates:
    return candidates()


def keyword(text: str, word: str):
    return next(one for one in extract_keywords(text, NORMS) if one.text == word)


def words(found: Candidates, text: str, word: str, said=()) -> list[str]:
    """The candidates for a word of a caption, whose picture has other captions too."""
    of_picture, found._of_picture = found._of_picture, lambda name: [text, *said]
    found._said.cache_clear()
    try:
        return [one.text for one in found.find(Caption("x", None, text), keyword(text, word))]
    finally:
        found._of_picture = of_picture
        found._said.cache_clear()


def test_a_word_is_replaced_by_one_of_its_kind_in_its_form(found):
    assert set(words(found, "A man sits on a bench", "bench")) == {"sofa", "couch", "chair", "table"}
    assert words(found, "A dog runs in the park", "dog") == ["cat"]
    plural = words(found, "Two dogs play with a ball", "dogs")
    assert "cats" in plural and "bunnies" in plural and "cat" not in plural


def test_no_candidate_is_said_by_any_caption_of_the_picture(found):
    assert "cat" in words(found, "A dog runs in the park", "dog")
    assert "cat" not in words(found, "A dog runs in the park", "dog", ["There is a cat too"])
    assert "cat" not in words(found, "A dog runs in the park", "dog", ["Two cats on a couch"])
    # a kitten is a cat: the lists say so
    assert "cat" not in words(found, "A dog runs in the park", "dog", ["A kitten"])


def test_what_other_captions_of_pictures_call_it_is_no_candidate(found):
    """A guy in one caption of a picture is the man of the other; the boys are the kids."""
    assert found.lexicon.substitutes("man") >= {"guy"}
    assert not {"guy", "man"} & set(words(found, "A man sits on a bench", "man"))
    # the boys of one caption are the kids of the other
    assert "boys" not in words(found, "Two dogs play with a ball", "dogs", ["Two kids"])


def test_the_encoder_keeps_synonyms_and_strangers_out():
    encoder = MadeUpEncoder({"cat": ("dog", 0.95)})
    assert "cat" not in words(candidates(encoder=encoder), "A dog runs in the park", "dog")
    encoder = MadeUpEncoder({"cat": ("dog", 0.05)})
    assert "cat" not in words(candidates(encoder=encoder), "A dog runs in the park", "dog")
    encoder = MadeUpEncoder({"cat": ("dog", 0.6)})
    assert "cat" in words(candidates(encoder=encoder), "A dog runs in the park", "dog")


def test_a_noun_that_is_not_listed_has_the_kind_of_its_neighbours():
    near = {"ottoman": ("chair", 0.9)}
    encoder = MadeUpEncoder(near | {"sofa": ("chair", 0.8), "bench": ("chair", 0.8), "couch": ("chair", 0.8)})
    assert "bench" in words(candidates(encoder=encoder), "A man sits on an ottoman", "ottoman")
    assert words(candidates(), "A man sits on an ottoman", "ottoman") == []


def test_general_words_are_neither_replaced_nor_replacements(found):
    assert words(found, "A vehicle in the park", "vehicle") == []
    for word in ("man", "woman", "boy"):
        text = f"A {word} sits on a bench"
        assert not {"person", "people", "child", "kid", "baby"} & set(words(found, text, word))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("A man in a blue shirt", "in"),
        ("A dog runs in winter", "in"),
        ("A man on the phone", "on"),
    ],
)
def test_relations_that_tell_no_place_are_left_alone(found, text, word):
    assert words(found, text, word) == []


def test_relations_are_exchanged_for_ones_that_exclude_them(found):
    assert set(words(found, "A bird stands under a table", "under")) <= {
        "on",
        "above",
        "over",
        "behind",
        "beside",
        "next to",
    }
    assert "behind" not in words(found, "A bird under a table", "under", ["A bird behind a table"])
    assert "under" not in words(found, "A dog runs on the beach", "on")


def test_a_part_of_a_hyphenated_word_is_left_alone(found):
    text = "A dark-brown dog"
    parts = [one for one in extract_keywords(text, NORMS) if one.text == "brown"]
    assert parts
    assert found.find(Caption("x", None, text), parts[0]) == []


def rewriter(found) -> LexicalRewriter:
    return LexicalRewriter(found)


def rewritten(found, seed=3):
    captions = [caption for caption in source() if extract_keywords(caption.text, NORMS)]
    targets = [extract_keywords(caption.text, NORMS)[0] for caption in captions]
    return captions, targets, rewriter(found).rewrite(captions, targets, seed=seed)


def test_rewritings_pass_the_audit_and_agree_with_their_article(found):
    captions, targets, texts = rewritten(found)
    changed = 0
    for caption, target, text in zip(captions, targets, texts, strict=True):
        if text != caption.text:
            changed += 1
            assert audit(caption.text, target, text) is None, (caption.text, text)
            for one, other in zip(text.split(), text.split()[1:], strict=False):
                if one.lower() in ("a", "an"):
                    assert (one.lower() == "an") == (other[0] in "aeiou"), text
            assert text[0].isupper()
    assert changed > 60


def test_a_record_is_the_same_alone_and_in_a_batch_and_differs_by_seed(found):
    captions, targets, texts = rewritten(found)
    alone = [
        rewriter(found).rewrite([caption], [target], seed=3)[0]
        for caption, target in zip(captions, targets, strict=True)
    ]
    assert alone == texts
    assert rewritten(found, seed=4)[2] != texts


def test_draws_follow_the_softmax_of_the_scores(found):
    text = "A man sits on a bench"
    target = keyword(text, "bench")
    scores = {one.text: one.score for one in found.find(Caption("p18", None, text), target)}
    assert len(scores) > 1
    counts = Counter(
        rewriter(found).rewrite([Caption("p18", None, text)], [target], seed=seed)[0].split()[-1]
        for seed in range(2000)
    )
    total = sum(np.exp(list(scores.values())))
    for word, score in scores.items():
        expected = np.exp(score) / total
        # four standard errors of 2,000 draws
        assert abs(counts[word] / 2000 - expected) < 4 * np.sqrt(expected * (1 - expected) / 2000) + 1e-9


def test_a_word_without_candidates_leaves_the_caption(found):
    text = "A quixotic vehicle"
    target = keyword(text, "vehicle")
    assert rewriter(found).rewrite([Caption("x", None, text)], [target], seed=0) == [text]
    assert rewriter(found).fault(Caption("x", None, text), "anything") is None


def test_associations_against_a_slow_count(found):
    lexicon = found.lexicon
    texts = [["<s>", *("a" if w == "an" else w for w in c.text.lower().split()), "</s>"] for c in source()]
    flat = [word for text in texts for word in text]
    left, right = ["<s>", "a", "man", "sits"], ["a", "bench", "</s>"]
    for word in ("on", "behind", "under"):
        slow = 0.0
        for one, other, distance in [
            ("sits", word, 1),
            ("man", word, 2),
            (word, "a", 1),
            (word, "bench", 2),
        ]:
            seen = sum(
                text[place : place + distance + 1 : distance] == [one, other]
                for text in texts
                for place in range(len(text) - distance)
            )
            expected = flat.count(one) * flat.count(other) / len(flat)
            slow += log((seen + 0.5) / (expected + 0.5))
        assert lexicon.fit(word, left, right) == pytest.approx(slow)


def test_substitutes_against_a_slow_count(found):
    pictures = [
        [{k.lemma.lower() for k in extract_keywords(text, NORMS)} for text in texts] for texts in PICTURES
    ]
    lemmas = sorted(set().union(*(lemma for picture in pictures for lemma in picture)))
    for one in lemmas:
        slow = set()
        for other in lemmas:
            has = [
                (any(one in c for c in p), any(other in c for c in p), any({one, other} <= c for c in p))
                for p in pictures
            ]
            n1, n2 = sum(a for a, _, _ in has), sum(b for _, b, _ in has)
            count = sum(a and b and not both for a, b, both in has)
            chance = n1 * n2 / len(pictures)
            if one != other and count >= 5 and count >= 0.15 * min(n1, n2) and count >= chance:
                slow.add(other)
        assert found.lexicon.substitutes(one) == slow, one


def test_a_lexicon_reads_whole_pictures_of_a_large_source(monkeypatch):
    monkeypatch.setattr(lexicons, "CAPTIONS", 40)
    rows = source()
    read = list(lexicons._sample(lambda: rows, len(rows)))
    assert 10 < len(read) < 80
    assert {row.image_id for row in read}.isdisjoint({row.image_id for row in rows if row not in read})
    assert read == list(lexicons._sample(lambda: rows, len(rows)))


def test_the_version_names_what_was_read(found):
    assert rewriter(found).version == f"lexical@1-{found.lexicon.version}-made-up"
    judge = SimpleNamespace(version="judge")
    assert LexicalRewriter(found, judge).version == f"{rewriter(found).version}-judge"
    encoder = MadeUpEncoder()
    encoder.version = "other"
    assert rewriter(candidates(encoder=encoder)).version != rewriter(found).version
    other = source([*PICTURES[1:], ["A goat"]])
    assert Lexicon(lambda: other, len(other), NORMS).version != found.lexicon.version
