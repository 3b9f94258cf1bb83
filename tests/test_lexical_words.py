"""Which words may be candidates, whatever their neighbours say of them: the rules one by one."""

from collections import Counter
from math import log

import pytest
from made_up_encoder import MadeUpEncoder
from test_lexical import candidates, source

from slipform_core.records import Caption, Keyword
from slipform_core.rewriters.lexical import Candidates
from slipform_core.rewriters.lexical import candidates as rules
from slipform_core.rewriters.lexical.kinds import ATTRIBUTES, NOUNS, VERBS, load, relations


@pytest.fixture(scope="module")
def found() -> Candidates:
    return candidates()


@pytest.fixture(autouse=True)
def _no_neighbours(monkeypatch):
    """Each word fits each place as far as its neighbours go."""
    monkeypatch.setattr(rules, "FIT", -99.0)


def key(text: str, word: str, pos="NOUN", lemma="", role="object") -> Keyword:
    start = text.index(word)
    return Keyword(word, lemma or word, pos, start, start + len(word), 4.0, role)


def words(found: Candidates, text: str, keyword: Keyword, said=()) -> list[str]:
    found._of_picture = lambda name: [text, *said]
    found._said.cache_clear()
    return [one.text for one in found.find(Caption("x", None, text), keyword)]


@pytest.mark.parametrize(("text", "word"), [("A dark-brown dog", "brown"), ("A brown-eyed dog", "brown")])
def test_a_part_of_a_word_on_either_side_of_the_hyphen(found, text, word):
    assert words(found, text, key(text, word, "ADJ", role="attribute")) == []
    plain = text.replace("-", " ")
    assert words(found, plain, key(plain, word, "ADJ", role="attribute"))


def test_the_likeliest_come_first_and_of_equals_by_the_alphabet(found):
    text = "A man sits on the bench"
    words(found, text, key(text, "bench"))
    rows = found.find(Caption("x", None, text), key(text, "bench"))
    assert rows == sorted(rows, key=lambda one: (-one.score, one.text))
    assert len({one.score for one in rows}) < len(rows)
    counts = Counter(word for caption in source() for word in caption.text.lower().split())
    for one in rows:
        fit = found.lexicon.fit(one.text, ["<s>", "a", "man", "sits", "on", "the"], ["</s>"])
        rarest = min(counts[word] for word in one.text.split())
        assert one.score == pytest.approx(fit + log(rarest + 1))


def test_a_colour_that_stands_for_a_thing_is_replaced_by_a_colour(found):
    text = "A man in the orange"
    colours = words(found, text, key(text, "orange"))
    assert {"black", "green"} <= set(colours) <= set(load()[ATTRIBUTES].kinds)


def test_general_words_replace_nothing(found):
    for text, word, general in (("The pelican", "pelican", "bird"), ("The grass", "grass", "snow")):
        others = words(found, text, key(text, word))
        assert others and general not in others
        assert general in load()[NOUNS].others(word)


def test_sides_are_exchanged_without_a_thing_and_other_relations_are_not(found):
    text = "A man on the left"
    assert words(found, text, key(text, "left", "NOUN", role="relation")) == ["right"]
    assert words(found, text, key(text, "on", "ADP", role="relation")) == []


def test_relations_to_a_thing_are_all_those_of_the_lists(found):
    text = "A bird stands under an old brown table"
    under = key(text, "under", "ADP", role="relation")
    assert set(words(found, text, under)) == set(relations()["under"])
    said = {*words(found, text, under)} - {*words(found, text, under, ["A bird next to a table"])}
    assert said == {"next to"}
    assert {*words(found, text, under)} == {*words(found, text, under, ["A bird next to a man"])}


@pytest.mark.parametrize(
    ("thing", "place"), [("beach", True), ("kitchen", True), ("table", False), ("fountain", False)]
)
def test_nobody_is_under_a_place(found, thing, place):
    text = f"A dog runs on the {thing}"
    others = set(words(found, text, key(text, "on", "ADP", role="relation")))
    assert others
    assert bool(others & {"under", "beneath", "over", "above"}) is not place


@pytest.mark.parametrize(
    ("text", "word", "relates"),
    [
        ("A man with his foot on the calf", "on", True),
        ("A man in a shirt", "in", False),
        ("A man with a bag on his shoulder", "on", False),
        ("A man on the telephone", "on", False),
        ("A dog in the snow", "in", True),
    ],
)
def test_what_may_be_beside_a_thing(found, text, word, relates):
    assert bool(words(found, text, key(text, word, "ADP", role="relation"))) is relates


def test_what_names_the_same_as_a_candidate_in_other_pictures_is_none(monkeypatch):
    """By the captions of the source: "squad" stands for "guy", which the lists say is a "man"."""
    found = candidates()
    told = {"guy": {"squad"}, "boy": {"crew"}}
    monkeypatch.setattr(found.lexicon, "substitutes", lambda word: told.get(word, set()))
    text = "The woman sits on a bench"
    free = set(words(found, text, key(text, "woman")))
    assert {"man", "boy"} <= free
    assert free - set(words(found, text, key(text, "woman"), ["A crew"])) == {"boy", "lad"}
    assert {"man", "guy"} <= free - set(words(found, text, key(text, "woman"), ["A squad"]))
    # a plural that the captions do not have has the singular that the lists know
    assert "man" not in words(found, text, key(text, "woman"), ["Some gentlemen"])


def test_phrases_that_a_caption_says_are_no_candidates(found):
    text = "The garden is calm"
    free = set(words(found, text, key(text, "garden")))
    assert free - set(words(found, text, key(text, "garden"), ["At a parking lot"])) == {"parking lot"}


def test_a_verb_stands_before_what_it_was_seen_before(found):
    text = "A man holds a bag"
    others = words(found, text, key(text, "holds", "VERB", "hold", "relation"))
    assert all(found.lexicon.follows(other, "a") for other in others)
    text = "A man holds on"
    others = words(found, text, key(text, "holds", "VERB", "hold", "relation"))
    assert all(found.lexicon.follows(other, "on") for other in others)
    assert set(load()[VERBS].others("hold")) and "holds" not in others


def test_a_noun_beside_a_noun_was_seen_there(found):
    text = "The park bench"
    assert words(found, text, key(text, "park")) == []
    assert words(found, text, key(text, "bench")) == []
    text = "The bench"
    assert words(found, text, key(text, "bench"))


@pytest.mark.parametrize("head", ["", "A man holds ", "A bird under "])
def test_a_bare_noun_was_seen_so_and_a_plural_needs_not(found, head):
    dog, dogs = ("dog", "dogs") if head else ("Dog", "Dogs")
    assert words(found, head + dog, key(head + dog, dog)) == []
    assert "cats" in words(found, head + dogs, key(head + dogs, dogs, lemma="dog"))


def test_the_encoder_is_not_asked_where_there_is_nothing_to_ask():
    encoder = MadeUpEncoder()
    found = candidates(encoder=encoder)
    assert words(found, "The dog", key("The dog", "dog"))
    before = len(encoder.encoded)
    text = "A quixotic vehicle"
    assert words(found, text, key(text, "vehicle")) == []
    assert len(encoder.encoded) == before
