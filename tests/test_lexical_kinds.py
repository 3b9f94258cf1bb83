"""The lists of the lexical rewriter, and the forms of words."""

import pytest
from made_up_encoder import MadeUpEncoder

from slipform_core.records import Keyword
from slipform_core.rewriters.lexical.forms import form_of, indefinite, inflected, part_of, singular
from slipform_core.rewriters.lexical.kinds import ATTRIBUTES, NOUNS, RELATIONS, VERBS, Kinds, load, relations
from slipform_core.rewriters.lexical.neighbours import Neighbours


def test_every_line_has_words_that_may_replace_each_other():
    for kinds in load().values():
        for word in kinds.words:
            assert isinstance(word, str)
            assert kinds.others(word) or word in kinds.general, word


def test_on_and_off_are_words():
    assert {"on", "off"} <= set(relations())
    assert all(isinstance(other, str) for others in relations().values() for other in others)


def test_what_names_the_same_thing_never_replaces_it():
    for kinds in load().values():
        for word in kinds.words:
            others = kinds.others(word)
            assert word not in others
            assert not kinds.alike(word) & set(others)
            assert all(word in kinds.alike(other) for other in kinds.alike(word)), word


def test_coarse_classes_are_kept_apart():
    kinds = load()[NOUNS]
    of = {word: {kind.coarse for kind in found} for word, found in kinds.kinds.items()}
    for word in kinds.words:
        assert all(of[word] & of[other] for other in kinds.others(word)), word
    assert of["dog"] == of["woman"] == {"animate"}
    assert of["beach"] == of["kitchen"] == {"place"}
    assert of["bench"] == of["pizza"] == {"object"}
    assert {kind.coarse for kind in load()[ATTRIBUTES].kinds["red"]} == {"colour"}


def test_a_general_word_covers_what_names_the_same_as_what_it_covers():
    kinds = Kinds({"animate": {"person": "man/guy woman person"}}, {"person": "man"})
    assert kinds.alike("guy") == {"man", "guy", "person"}
    assert kinds.alike("person") == {"person", "man", "guy"}
    assert kinds.others("guy") == ["woman"]
    assert kinds.general == {"person"}


def test_relations_exclude_each_other():
    for word, others in relations().items():
        assert word not in others
        assert others


def key(text, lemma, pos, role="object"):
    return Keyword(text, lemma, pos, 0, len(text), 4.0, role)


@pytest.mark.parametrize(
    ("keyword", "before", "part", "form"),
    [
        (key("dogs", "dog", "NOUN"), "two", NOUNS, "plural"),
        (key("dog", "dog", "NOUN"), "a", NOUNS, "singular"),
        (key("People", "people", "NOUN"), "<s>", NOUNS, "plural"),
        (key("teddy bears", "teddy bear", "NOUN"), "two", NOUNS, "plural"),
        (key("red", "red", "ADJ", "attribute"), "a", ATTRIBUTES, "base"),
        (key("running", "run", "VERB", "relation"), "is", VERBS, "ing"),
        (key("runs", "run", "VERB", "relation"), "dog", VERBS, "s"),
        (key("Hold", "hold", "VERB", "relation"), "<s>", VERBS, "base"),
        (key("press", "press", "VERB", "relation"), "men", VERBS, "base"),
        (key("held", "hold", "VERB", "relation"), "is", VERBS, "participle"),
        (key("held", "hold", "VERB", "relation"), "man", VERBS, "past"),
        (key("left", "left", "NOUN", "relation"), "the", RELATIONS, "base"),
        (key("next to", "next", "ADP", "relation"), "is", RELATIONS, "base"),
    ],
)
def test_forms(keyword, before, part, form):
    assert part_of(keyword) == part
    if part != RELATIONS:
        assert form_of(keyword, part, before) == form


@pytest.mark.parametrize(
    ("word", "form", "expected"),
    [
        ("man", "plural", "men"),
        ("bench", "plural", "benches"),
        ("bench", "singular", "bench"),
        ("pants", "singular", None),
        ("pants", "plural", "pants"),
        ("run", "ing", "running"),
        ("ride", "ing", "riding"),
        ("catch", "s", "catches"),
        ("run", "past", None),
        ("run", "participle", None),
        ("red", "base", "red"),
    ],
)
def test_a_word_that_captions_lack_is_inflected_by_rule_where_a_rule_is_safe(word, form, expected):
    assert inflected(word, form) == expected


def test_a_singular_is_its_own():
    assert [singular(word) for word in ("dogs", "dog", "men", "benches")] == ["dog", "dog", "man", "bench"]


def test_articles_go_by_the_sound():
    words = ("owl", "unicycle", "hour", "European car", "umbrella")
    assert [indefinite(word) for word in words] == ["an", "a", "an", "a", "an"]


def test_neighbours_ask_three_listed_words_that_agree():
    kinds = Kinds({"object": {"seat": "chair sofa bench", "cup": "mug bowl jar"}}, {})
    encoder = MadeUpEncoder({"stool": ("chair", 0.9), "sofa": ("chair", 0.9), "bench": ("chair", 0.9)})
    neighbours = Neighbours(kinds, encoder, unlisted=True)
    assert [kind.name for kind in neighbours.kinds_of("stool")] == ["seat"]
    assert [kind.name for kind in neighbours.kinds_of("bar stool")] == ["seat"]
    assert [kind.name for kind in neighbours.kinds_of("mug")] == ["cup"]
    assert neighbours.kinds_of("quark") == []
    assert Neighbours(kinds, encoder, unlisted=False).kinds_of("stool") == []


def test_each_word_is_encoded_once():
    encoder = MadeUpEncoder()
    neighbours = Neighbours(Kinds({"object": {"seat": "chair sofa bench"}}, {}), encoder, unlisted=True)
    neighbours.learn(["stool", "throne"])
    for _ in range(3):
        neighbours.kinds_of("stool")
        neighbours.alike("stool", ["throne", "chair"])
    assert sorted(encoder.encoded) == ["bench", "chair", "sofa", "stool", "throne"]
