"""Items of the world's benchmark against an independent reader of captions and still pictures."""

import re
from collections import Counter

import numpy as np
import pytest
from world_items import ADDED, KINDS, TRIPLES, experiment, pictured, rows, still_benchmark, still_views, texts
from world_oracle import RELATIONS, SIZES, content, state, true

from slipform_core.benchmarks import world_benchmark
from slipform_core.emoji_world import World, grammar

CONVERSE = {"left": "right", "right": "left", "above": "below", "below": "above"}

quiet = pytest.fixture(scope="module")(still_benchmark)
views = pytest.fixture(scope="module")(still_views)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_each_caption_is_true_of_its_own_picture_and_of_no_other(quiet, views, kind):
    # What an addition's picture shows is more, so that the own caption stays true of it.
    expected = (True, False, kind in ADDED, True)
    for pictures, (own, foil) in pictured(quiet, kind):
        picture, edited = (views[index] for index in pictures)
        truths = true(own, picture), true(foil, picture), true(own, edited), true(foil, edited)
        assert truths == expected, (own, foil)


def difference(own: str, foil: str) -> dict:
    """Part -> (what the caption says, what the foil says), for the parts that differ."""
    parts = []
    for said in map(state, (own, foil)):
        flat = {"relation": said.relation, "side": said.side, "place": said.place, "mood": said.mood}
        for index, thing in enumerate(said.things):
            flat |= {
                f"{part}{index}": value for part, value in zip(("noun", "colour", "size"), thing, strict=True)
            }
        parts.append(flat)
    assert set(parts[0]) == set(parts[1])
    return {part: (value, parts[1][part]) for part, value in parts[0].items() if value != parts[1][part]}


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        ("replace_obj", "noun"),
        ("replace_att", "colour"),
        ("replace_size", "size"),
        ("replace_place", "place"),
    ],
)
def test_a_replacement_changes_one_word_of_its_kind_to_one_that_is_not_shown(quiet, views, kind, part):
    seen = set()
    for pictures, (own, foil) in pictured(quiet, kind):
        [(slot, (_, put))] = difference(own, foil).items()
        assert slot.startswith(part)
        shown = views[pictures[0]].things
        if part != "place":  # which of the caption's things, and whether it is the left or upper one
            pair = [sum(shown[noun][2:]) for noun, _, _ in state(own).things[:2]]
            seen.add((slot, pair[int(slot[-1])] == min(pair)))
        if part == "noun":
            assert put not in shown
        elif part == "colour":
            assert put not in {thing[0] for thing in shown.values()}
    assert len(seen) == (0 if part == "place" else 4)


@pytest.mark.parametrize(("kind", "part"), [("swap_obj", "noun"), ("swap_att", "colour")])
def test_a_swap_exchanges_the_words_of_the_pair(quiet, kind, part):
    for own, foil in texts(quiet, kind):
        changed = difference(own, foil)
        assert set(changed) == {f"{part}0", f"{part}1"}
        assert changed[f"{part}0"] == changed[f"{part}1"][::-1]
        words = [sorted(re.findall(r"\w+", re.sub(r"\bAn?\b|\ban\b", "a", text))) for text in (own, foil)]
        assert words[0] == words[1]


def test_a_replaced_relation_is_any_other_direction_and_a_swapped_one_the_converse(quiet, views):
    draws = {}
    for kind in ("replace_rel", "swap_rel"):
        draws[kind] = Counter()
        for pictures, (own, foil) in pictured(quiet, kind):
            [(part, ((first, was, second), (one, now, other)))] = difference(own, foil).items()
            assert part == "relation" and (first, second) == (one, other)
            assert len(views[pictures[0]].things) == 2
            draws[kind][was, now] += 1
    assert set(draws["swap_rel"]) == set(CONVERSE.items())
    directions = set(CONVERSE)
    assert {was for was, _ in draws["replace_rel"]} == directions
    for was in directions:
        assert {now for stated, now in draws["replace_rel"] if stated == was} <= directions - {was}
    turned = sum(count for (was, now), count in draws["replace_rel"].items() if CONVERSE[was] != now)
    assert 0.4 < turned / draws["replace_rel"].total() < 0.9
    said = " ".join(text for pair in texts(quiet, "swap_rel") for text in pair)
    assert all(f" {surface} " in said for surface, means in RELATIONS.items() if means in CONVERSE)


def test_the_noun_pairs_in_relation_are_held_out_on_both_sides(quiet):
    world = World(88, 0.3)
    for kind in KINDS:
        for pair in texts(quiet, kind):
            for text in pair:
                (one, *_), (other, *_) = state(text).things[:2]
                assert world.held_out_pair(one, other), text


def test_an_exchange_that_stays_true_is_no_item(monkeypatch):
    for habit, often in {"and": 1.0, "colour": 0.0, "size": 0.0}.items():
        monkeypatch.setitem(grammar.HABITS, habit, often)
    there = {f"sugarcrepe/{kind}" for kind in ("add_obj", "add_att", "replace_obj", "replace_place")}
    assert set(world_benchmark(experiment()).subsets) == there | {"scpp/replace_obj"}


