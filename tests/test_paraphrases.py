"""Paraphrases against the independent reader: the same stated, in other words, with nothing added."""

import re

import numpy as np
import pytest
from world_oracle import MOODS, RELATIONS, content, scene, state, told, told_captions, true, view

from slipform_core.emoji_world import grammar, paraphrase

TURNED = {
    "left": "right",
    "right": "left",
    "above": "below",
    "below": "above",
    "beside": "beside",
    "near": "near",
}


@pytest.fixture(scope="module")
def made():
    """(caption, its scene, a paraphrase), three of each caption."""
    rng = np.random.default_rng(3)
    every = told_captions(150, "test")
    return [(caption, of, paraphrase(caption, rng)) for caption, of in every for _ in range(3)]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def test_a_paraphrase_states_exactly_the_same_in_other_words(made):
    for caption, of, text in made:
        assert content(text) == content(caption.text), (caption.text, text)
        assert true(text, view(of))
        assert words(text) != words(caption.text)


def test_either_thing_comes_first_and_the_relation_turns_with_the_pair(made):
    turned = {word: [0, 0] for word in TURNED}
    for caption, _, text in made:
        said, again = state(caption.text), state(text)
        if not said.relation:
            continue
        (one, word, _), (other, new, _) = said.relation, again.relation
        exchanged = said.things[one][0] != again.things[other][0]
        assert new == (TURNED[word] if exchanged else word)
        turned[word][exchanged] += 1
    assert all(min(counts) > 10 for counts in turned.values()), turned
    first = np.mean([state(text).things[0][0] == of.things[0].noun for _, of, text in made])
    assert 0.45 < first < 0.55  # nearly five standard errors of 2,250 coins


def test_wordings_vary_as_captions_do(made):
    every = " | ".join(text.lower() for _, _, text in made)
    for phrase in (
        *RELATIONS,
        *MOODS,
        "tiny",
        "little",
        "huge",
        "big",
        "that is red",
        "there is",
        "a view of",
    ):
        assert re.search(rf"\b{phrase}\b", every), phrase
    assert re.search(r"\| on (the )?grass there is", every) and re.search(r"with [^|]* it\b", every)
    capital = np.mean([text[0].isupper() for _, _, text in made])
    stop = np.mean([text.endswith(".") for _, _, text in made])
    assert 0.4 < capital < 0.6 and 0.4 < stop < 0.6
    synonyms = {"small": "little", "little": "small", "over": "above", "above": "over"}
    for word, other in synonyms.items():
        assert any(word in words(c.text) and other in words(t) and word not in words(t) for c, _, t in made)


def test_what_is_not_said_stays_unsaid():
    of = scene("red dog large", "blue cup small", "pink owl small", place="sand")
    bare = told("a [dog|noun.0] and a [cup|noun.1]", of)
    full = told(
        "A [huge|size.0] [dog|noun.0] that is [red|colour.0] [next to|relation.0.1] a [cup|noun.1] and an "
        "[owl|noun.2] [below|side] them on [sand|place].",
        of,
    )
    rng = np.random.default_rng(1)
    said = {content(paraphrase(bare, rng)) for _ in range(60)}
    assert said == {(frozenset({("dog", None, None), ("cup", None, None)}), (), None, None, None)}
    said = {content(paraphrase(full, rng)) for _ in range(60)}
    pair = frozenset({("dog", "red", "large"), ("cup", None, None)})
    owl = (("owl", None, None),)
    assert said == {(pair, owl, ("beside", frozenset({"dog", "cup"})), "below", "sand")}


def test_it_differs_in_more_than_capital_and_stop_though_there_is_little_to_vary(monkeypatch):
    for habit in grammar.HABITS:
        monkeypatch.setitem(grammar.HABITS, habit, 0.0)
    caption = told("A [dog|noun.0] and a [cup|noun.1].", scene("red dog large", "blue cup small"))
    texts = {paraphrase(caption, np.random.default_rng(seed)).lower().rstrip(".") for seed in range(30)}
    assert texts == {"a cup and a dog"}


def test_it_is_a_function_of_caption_and_generator():
    every = [caption for caption, _ in told_captions(10)]
    one, same, other = (
        [paraphrase(caption, rng) for caption in every] for rng in map(np.random.default_rng, (1, 1, 2))
    )
    assert one == same != other
