"""Runs that meet in one folder: at the same time, or one after the other with something changed."""

import threading
import time
from functools import partial

import numpy as np
import pytest
from filelock import FileLock
from made_up_encoder import MadeUpEncoder
from photo_task import ROOT, planted, write_task
from test_concrete_plant import WORLD, make, some
from test_concrete_plant_runs import files

from slipform_core import sentences
from slipform_core.concrete_plant import rejections
from slipform_core.concrete_plant.parts import Share
from slipform_core.config import load_recipe
from slipform_core.editors import RenderEditor
from slipform_core.editors.retrieve import CaptionIndex
from slipform_core.mistakes import Mistake
from slipform_core.records import Caption
from slipform_core.rewriters import GrammarRewriter
from slipform_core.samples import write_page
from slipform_core.shards import read_manifest, read_records
from slipform_core.sources import picture


def test_a_share_that_ends_last_forgets_nothing_of_one_that_began_later(tmp_path):
    """The first has looked at the parts before the second writes any."""
    captions = some(60, each=1)
    make().run(captions, out=tmp_path / "alone", shard_captions=10)
    out = tmp_path / "together"
    other = iter([partial(make().run, captions, out=out, shard_captions=10, share=Share(1, 2))])

    def while_the_other_runs(caption):
        for run in other:
            run()
        return picture(caption, side=64)

    first = make(picture=while_the_other_runs)
    first.run(captions, out=out, shard_captions=10, share=Share(0, 2))
    assert len(read_manifest(out)) == 6
    assert files(out) == files(tmp_path / "alone")


class Slow(MadeUpEncoder):
    def encode(self, texts):
        time.sleep(0.2)
        return super().encode(texts)


def test_processes_that_begin_together_encode_the_captions_once(tmp_path):
    captions = [Caption(f"{row}", None, f"a dog and a number {row}") for row in range(50)]
    encoders, found = [Slow() for _ in range(3)], []
    threads = [
        threading.Thread(target=lambda one=one: found.append(CaptionIndex(captions, one, tmp_path).vectors))
        for one in encoders
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = MadeUpEncoder().encode([caption.text for caption in captions]).astype(np.float16)
    assert len(found) == 3 and all((vectors == expected).all() for vectors in found)
    assert sum(len(one.encoded) for one in encoders) == 50


class Broken(RenderEditor):
    """Fails, as an accelerator that is lost does, until it is mended."""

    broken = True

    def edit(self, captions, images, negative_captions, *, seeds):
        if self.broken:
            raise RuntimeError("CUDA error")
        return super().edit(captions, images, negative_captions, seeds=seeds)


class Forgetful(GrammarRewriter):
    """Fails at every second record, until it is mended."""

    broken = True

    def rewrite(self, captions, keywords, *, seed):
        if self.broken and (len(captions) > 1 or len(captions[0].text) % 2):
            raise RuntimeError("out of memory")
        return super().rewrite(captions, keywords, seed=seed)


def test_texts_that_failed_are_asked_for_again(tmp_path):
    rewriter, captions = Forgetful(WORLD), some(15)
    first = make(rewriter=rewriter).run(captions, out=tmp_path / "out", shard_captions=20)
    assert first.kept and first.rejected["failed: RuntimeError"] > 10
    rewriter.broken = False
    report = make(rewriter=rewriter).run(captions, out=tmp_path / "out", shard_captions=20)
    make().run(captions, out=tmp_path / "fresh", shard_captions=20)
    assert "failed: RuntimeError" not in report.rejected
    assert files(tmp_path / "out") == files(tmp_path / "fresh")


@pytest.mark.parametrize("batch", [1, 7, 64])
def test_an_editor_that_always_fails_stops_the_run_though_pictures_can_be_read(batch, tmp_path):
    with pytest.raises(RuntimeError, match="CUDA error"):
        make(editor=Broken(WORLD), batch=batch).run(some(60), out=tmp_path, shard_captions=50)


def test_what_failed_is_made_once_it_can_be(tmp_path):
    editor, captions = Broken(WORLD), some(3)
    first = make(editor=editor).run(captions, out=tmp_path / "out", shard_captions=20)
    assert first.kept == 0 and first.rejected["failed: RuntimeError"] > 10
    editor.broken = False
    report = make(editor=editor).run(captions, out=tmp_path / "out", shard_captions=20)
    make().run(captions, out=tmp_path / "fresh", shard_captions=20)
    assert report.kept and "failed: RuntimeError" not in report.rejected
    assert files(tmp_path / "out") == files(tmp_path / "fresh")


def test_a_picture_that_was_damaged_is_used_once_it_can_be_read(tmp_path, monkeypatch):
    monkeypatch.setattr(sentences, "encoder", sentences.encoder)
    task, out = write_task(tmp_path / "task", pictures=40), tmp_path / "out"
    whole = planted(task, tmp_path / "whole")
    paths = [task.parent / f"pictures/{number:03d}.jpg" for number in (3, 4, 5)]
    bytes_of = {path: path.read_bytes() for path in paths}
    for path in paths:
        path.write_bytes(b"")
    assert planted(task, out).rejected["damaged picture"] > 2
    before = (out / "shard-00000.tar").stat().st_mtime_ns
    planted(task, out)
    assert (out / "shard-00000.tar").stat().st_mtime_ns == before
    for path, data in bytes_of.items():
        path.write_bytes(data)
    report = planted(task, out)
    assert (report.kept, report.rejected) == (whole.kept, whole.rejected)
    records = [{record.record_id for record in read_records(one)} for one in (out, tmp_path / "whole")]
    assert records[0] == records[1]


def test_a_folder_is_of_one_recipe(tmp_path, monkeypatch):
    monkeypatch.setattr(sentences, "encoder", sentences.encoder)
    task, out = write_task(tmp_path / "task", pictures=10), tmp_path / "out"
    planted(task, out)
    first = files(out)
    for setting, now in (("choose='lc'", "choose=lc"), ("seed=3", "seed=3"), ("side=40", "side=40")):
        name, _, value = setting.partition("=")
        with pytest.raises(Mistake, match=f"was made with {name} = .* the recipe has {value}: take another"):
            planted(task, out, now)
        with pytest.raises(Mistake, match=name):
            planted(task, out, now, stages=("text",))
    assert files(out) == first
    planted(task, out, "editor.batch=3")
    assert files(out) == first


def test_more_captions_go_on_and_fewer_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sentences, "encoder", sentences.encoder)
    task, out = write_task(tmp_path / "task", pictures=40), tmp_path / "out"
    assert planted(task, out, limit=30).read == 30
    assert planted(task, out).read == 80
    planted(task, tmp_path / "fresh")
    assert files(out) == files(tmp_path / "fresh")
    with pytest.raises(Mistake, match="has 80 captions, more than --limit 20"):
        planted(task, out, limit=20)
    assert files(out) == files(tmp_path / "fresh")


