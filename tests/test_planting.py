"""Planting of made-up photographs: whole, in shares, by stages, killed, of odd captions and pictures."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from made_up_encoder import MadeUpEncoder
from photo_task import planted, write_task
from PIL import Image

from slipform_core import planting, sentences
from slipform_core.audit import audit
from slipform_core.concrete_plant import rejections
from slipform_core.concrete_plant.parts import Share
from slipform_core.config import load_recipe
from slipform_core.mistakes import Mistake
from slipform_core.shards import read_manifest, read_samples
from slipform_core.sources import photos
from slipform_core.sources.photographs import read, square

# Kills of a run that the test makes; twenty and more are a measurement (SLIPFORM_KILLS=20).
KILLS = int(os.environ.get("SLIPFORM_KILLS", "2"))


@pytest.fixture(autouse=True)
def _own_encoder(monkeypatch):
    monkeypatch.setattr(sentences, "encoder", sentences.encoder)


@pytest.fixture(scope="module")
def task(tmp_path_factory) -> Path:
    return write_task(tmp_path_factory.mktemp("task"))


@pytest.fixture(scope="module")
def undisturbed(task, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentences, "encoder", sentences.encoder)
        return folder, planted(task, folder)


def files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_every_record_is_audited_and_says_where_both_pictures_are_from(task, undisturbed):
    folder, report = undisturbed
    samples = list(read_samples(folder))
    assert len(samples) == report.kept > 20
    assert report.kept + report.rejected.total() == 120
    for sample in samples:
        record = sample.record
        assert audit(record.caption, record.keyword, record.negative_caption) is None
        assert record.negative_image_path not in (None, record.image_path)
        assert record.provenance.rewriter.startswith("lexical@1-")
        assert record.provenance.editor.startswith("retrieve@2-")
        for path, pixels in (
            (record.image_path, sample.picture),
            (record.negative_image_path, sample.negative_picture),
        ):
            whole = np.asarray(square(Image.open(task.parent / path), 32)).astype(int)
            # both by one way of resampling and JPEG of quality 95
            assert abs(whole - pixels).mean() < 6


def test_what_is_rejected_says_why_and_which_word(undisturbed):
    folder, report = undisturbed
    found = list(rejections(folder))
    assert len(found) == report.rejected.total() > 0
    assert all(one.word and one.negative_caption for one in found if one.reason == "no other photo fits")


def test_shares_of_several_processes_make_the_same(task, undisturbed, tmp_path):
    for index in (2, 0, 1):
        planted(task, tmp_path, share=Share(index, 3))
    assert files(tmp_path) == files(undisturbed[0])


def test_stages_one_after_the_other_make_the_same(task, undisturbed, tmp_path):
    texts = planted(task, tmp_path, stages=("text",))
    assert not read_manifest(tmp_path)
    assert texts.kept + texts.rejected.total() == 120 and texts.kept > undisturbed[1].kept
    planted(task, tmp_path, stages=("pictures",))
    assert files(tmp_path) == files(undisturbed[0])


def test_a_run_again_reads_no_words_and_encodes_nothing(task, undisturbed, tmp_path, monkeypatch):
    shutil.copytree(undisturbed[0], tmp_path / "copy")
    lexicon = "slipform_core.rewriters.lexical.lexicon.extract_keywords_batch"
    monkeypatch.setattr(lexicon, lambda *_: pytest.fail("words were read again"))
    monkeypatch.setattr(MadeUpEncoder, "encode", lambda *_: pytest.fail("encoded again"))
    report = planted(task, tmp_path / "copy")
    assert (report.kept, report.rejected) == (undisturbed[1].kept, undisturbed[1].rejected)
    assert files(tmp_path / "copy") == files(undisturbed[0])


def test_a_limit_is_of_the_first_captions(task, tmp_path):
    report = planted(task, tmp_path, limit=7)
    assert report.kept + report.rejected.total() == 7


def test_killed_at_random_points_it_ends_as_if_undisturbed(task, undisturbed, tmp_path):
    script = Path(__file__).with_name("photo_task.py")
    command = [sys.executable, str(script), str(task), str(tmp_path)]
    draw, kills = random.Random(5), 0
    started = time.monotonic()
    subprocess.run(command, cwd=script.parents[1], check=True, stderr=subprocess.DEVNULL)
    whole = time.monotonic() - started
    assert files(tmp_path) == files(undisturbed[0])
    for _ in range(KILLS):
        for path in sorted(tmp_path.rglob("*"))[draw.randrange(6) :: 3]:
            if path.is_file():
                path.unlink()
        run = subprocess.Popen(command, cwd=script.parents[1], stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(0.3, 1.0) * whole)
        if run.poll() is None:
            os.kill(run.pid, signal.SIGKILL)
            kills += 1
        run.wait()
    subprocess.run(command, cwd=script.parents[1], check=True, stderr=subprocess.DEVNULL)
    left = {name: data for name, data in files(tmp_path).items() if not name.endswith(".partial")}
    assert left == files(undisturbed[0])


ODD = {
    "": "empty caption",
    "The <b>dog</b> runs in the park near a red car": "markup in the caption",
    "a dog &amp; a cat in the park": "markup in the caption",
    "une \ufffd dog": "unreadable characters",
    "\u72ac\u304c\u516c\u5712\u3067\u8d70\u308b": "no word to choose",
    "\U0001f436\U0001f408": "no word to choose",
    "of the and": "no word to choose",
}


def test_odd_captions_are_handled_or_counted_with_a_reason(task, tmp_path):
    rows = [line.split(",", 1) for line in task.read_text().splitlines()[1:]]
    odd = [
        *ODD,
        "A dog runs in the park \U0001f436 near a red car",
        "A dog\truns in\nthe park near a red car",
        "A dog and a dog in a park",
        "A dog and a dog in a park",
        "A dog runs in the park " * 100,
        "very " * 80 + "near a dog in a park",
    ]
    lines = [{"image": "pictures/000.jpg", "caption": text} for text in odd]
    lines += [{"image": name, "caption": text} for name, text in rows[2:]]
    path = task.parent / "odd.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    planted(path, tmp_path, stages=("text",))
    mine = [one for one in rejections(tmp_path) if one.caption.image_id == "pictures/000.jpg"]
    reasons = {one.caption.text: one.reason for one in mine}
    for text, reason in ODD.items():
        assert reasons[" ".join(text.split())] == reason
    assert sum(one.reason == "repeated caption" for one in mine) == 1
    long = " ".join(odd[-2].split())
    assert reasons.get(long, "") in ("", "unchanged", "past 77 CLIP tokens")
    assert reasons["very " * 80 + "near a dog in a park"] in ("past 77 CLIP tokens", "unchanged")
    assert "A dog runs in the park near a red car" not in reasons


def test_odd_pictures_are_handled_or_counted_and_stop_nothing(tmp_path):
    path = write_task(tmp_path / "task", pictures=40)
    folder = path.parent / "pictures"
    Image.new("RGB", (1, 1)).save(folder / "000.jpg")
    (folder / "001.jpg").write_bytes((folder / "001.jpg").read_bytes()[:500])
    (folder / "002.jpg").unlink()
    Image.new("L", (64, 64), 80).save(folder / "003.jpg")
    Image.new("CMYK", (64, 64)).save(folder / "004.jpg")
    Image.new("RGB", (20_000, 40), "green").save(folder / "005.jpg")
    report = planted(path, tmp_path / "out")
    assert {"tiny picture", "damaged picture", "missing picture"} <= set(report.rejected)
    kept = {sample.record.image_path for sample in read_samples(tmp_path / "out")}
    assert not kept & {f"pictures/00{number}.jpg" for number in range(3)}
    assert kept & {f"pictures/00{number}.jpg" for number in range(3, 6)}
    assert report.kept + report.rejected.total() == 80


def test_another_photo_that_is_damaged_or_gone_is_left_for_the_next(tmp_path):
    path = write_task(tmp_path / "task", pictures=40)
    planted(path, tmp_path / "out")
    taken = sorted({sample.record.negative_image_path for sample in read_samples(tmp_path / "out")})
    for name in taken[::2]:
        (path.parent / name).write_bytes(b"")
    for name in taken[1::4]:
        (path.parent / name).unlink()
    again = planted(path, tmp_path / "again")
    assert again.kept > 3
    used = {sample.record.negative_image_path for sample in read_samples(tmp_path / "again")}
    assert not used & {*taken[::2], *taken[1::4]}


def test_swaps_need_no_encoder_for_their_words(task, tmp_path):
    planted(task, tmp_path, "choose=swap", stages=("text",))
    assert {one.reason for one in rejections(tmp_path)} <= {"no word to choose", "still true", "unchanged"}


def test_an_outlook_writes_nothing(task, tmp_path):
    recipe = load_recipe("photo", "", Path(__file__).parents[1] / "notebooks/params/plant")
    made = planting.Planting(recipe, photos(task), tmp_path / "out")
    seen = planting.outlook(made)
    assert (seen.captions, seen.opened, seen.faults) == (120, 50, {})
    assert seen.roles.total() > 100
    assert 2 < seen.concreteness < 5
    assert "the first 120 captions" in str(seen) and "nothing was written" in str(seen)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("editor.steps=1 editor.strength=0.8", "steps 1 x strength 0.8"),
        ("rewriter.model=no/such/folder", "there is no folder 'no/such/folder'"),
    ],
)
def test_settings_are_checked_before_anything_is_loaded(settings, message):
    recipe = load_recipe(
        "paper",
        f"rewriter.engine=transformers {settings}",
        Path(__file__).parents[1] / "notebooks/params/plant",
    )
    with pytest.raises((Mistake, OSError), match=message):
        planting.check(recipe)


def test_stages_and_shares_are_read_or_refused():
    assert planting.stages("all") == ("text", "pictures")
    assert planting.stages("text") == ("text",)
    assert planting.share("2/8") == Share(1, 8)
    with pytest.raises(Mistake, match="unknown stage 'txt'; the choices are: all, text, pictures"):
        planting.stages("txt")
    for text in ("0/2", "3/2", "1-2", ""):
        with pytest.raises(Mistake, match="is not like 2/8"):
            planting.share(text)


def test_a_picture_is_read_as_the_source_reads_it(task):
    source = photos(task)
    assert source.picture("pictures/003.jpg", 32) == read(str(task.parent / "pictures/003.jpg"), 32)
