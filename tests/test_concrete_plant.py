"""ConcretePlant against hand-written audits and rewritings, undisturbed runs and an independent reader."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from world_oracle import scene, see, still, told, true

from slipform_core.concrete_plant import ConcretePlant, audit
from slipform_core.concreteness import Norms, extract_keywords
from slipform_core.editors import RenderEditor
from slipform_core.emoji_world import World, captions
from slipform_core.records import Caption, Keyword
from slipform_core.rewriters import GrammarRewriter, SwapRewriter
from slipform_core.shards import read_manifest, read_samples
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


def some(count, world=WORLD, **settings):
    return list(captions(world, "train", count, seed=5, forward=0.6, **settings))


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


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


# ---- audit

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


# ---- the text stage


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
    kept, rejected = make(rewriter=rewriter, attempts=2, seed=0).negatives(rows)
    assert kept == []
    assert rejected == {reason: 2}
    assert rewriter.seeds == [0, 1]


def test_a_caption_without_covered_keyword_and_an_empty_one_are_counted():
    nothing = [Caption("1", None, "of the and"), Caption("2", None, "zzxqy"), Caption("3", None, " ")]
    kept, rejected = make(rewriter=Scripted("a cow")).negatives(nothing)
    assert kept == []
    assert rejected == {"no covered keyword": 2, "empty caption": 1}
    assert make("swap", rewriter=Scripted("a cow")).negatives([Caption("4", None, "a dog")]) == (
        [],
        {"no covered keyword": 1},
    )
    assert make().negatives([]) == ([], {})


def test_a_repeated_caption_of_a_picture_is_counted_and_not_written_twice(tmp_path):
    twice = [dog_and_bell(), dog_and_bell(), dog_and_bell(image_id="train-2")]
    report = make().run(twice, out=tmp_path, shard_captions=10)
    assert (report.kept, report.rejected) == (2, {"repeated caption": 1})
    assert [sample.record.image_id for sample in read_samples(tmp_path)] == ["train-000001", "train-2"]


def test_a_rewriting_that_fails_is_tried_again_with_another_draw():
    caption = Caption("1", None, "a dog")
    rewriter = Scripted("", "a dog", "a cow")
    kept, rejected = make(rewriter=rewriter, attempts=3, seed=0).negatives([caption])
    assert [record.negative_caption for _, record in kept] == ["a cow"]
    assert not rejected and rewriter.seeds == [0, 1, 2]
    assert make(rewriter=Scripted("", "a dog", "a cow"), attempts=2, seed=0).negatives([caption]) == (
        [],
        {"unchanged": 1},
    )


def test_an_unknown_choice_names_the_choices():
    with pytest.raises(ValueError, match="unknown choice 'hard'; the choices are: hc, lc, wo, swap"):
        make("hard")


@pytest.mark.parametrize("choose", CHOICES)
def test_every_record_says_what_was_changed_and_by_what(choose):
    norms = Norms.load("brysbaert")
    kept, rejected = make(choose).negatives(some(60))
    assert len(kept) + sum(rejected.values()) == 300
    assert len(kept) > 150
    for caption, record in kept:
        keyword, text = record.keyword, caption.text
        assert (record.image_id, record.caption) == (caption.image_id, text)
        assert text[keyword.start : keyword.end] == keyword.text
        assert record.provenance.rewriter == ("swap@1" if choose == "swap" else "grammar@1")
        assert record.provenance.editor == "render@1"
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


# ---- alone and together, killed and damaged


@pytest.mark.parametrize("choose", ["hc", "swap"])
def test_a_record_is_the_same_alone_in_a_batch_and_among_other_captions(tmp_path, choose):
    mine, others = some(8, each=1), list(captions(WORLD, "test", 12, seed=6, forward=0.6, each=1))
    batches = {"together": mine, "others": [*others[:5], *mine[::-1], *others[5:]]}
    batches |= {f"alone{index}": [caption] for index, caption in enumerate(mine)}
    found = {}
    for name, batch in batches.items():
        make(choose).run(batch, out=tmp_path / name, shard_captions=7)
        found[name] = {
            (one.record, one.picture.tobytes(), one.negative_picture.tobytes())
            for one in read_samples(tmp_path / name)
        }
    alone = set().union(*(found[name] for name in found if name.startswith("alone")))
    assert len(alone) > 3
    assert found["together"] == alone
    assert alone <= found["others"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """(folder, report) of a run of 60 captions in six shards."""
    folder = tmp_path_factory.mktemp("undisturbed")
    return folder, make().run(some(60, each=1), out=folder, shard_captions=10)


def test_a_run_again_makes_nothing_and_reports_the_same(undisturbed, tmp_path):
    folder, report = undisturbed
    assert len(list(folder.glob("*.tar"))) == 6 and len(files(folder)) == 7
    assert report.kept == sum(1 for _ in read_samples(folder)) == 60 - sum(report.rejected.values())
    shutil.copytree(folder, tmp_path / "copy")
    broken = make(picture=lambda caption: pytest.fail("a standing shard was made again"))
    again = broken.run(some(60, each=1), out=tmp_path / "copy", shard_captions=10)
    assert (again.kept, again.rejected) == (report.kept, report.rejected)
    assert files(tmp_path / "copy") == files(folder)
    make().run(some(60, each=1), out=tmp_path / "afresh", shard_captions=10)
    assert files(tmp_path / "afresh") == files(folder)


@pytest.mark.parametrize("after", [0, 1, 25, 59])
def test_a_run_broken_off_inside_resumes_to_the_same_bytes(undisturbed, tmp_path, after):
    calls = iter(range(after))

    def sometimes(caption):
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return picture(caption, side=64)

    with pytest.raises(KeyboardInterrupt):
        make(picture=sometimes).run(some(60, each=1), out=tmp_path, shard_captions=10)
    assert len(list(tmp_path.glob("*.tar"))) == after // 10 == len(read_manifest(tmp_path))
    report = make().run(some(60, each=1), out=tmp_path, shard_captions=10)
    assert files(tmp_path) == files(undisturbed[0])
    assert (report.kept, report.rejected) == (undisturbed[1].kept, undisturbed[1].rejected)


STUCK = """
import sys, time
sys.path.insert(0, sys.argv[2])
from pathlib import Path
import test_concrete_plant as tests
def stuck(caption):
    if caption.image_id == "train-000034":
        Path(sys.argv[1], "stuck").touch()
        time.sleep(600)
    return tests.picture(caption, side=64)
