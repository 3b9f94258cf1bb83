"""The render editor against hand-written scenes and an independent reader of pictures."""

import numpy as np
import pytest
from PIL import Image
from world_oracle import scene, see, still, told, true

from slipform_core.editors import EDITORS, RenderEditor
from slipform_core.emoji_world import Scene, World, captions, draw
from slipform_core.records import Keyword
from slipform_core.rewriters import GrammarRewriter

WORLD = World(88, 0.4)
PAIR = ("blue dog large", "green bell small")
THINGS = "[dog|noun.0] [above|relation.0.1] a [bell|noun.1]"


def blank(side=64):
    return Image.new("RGB", (side, side))


def rewritten(count):
    """(caption, rewritten caption, kind), each mention of a scene's first caption changed in its turn."""
    rewriter = GrammarRewriter(WORLD)
    for caption in captions(WORLD, "train", count, seed=6, forward=0.6, each=1):
        for start, end, slot in caption.scene["mentions"]:
            text = caption.text[start:end]
            target = Keyword(text, text, "NOUN", start, end, 4.0, "object")
            [negative] = rewriter.rewrite([caption], [target], seed=1)
            if negative != caption.text and text != "near":
                yield caption, negative, slot.split(".")[0]


@pytest.fixture
def caption():
    marked = f"a [strange|mood] [photo|medium] of a {THINGS} on [sand|place]"
    return told(marked, scene(*PAIR, place="sand", axis="above"))


def test_the_registry_names_it():
    assert EDITORS["render"](WORLD).version == "render@1"


@pytest.mark.parametrize("side", [64, 128])
def test_the_picture_of_the_edited_scene_with_the_records_own_noise(caption, side):
    owl = scene(PAIR[0], "green owl small", place="sand", axis="above")
    negatives = {
        "a strange photo of a dog above an owl on sand": owl,
        "a strange photo of a dog right of a bell on sand": scene(*reversed(PAIR), place="sand"),
        "a strange photo of a dog above a bell on snow": scene(*PAIR, place="snow", axis="above"),
    }
    for seed, (negative, expected) in enumerate(negatives.items()):
        [(edited, *_)] = RenderEditor(WORLD).edit([caption], [blank(side)], [negative], seeds=[seed])
        assert edited.size == (side, side)
        assert (np.asarray(edited) == draw(expected, side=side, seed=seed)).all()


def test_the_edited_picture_shows_the_rewritten_caption_and_not_the_old_one(monkeypatch):
    still(monkeypatch)
    count = 0
    for caption, negative, kind in rewritten(40):
        [(edited, *_)] = RenderEditor(WORLD).edit([caption], [blank()], [negative], seeds=[3])
        picture = draw(Scene.from_json(caption.scene), side=64, seed=4)
        assert true(caption.text, see(picture))
        assert true(negative, see(np.asarray(edited)))
        exclude = not true(negative, see(picture)) and not true(caption.text, see(np.asarray(edited)))
        assert exclude == (kind not in ("mood", "medium", "verb")), (caption.text, negative)
        count += exclude
    assert count > 100


def test_a_word_without_a_visible_referent_changes_the_noise_alone(caption, monkeypatch):
    editor, old = RenderEditor(WORLD), draw(Scene.from_json(caption.scene), side=64, seed=0)
    for negative in (caption.text.replace("strange", "odd"), caption.text.replace("photo", "view")):
        [(edited, *_)] = editor.edit([caption], [blank()], [negative], seeds=[0])
        assert (np.asarray(edited) == old).all()
        [(edited, *_)] = editor.edit([caption], [blank()], [negative], seeds=[1])
        assert (np.asarray(edited) != old).mean() > 0.5
    still(monkeypatch)
    [(edited, *_)] = editor.edit([caption], [blank()], [negative], seeds=[2])
    assert (np.asarray(edited) == draw(Scene.from_json(caption.scene), side=64, seed=0)).all()


def test_a_record_is_the_same_picture_alone_and_in_a_batch():
    rows = [(caption, negative) for caption, negative, _ in rewritten(6)]
    seeds = list(range(len(rows)))
    originals, negatives = zip(*rows, strict=True)
    editor = RenderEditor(WORLD)
    batch = [made.image for made in editor.edit(originals, [blank()] * len(rows), negatives, seeds=seeds)]
    for (caption, negative), seed, together in zip(rows, seeds, batch, strict=True):
        [(alone, *_)] = editor.edit([caption], [blank()], [negative], seeds=[seed])
        assert (np.asarray(alone) == np.asarray(together)).all()


def test_a_text_that_is_no_edit_is_named(caption):
    for text, message in {
        "a dog": "'a dog' is no edit of 'a strange",
        caption.text.replace("dog", "dragons"): "no picture of 'dragons'",
    }.items():
        with pytest.raises(ValueError, match=message):
            RenderEditor(WORLD).edit([caption], [blank()], [text], seeds=[1])


def test_there_is_a_seed_for_each_record(caption):
    with pytest.raises(ValueError, match="argument 4"):
        RenderEditor(WORLD).edit([caption], [blank()], [caption.text], seeds=[])