def test_a_source_with_fewer_captions_leaves_nothing_of_before(tmp_path, monkeypatch):
    monkeypatch.setattr(sentences, "encoder", sentences.encoder)
    task, out = write_task(tmp_path / "task", pictures=40), tmp_path / "out"
    for number in range(30):
        (task.parent / f"pictures/{number:03d}.jpg").write_bytes(b"")
    assert planted(task, out).rejected["damaged picture"] > 10
    task.write_text("".join(line + "\n" for line in task.read_text().splitlines()[:21]))
    fewer = planted(task, out)
    assert fewer.read == 20
    assert sum(1 for _ in rejections(out)) == fewer.rejected.total()
    planted(task, tmp_path / "fresh")
    assert files(out) == files(tmp_path / "fresh")


def test_texts_alone_are_counted_and_shown_without_pictures(tmp_path, monkeypatch):
    monkeypatch.setattr(sentences, "encoder", sentences.encoder)
    task = write_task(tmp_path / "task", pictures=20)
    texts = planted(task, tmp_path / "out", stages=("text",))
    assert not texts.pictures and texts.read == 40 and "no other photo fits" not in texts.rejected
    recipe = load_recipe("photo", "", ROOT / "notebooks/params/plant")
    page = write_page(texts, recipe=recipe, source="x", count=5).read_text()
    assert page.count("<article") == 5 and page.count("<mark>") >= 10 and "<img" not in page
    assert "the picture stage is still to come" in page
    both = planted(task, tmp_path / "out")
    assert both.pictures and both.kept == texts.kept - both.rejected["no other photo fits"]


def test_the_same_share_twice_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sentences, "encoder", sentences.encoder)
    task = write_task(tmp_path / "task", pictures=10)
    out = tmp_path / "out"
    out.mkdir()
    with FileLock(out / ".part-1-of-1.lock"), pytest.raises(Mistake, match="another process is at work on"):
        planted(task, out)
    assert planted(task, out).kept
