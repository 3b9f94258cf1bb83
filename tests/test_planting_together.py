"""Runs that meet in one folder: at the same time, or one after the other with something changed."""

import threading
import time
from functools import partial

import numpy as np
import pytest
from filelock import FileLock
from made_up_encoder import MadeUpEncoder
from photo_task import planted, write_task
from test_concrete_plant import WORLD, make, some
from test_concrete_plant_runs import files

from slipform_core import sentences
from slipform_core.concrete_plant import rejections
from slipform_core.concrete_plant.parts import Share
from slipform_core.editors import RenderEditor
from slipform_core.editors.retrieve import CaptionIndex
from slipform_core.mistakes import Mistake
from slipform_core.records import Caption
from slipform_core.shards import read_manifest, read_samples
from slipform_core.sources import BadPicture, picture


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


class Gaps(RenderEditor):
    """Of two of three captions the other photo misses, or is damaged."""

    def edit(self, captions, images, negative_captions, *, seeds):
        for caption in captions:
            if caption.image_id[-1] not in "012":
                raise BadPicture(
                    "missing picture" if caption.image_id < "train-000030" else "damaged picture"
                )
        return super().edit(captions, images, negative_captions, seeds=seeds)


def test_other_photos_that_cannot_be_read_are_counted_and_stop_nothing(tmp_path):
    captions = [one for one in some(60, each=3) if one.image_id[-1] not in "02"]
    whole = make(batch=7).run(captions, out=tmp_path / "whole", shard_captions=50)
    report = make(editor=Gaps(WORLD), batch=7).run(captions, out=tmp_path / "gaps", shard_captions=50)
    kept = {sample.record.record_id for sample in read_samples(tmp_path / "gaps")}
    assert kept == {
        sample.record.record_id
        for sample in read_samples(tmp_path / "whole")
        if sample.record.image_id[-1] == "1"
    }
    assert len(kept) == report.kept
    lost = report.rejected - whole.rejected
    assert set(lost) == {"missing picture", "damaged picture"}
    assert lost.total() == whole.kept - report.kept > 40


def test_fewer_captions_leave_no_rejections_of_before(tmp_path, monkeypatch):
    monkeypatch.setattr(sentences, "encoder", sentences.encoder)
    task = write_task(tmp_path / "task", pictures=40)
    for number in range(30):
        (task.parent / f"pictures/{number:03d}.jpg").write_bytes(b"")
    out = tmp_path / "out"
    assert planted(task, out).rejected["damaged picture"] > 10
    fewer = planted(task, out, limit=20)
    assert fewer.kept + fewer.rejected.total() == 20
    assert sum(1 for _ in rejections(out)) == fewer.rejected.total()
    planted(task, tmp_path / "fresh", limit=20)
    standing = {name: data for name, data in files(out).items() if not name.endswith(".tar")}
    assert standing.items() <= files(tmp_path / "fresh").items()


def test_another_recipe_in_the_same_folder_makes_what_it_makes_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(sentences, "encoder", sentences.encoder)
    task = write_task(tmp_path / "task", pictures=30)
    planted(task, tmp_path / "used")
    first = files(tmp_path / "used")
    for settings in ("choose=lc", "seed=3", "top_k=1", "attempts=1", "side=40", "quality=60", "choose=swap"):
        report = planted(task, tmp_path / "used", settings)
        fresh = planted(task, tmp_path / settings, settings)
        assert (report.kept, report.rejected) == (fresh.kept, fresh.rejected)
        assert files(tmp_path / "used") == files(tmp_path / settings)
        assert files(tmp_path / settings) != first


def test_the_same_share_twice_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sentences, "encoder", sentences.encoder)
    task = write_task(tmp_path / "task", pictures=10)
    out = tmp_path / "out"
    out.mkdir()
    with FileLock(out / ".part-1-of-1.lock"), pytest.raises(Mistake, match="another process is at work on"):
        planted(task, out)
    assert planted(task, out).kept
