"""ConcretePlant against hand-written audits and rewritings, and an independent reader of its pictures."""

from dataclasses import replace
from functools import partial

import pytest
from world_oracle import scene, see, still, told, true

from slipform_core.audit import audit
from slipform_core.concrete_plant import ConcretePlant
from slipform_core.concreteness import Norms, extract_keywords
from slipform_core.editors import RenderEditor
from slipform_core.emoji_world import World, captions
from slipform_core.records import Caption, Keyword
from slipform_core.rewriters import GrammarRewriter, SwapRewriter
from slipform_core.shards import read_samples
from slipform_core.sources import picture

WORLD = World(88, 0.3)
CHOICES = ("hc", "lc", "wo", "swap")


def make(choose="hc", world=WORLD, **changes) -> ConcretePlant:
    settings = {
        "norms": Norms.load("brysbaert"),
        "choose": choose,
        "rewriter": (SwapRewriter if choose == "swap" else GrammarRewriter)(world),
        "editor": RenderEditor(world),
        "picture": partial(picture, side=64),
        "top_k": 3,
        "attempts": 8,
        "seed": 7,
    }
    return ConcretePlant(**settings | changes)


def negatives(plant, rows):
    part = plant.texts.part(rows)
    return part.kept, part.reasons


def some(count, world=WORLD, **settings):
    return list(captions(world, "train", count, seed=5, forward=0.6, **settings))


class Scripted:
    """A rewriter that answers from a table: seed -> rewriting."""

    version = "scripted@1"

    def __init__(self, *answers, fault=None):
        self.answers, self.why, self.seeds = answers, fault, []

    def rewrite(self, captions, keywords, *, seed):
        self.seeds.append(seed)
        return [self.answers[min(seed, len(self.answers) - 1)]] * len(captions)

    def fault(self, caption, negative):
        return self.why


DOG = "A small dog runs to the left of a cup."
AUDITS = [
    ("small", "A huge dog runs to the left of a cup.", None),
    ("small", "An old dog runs to the left of a cup.", None),
    ("dog", "A small owl runs to the left of a cup.", None),
    ("left", "A small dog runs above a cup.", None),
    ("left", "A small dog runs to the right of the cup", None),
    ("left", "A small dog runs next to a cup.", None),
    ("cup", "A small dog runs to the left of an orange.", None),
    ("small dog runs to the left of a cup", "A small cup runs to the left of a dog.", None),
    ("small", "", "empty"),
    ("small", " \n", "empty"),
    ("small", DOG, "unchanged"),
    ("small", "a small dog runs to the left of a cup", "unchanged"),
    ("small", "The small dog runs to the left of a cup.", "unchanged"),
    ("small", "A small owl runs to the left of a cup.", "changed more than the span"),
    ("small", "A huge owl runs to the left of a cup.", "changed more than the span"),
    ("small", "A huge dog runs to the left of the cup.", "changed more than the span"),
    ("dog", "A small owl runs to the left of a cup on snow.", "changed more than the span"),
    ("dog", "A small dog runs fast to the left of a cup.", "changed more than the span"),
    ("dog", "In snow a small owl runs to the left of a cup.", "changed more than the span"),
    ("small", "A dog runs to the left of a cup.", "changed more than the span"),
    ("cup", "A small dog runs to the left of a", "changed more than the span"),
    ("cup", "A small dog runs", "changed more than the span"),
    ("left", "A small dog runs to the of a cup.", "changed more than the span"),
    ("dog", "Sure: A small owl runs to the left of a cup.", "changed more than the span"),
]


@pytest.mark.parametrize(("word", "negative", "reason"), AUDITS)
def test_the_audit_says_why(word, negative, reason):
    start = DOG.index(word)
    target = Keyword(word, word, "NOUN", start, start + len(word), 4.0, "object")
    assert audit(DOG, target, negative) == reason


def test_the_audit_looks_at_words_not_at_letters():
    caption = "A man and a woman with a manual"
    target = Keyword("man", "man", "NOUN", 2, 5, 4.0, "object")
    assert audit(caption, target, "A boy and a woman with a manual") is None
    assert audit(caption, target, "A boy and a woboy with a boyual") == "changed more than the span"
    assert audit("a hot dog", Keyword("hot dog", "hot dog", "NOUN", 2, 9, 4.0, "object"), "a dog") is None
    assert audit("a dog", Keyword("dog", "dog", "NOUN", 2, 5, 4.0, "object"), "a hot dog") is None
    middle = Keyword("dog", "dog", "NOUN", 7, 10, 4.0, "object")
    assert audit("cup on dog cup", middle, "cup") == "changed more than the span"
    assert audit("a t-shirt on", Keyword("shirt", "shirt", "NOUN", 4, 9, 4.0, "object"), "a sock on") is None
    assert audit("a cup beside a dog", Keyword("beside", "beside", "ADP", 6, 12, 2.0, "relation"),
                 "a cup next to a dog") is None  # fmt: skip


def dog_and_bell(**fields) -> Caption:
    of = scene("blue dog large", "green bell small")
    return replace(told("a [dog|noun.0] [left of|relation.0.1] a [bell|noun.1]", of), **fields)


