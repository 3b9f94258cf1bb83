"""Runs of ConcretePlant that are repeated, broken off, killed or damaged, against undisturbed ones."""

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
from test_concrete_plant import WORLD, make, some

from slipform_core.concreteness import Norms
from slipform_core.editors import RenderEditor
from slipform_core.emoji_world import World, captions
from slipform_core.records import Caption
from slipform_core.rewriters import GrammarRewriter
from slipform_core.shards import read_manifest, read_samples
from slipform_core.sources import picture


def files(folder: Path) -> dict[str, bytes]:
    """Everything that a run leaves, less its lock."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


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


def test_a_record_names_its_editor_and_where_its_text_came_from(undisturbed):
    records = [sample.record for sample in read_samples(undisturbed[0])]
    assert {record.provenance.editor for record in records} == {"render@1"}
    assert {record.provenance.rewriter for record in records} == {"grammar@1"}


def test_a_run_again_makes_nothing_and_reports_the_same(undisturbed, tmp_path):
    folder, report = undisturbed
    assert len(list(folder.glob("*.tar"))) == 6 and len(files(folder)) == 6 * 3 + 1
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
import test_concrete_plant_runs as tests
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