def added(own: str, foil: str) -> list[str]:
    """The words that a foil has more, articles as one word; they stand in one piece."""
    one, other = (re.findall(r"\w+|\.", re.sub(r"\b[Aa]n\b", "a", text).lower()) for text in (own, foil))
    more = len(other) - len(one)
    places = [at for at in range(len(one) + 1) if other[:at] + other[at + more :] == one]
    return other[places[0] : places[0] + more] if places else []


def test_an_added_attribute_is_a_colour_not_shown_of_a_thing_said_without_one(quiet, views):
    slots, sized = Counter(), 0
    for pictures, (own, foil) in pictured(quiet, "add_att"):
        shown = {thing[0] for thing in views[pictures[0]].things.values()}
        [(slot, (was, now))] = difference(own, foil).items()
        assert slot in ("colour0", "colour1") and was is None and now not in shown
        assert added(own, foil) == [now] and not re.search(rf"\b[Aa]n {now}\b", foil)
        noun, _, size = state(own).things[int(slot[-1])]
        spots = {thing: sum(views[pictures[0]].things[thing][2:]) for thing, *_ in state(own).things[:2]}
        slots[slot, spots[noun] == min(spots.values())] += 1  # said first or second, the left or upper or not
        sized += bool(size)
    assert len(slots) == 4 and min(slots.values()) > 5 and sized > 5


def test_an_added_object_is_one_not_shown_after_the_pair_and_new_to_its_neighbour(quiet, views):
    world, links = World(88, 0.3), Counter()
    for pictures, (own, foil) in pictured(quiet, "add_obj"):
        picture, edited = (views[index] for index in pictures)
        said, false = state(own), state(foil)
        link, article, noun = added(own, foil)
        assert (false.things, article) == ((*said.things, (noun, None, None)), "a")
        an = "an" if re.match("[aeio]|umb|hour", noun) else "a"
        assert len(picture.things) == 2 and noun not in picture.things
        assert (said.relation, said.place, said.mood) == (false.relation, false.place, false.mood)
        assert re.search(rf"\b{said.things[1][0]}\b.* {link} {an} {noun}(| on (the )?{said.place})\.?$", foil)
        assert world.held_out_pair(said.things[1][0], noun)
        links[link] += 1
        colour, *_ = edited.things[noun]
        assert colour not in {thing[0] for thing in picture.things.values()}
    assert set(links) == {"and", "with"} and min(links.values()) > 10


def test_an_addition_leaves_everything_else_in_place(quiet, views):
    for kind in sorted(ADDED):
        sides = set()
        for pictures, (own, foil) in pictured(quiet, kind):
            before, after = (views[index] for index in pictures)
            assert before.place == after.place
            new = set(after.things) - set(before.things)
            changed = [noun for noun in before.things if before.things[noun][:2] != after.things[noun][:2]]
            moved = {
                tuple(np.subtract(after.things[noun][2:], before.things[noun][2:])) for noun in before.things
            }
            if kind == "add_att":
                [part] = difference(own, foil)
                assert changed == [state(own).things[int(part[-1])][0]] and not new
                assert before.things[changed[0]][1] == after.things[changed[0]][1]
                assert moved == {(0, 0)}
            else:  # the pair makes room for the third as one
                assert not changed and len(new) == 1 and len(moved) == 1
                sides |= moved
        assert sides == ({(0, 16), (0, -16), (16, 0), (-16, 0)} if kind == "add_obj" else set())


@pytest.mark.parametrize("kind", sorted(TRIPLES))
def test_of_three_captions_two_state_the_same_and_the_third_is_false(quiet, views, kind):
    pairs, triples = quiet.subsets[f"sugarcrepe/{kind}"], quiet.subsets[f"scpp/{kind}"]
    assert (triples.captions[:, [0, 2]] == pairs.captions).all()
    assert (triples.pictures == pairs.pictures[:, :1]).all()
    assert (triples.clusters == pairs.clusters).all() and triples.words == pairs.words
    for [picture], (own, again, foil) in zip(triples.pictures, rows(quiet, f"scpp/{kind}"), strict=True):
        assert (true(own, views[picture]), true(again, views[picture])) == (True, True), again
        assert not true(foil, views[picture])
        assert content(own) == content(again) != content(foil)
        bare = [text.lower().rstrip(".") for text in (own, again)]
        assert bare[0] != bare[1]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_word_of_an_item_is_what_was_changed_or_added(quiet, kind):
    for word, (own, foil) in zip(quiet.subsets[f"sugarcrepe/{kind}"].words, texts(quiet, kind), strict=True):
        assert word == word.lower()
        if kind in ADDED:
            assert added(own, foil)[-1] == word
            continue
        before = [was[1] if isinstance(was, tuple) else was for was, _ in difference(own, foil).values()]
        if kind in ("swap_obj", "swap_att"):
            assert sorted(word.split("|")) == sorted(before)
            assert re.search(r"\b{}\b.*\b{}\b".format(*word.split("|")), own)
        else:
            assert [(SIZES | RELATIONS).get(word, word)] == before
            own_count, foil_count = (len(re.findall(rf"\b{word}\b", text)) for text in (own, foil))
            assert own_count == foil_count + 1 and f"to the {word}" not in own
