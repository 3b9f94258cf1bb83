"""The page of samples: what it draws, what it escapes, that it stands alone."""

from collections import Counter

import numpy as np
import pytest
from made_up_encoder import MadeUpEncoder
from photo_task import ROOT, planted, write_task

from slipform_core import sentences
from slipform_core.changes import marked
from slipform_core.concrete_plant import Rejection
from slipform_core.config import load_recipe
from slipform_core.records import Caption
from slipform_core.samples import write_page
from slipform_core.samples.draw import EACH, _reservoirs, draw_samples
from slipform_core.shards import read_records

RECIPE = load_recipe("photo", "", ROOT / "notebooks/params/plant")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """(folder, report) of a run whose first caption has markup."""
    task = write_task(tmp_path_factory.mktemp("task"), pictures=30)
    lines = task.read_text().splitlines()
    lines[1] = "pictures/000.jpg,<script>alert(1)</script> A dog"
    task.write_text("\n".join(lines) + "\n")
    folder = tmp_path_factory.mktemp("out")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentences, "encoder", lambda *_: MadeUpEncoder())
        return folder, planted(task, folder)


def test_samples_are_drawn_by_the_seed_from_all_shards(run):
    folder, report = run
    everything = {record.record_id for record in read_records(folder)}
    drawn = [[sample.record.record_id for sample in draw_samples(folder, 6, seed)] for seed in range(150)]
    assert all(len(set(ids)) == 6 for ids in drawn)
    assert set().union(*drawn) == everything
    assert drawn[0] == [sample.record.record_id for sample in draw_samples(folder, 6, 0)]
    assert len(draw_samples(folder, 10_000, 0)) == report.kept


def test_every_rejection_of_a_reason_is_as_likely_to_be_shown():
    rows = [Rejection(Caption(str(k), None, "x"), "why" if k % 2 else "other") for k in range(40)]
    counts = Counter()
    for seed in range(2000):
        kept = _reservoirs(rows, np.random.default_rng(seed))
        assert {reason: len(some) for reason, some in kept.items()} == {"why": EACH, "other": EACH}
        counts.update(one.caption.image_id for some in kept.values() for one in some)
    # 400 are expected of each; five standard deviations of a binomial
    assert all(abs(count - 400) < 5 * np.sqrt(400 * 0.8) for count in counts.values()) and len(counts) == 40


def test_the_page_shows_counts_and_escapes_what_users_wrote(run):
    folder, report = run
    page = write_page(report, recipe=RECIPE, source="<mine>", count=4).read_text()
    assert page.count("<article") == 4
    assert "<script>" not in page and "&lt;script&gt;" in page
    assert "<h1>Hard negatives of &lt;mine&gt;</h1>" in page
    assert f"{report.kept:,} hard negatives of 60 captions" in page
    assert "markup in the caption" in page and page.count("<mark>") >= 8
    assert 'src="data:' in page and "href" not in page and "http" not in page


def test_a_run_that_kept_nothing_has_a_page(tmp_path, monkeypatch):
    task = write_task(tmp_path / "task", pictures=3)
    task.write_text("image,caption\npictures/000.jpg,of the and\n")
    monkeypatch.setattr(sentences, "encoder", lambda *_: MadeUpEncoder())
    report = planted(task, tmp_path / "out")
    page = write_page(report, recipe=RECIPE, source="x", count=4).read_text()
    assert "There is none to show" in page and "no word to choose" in page


def test_what_two_captions_do_not_share():
    one, other = marked("a red dog runs", "an old dog runs")
    assert one == [(True, "a red"), (False, "dog runs")]
    assert other == [(True, "an old"), (False, "dog runs")]
    assert marked("same", "same") == ([(False, "same")], [(False, "same")])