REASONS = [
    (" ", None, "empty"),
    ("a dog left of a bell", None, "unchanged"),
    ("a cow right of a bell", None, "changed more than the span"),
    ("a cow", "still true", "still true"),
    ("a cow", "held out", "held out"),
    ("a cow", "no edit of the caption", "no edit of the caption"),
]


@pytest.mark.parametrize(("answer", "fault", "reason"), REASONS, ids=[row[2] for row in REASONS])
def test_rejections_are_counted_by_reason(answer, fault, reason):
    rewriter = Scripted(answer, fault=fault)
    text = "a dog" if answer == "a cow" else "a dog left of a bell"
    rows = [Caption("1", None, text), Caption("2", None, text)]
    kept, rejected = negatives(make(rewriter=rewriter, attempts=2, seed=0), rows)
    assert kept == []
    assert rejected == {reason: 2}
    assert rewriter.seeds == [0, 1]


def test_a_caption_without_covered_keyword_and_an_empty_one_are_counted():
    nothing = [Caption("1", None, "of the and"), Caption("2", None, "zzxqy"), Caption("3", None, " ")]
    kept, rejected = negatives(make(rewriter=Scripted("a cow")), nothing)
    assert kept == []
    assert rejected == {"no word to choose": 2, "empty caption": 1}
    assert negatives(make("swap", rewriter=Scripted("a cow")), [Caption("4", None, "a dog")]) == (
        [],
        {"no word to choose": 1},
    )
    assert negatives(make(), []) == ([], {})


def test_a_repeated_caption_of_a_picture_is_counted_and_not_written_twice(tmp_path):
    twice = [dog_and_bell(), dog_and_bell(), dog_and_bell(image_id="train-2")]
    report = make().run(twice, out=tmp_path, shard_captions=10)
    assert (report.kept, report.rejected) == (2, {"repeated caption": 1})
    assert [sample.record.image_id for sample in read_samples(tmp_path)] == ["train-000001", "train-2"]


def test_a_rewriting_that_fails_is_tried_again_with_another_draw():
    caption = Caption("1", None, "a dog")
    rewriter = Scripted("", "a dog", "a cow")
    kept, rejected = negatives(make(rewriter=rewriter, attempts=3, seed=0), [caption])
    assert [record.negative_caption for _, record in kept] == ["a cow"]
    assert not rejected and rewriter.seeds == [0, 1, 2]
    assert negatives(make(rewriter=Scripted("", "a dog", "a cow"), attempts=2, seed=0), [caption]) == (
        [],
        {"unchanged": 1},
    )


def test_an_unknown_choice_names_the_choices():
    with pytest.raises(ValueError, match="unknown choice 'hard'; the choices are: hc, lc, wo, swap"):
        make("hard")


@pytest.mark.parametrize("choose", CHOICES)
def test_every_record_says_what_was_changed_and_by_what(choose):
    norms = Norms.load("brysbaert")
    kept, rejected = negatives(make(choose), some(60))
    assert len(kept) + sum(rejected.values()) == 300
    assert len(kept) > 150
    for caption, record in kept:
        keyword, text = record.keyword, caption.text
        assert (record.image_id, record.caption) == (caption.image_id, text)
        assert text[keyword.start : keyword.end] == keyword.text
        assert record.provenance.rewriter == ("swap@1" if choose == "swap" else "grammar@1")
        assert record.provenance.editor == ""
        assert audit(text, keyword, record.negative_caption) is None
        if choose == "swap":
            words = keyword.lemma.split("|")
            assert keyword.text.startswith(words[0]) and keyword.text.endswith(words[1])
            means = [norms.first(word) for word in words]
            assert keyword.concreteness == pytest.approx(sum(means) / 2)
        else:
            found = [one for one in extract_keywords(text) if one.start == keyword.start]
            assert found == [keyword]
            assert {"hc": keyword.concreteness >= 4, "lc": keyword.concreteness < 4, "wo": True}[choose]
    assert len({record.provenance.seed for _, record in kept}) > 0.95 * len(kept)
    assert len({record.record_id for _, record in kept}) == len(kept)


@pytest.mark.parametrize("choose", CHOICES)
def test_no_kept_negative_shows_a_held_out_composition(monkeypatch, tmp_path, choose):
    """By the pictures themselves, drawn without noise; the captions agree with them."""
    still(monkeypatch)
    make(choose).run(some(50, each=2), out=tmp_path, shard_captions=200)
    invisible = 0
    for sample in read_samples(tmp_path):
        record, old, new = sample.record, see(sample.picture), see(sample.negative_picture)
        assert true(record.caption, old) and true(record.negative_caption, new)
        if (sample.picture == sample.negative_picture).all():
            invisible += 1
        else:
            assert not true(record.negative_caption, old) and not true(record.caption, new)
        nouns = list(new.things)
        assert not any(WORLD.held_out_pair(one, other) for one in nouns for other in nouns if one < other)
        assert not any(WORLD.held_out_colour(noun) == new.things[noun][0] for noun in nouns)
    assert (invisible > 0) == (choose != "swap")  # "photo" is concrete, and yet nothing in the picture