tests.make(picture=stuck).run(tests.some(60, each=1), out=Path(sys.argv[1]), shard_captions=10)
"""


def test_a_killed_run_resumes_to_the_same_bytes(undisturbed, tmp_path):
    tests = Path(__file__)
    command = [sys.executable, "-c", STUCK, str(tmp_path), str(tests.parent)]
    run = subprocess.Popen(command, cwd=tests.parents[1], stderr=subprocess.DEVNULL)
    try:
        for _ in range(3000):
            if (tmp_path / "stuck").exists() or run.poll() is not None:
                break
            time.sleep(0.05)
        assert run.poll() is None
    finally:
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
    (tmp_path / "stuck").unlink()
    assert len(list(tmp_path.glob("*.tar"))) == 3
    assert (tmp_path / "shard-00003.tar.partial").exists()
    make().run(some(60, each=1), out=tmp_path, shard_captions=10)
    assert files(tmp_path) == files(undisturbed[0])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGE = {
    "flipped": flip,
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-700]),
    "deleted": lambda path: path.unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_shard_is_found_and_made_again_and_no_other(undisturbed, tmp_path, damage):
    folder = tmp_path / "copy"
    shutil.copytree(undisturbed[0], folder)
    DAMAGE[damage](folder / "shard-00002.tar")
    asked = []

    def noted(caption):
        asked.append(caption.image_id)
        return picture(caption, side=64)

    make(picture=noted).run(some(60, each=1), out=folder, shard_captions=10)
    assert files(folder) == files(undisturbed[0])
    assert asked and all("train-000020" <= image_id < "train-000030" for image_id in asked)


def test_a_run_that_is_broken_off_again_forgets_no_later_shard(undisturbed, tmp_path):
    folder, asked = tmp_path / "copy", []
    shutil.copytree(undisturbed[0], folder)
    (folder / "shard-00001.tar").unlink()

    def noted(caption):
        asked.append(caption.image_id)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return picture(caption, side=64)

    with pytest.raises(KeyboardInterrupt):
        make(picture=noted).run(some(60, each=1), out=folder, shard_captions=10)
    make(picture=noted).run(some(60, each=1), out=folder, shard_captions=10)
    assert files(folder) == files(undisturbed[0])
    assert all("train-000010" <= image_id < "train-000020" for image_id in asked)


OTHERS = {
    "captions": lambda: (make(), some(60, each=2)[1::2], 10),
    "order": lambda: (make(), some(60, each=1)[::-1], 10),
    "scene": lambda: (make(), [moved(caption) for caption in some(60, each=1)], 10),
    "size": lambda: (make(), some(60, each=1), 11),
    "seed": lambda: (make(seed=8), some(60, each=1), 10),
    "choice": lambda: (make("lc"), some(60, each=1), 10),
    "top_k": lambda: (make(top_k=1), some(60, each=1), 10),
    "attempts": lambda: (make(attempts=1), some(60, each=1), 10),
    "norms": lambda: (make(norms=Norms.load("mrc")), some(60, each=1), 10),
    "rewriter": lambda: (make(rewriter=versioned(GrammarRewriter(WORLD))), some(60, each=1), 10),
    "editor": lambda: (make(editor=versioned(RenderEditor(WORLD))), some(60, each=1), 10),
}


def moved(caption: Caption) -> Caption:
    return replace(caption, scene=caption.scene | {"seed": caption.scene["seed"] + 1})


def versioned(made):
    made.version = made.version.replace("@1", "@2")
    return made


@pytest.mark.parametrize("other", OTHERS)
def test_a_shard_that_was_made_from_something_else_is_not_kept(undisturbed, tmp_path, other):
    plant, texts, size = OTHERS[other]()
    shutil.copytree(undisturbed[0], tmp_path / "used")
    for name in ("used", "fresh"):
        report = plant.run(texts, out=tmp_path / name, shard_captions=size)
    assert files(tmp_path / "used") == files(tmp_path / "fresh") | {
        name: content
        for name, content in files(undisturbed[0]).items()
        if name.endswith(".tar") and name not in {shard.name for shard in read_manifest(tmp_path / "fresh")}
    }
    assert report.kept == sum(1 for _ in read_samples(tmp_path / "used"))
    old = {shard.source for shard in read_manifest(undisturbed[0])}
    assert not old & {shard.source for shard in read_manifest(tmp_path / "used")}


def test_more_captions_keep_the_shards_that_stand(undisturbed, tmp_path):
    shutil.copytree(undisturbed[0], tmp_path / "copy")
    asked = Counter()

    def noted(caption):
        asked[caption.image_id] += 1
        return picture(caption, side=64)

    make(picture=noted).run(some(75, each=1), out=tmp_path / "copy", shard_captions=10)
    assert min(asked) >= "train-000060"
    manifest = read_manifest(tmp_path / "copy")
    assert [shard.captions for shard in manifest] == [10] * 7 + [5]


def test_small_worlds_and_large_pictures_work(tmp_path):
    for world, side, choose in ((World(12, 1.0), 64, "hc"), (World(12, 0.0), 96, "swap"), (WORLD, 128, "wo")):
        plant = make(choose, world, picture=partial(picture, side=side))
        out = tmp_path / choose
        report = plant.run(some(20, world, each=1), out=out, shard_captions=20)
        assert report.kept > 5
        for sample in read_samples(out):
            assert sample.picture.shape == sample.negative_picture.shape == (side, side, 3)
            assert sample.picture.dtype == np.uint8


def test_the_manifest_counts_add_up(undisturbed):
    folder, report = undisturbed
    rows = [json.loads(line) for line in (folder / "manifest.jsonl").read_text().splitlines()]
    assert sum(row["captions"] for row in rows) == 60
    assert all(row["captions"] == row["records"] + sum(row["rejected"].values()) for row in rows)
    assert sum((Counter(row["rejected"]) for row in rows), Counter()) == report.rejected
