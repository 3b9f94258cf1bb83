"""What the two stages note of each caption: the reason, the word, the answer, in the captions' order."""

import base64
import io
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from made_up_encoder import MadeUpEncoder
from photo_task import ROOT, planted, write_task
from PIL import Image
from test_concrete_plant import Scripted, make, some

from slipform_core import planting, sentences
from slipform_core.concrete_plant import PlantReport, Rejection
from slipform_core.concreteness import extract_keywords
from slipform_core.config import load_recipe
from slipform_core.records import Caption
from slipform_core.samples import draw, write_page
from slipform_core.shards import read_records, read_samples
from slipform_core.sources import photos, picture


class ByText(Scripted):
    """Answers by the caption and the attempt, of a plant with seed 7; one that is an error is raised."""

    def __init__(self, answers):
        super().__init__()
        self.answers = answers

    def rewrite(self, captions, keywords, *, seed):
        answers = [self.answers[caption.text] for caption in captions]
        found = [answer[seed - 7] if isinstance(answer, list) else answer for answer in answers]
        for answer in found:
            if isinstance(answer, Exception):
                raise answer
        return found


def test_kept_and_rejected_stand_in_the_order_of_the_captions_with_what_was_tried():
    answers = {
        "two dogs": "two dogs",
        "a horse": ["a horse", "a cow"],
        "a cat": ZeroDivisionError(),
        "a cup here": "a mug there",
        "a bell": "a drum",
    }
    texts = ["two dogs", "of the and", "a horse", "a cat", "a cup here", "", "a bell", "a horse"]
    rows = [Caption("1", None, text) for text in texts]
    part = make(rewriter=ByText(answers), attempts=2).texts.part(rows)
    assert [(caption.text, record.negative_caption) for caption, record in part.kept] == [
        ("a horse", "a cow"),
        ("a bell", "a drum"),
    ]
    assert part.rejected == [
        Rejection(rows[0], "unchanged", "dogs", "two dogs"),
        Rejection(rows[1], "no word to choose"),
        Rejection(rows[3], "failed: ZeroDivisionError", "cat"),
        Rejection(rows[4], "changed more than the span", "cup", "a mug there"),
        Rejection(rows[5], "empty caption"),
        Rejection(rows[7], "repeated caption"),
    ]


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("A <B>dog</B> runs", True),
        ("a dog<br/>", True),
        ("a dog&nbsp;runs", True),
        ("the dog&#39;s bowl", True),
        ("3 < 4 dogs > 2 cats", False),
        ("a dog at AT&T", False),
        ("a dog & a cat; a cup", False),
    ],
)
def test_markup_is_told_from_signs(text, markup):
    part = make(rewriter=Scripted(text), attempts=1).texts.part([Caption("1", None, text)])
    assert (part.reasons["markup in the caption"] == 1) is markup


def test_a_report_has_the_commonest_reason_first():
    report = PlantReport(3, Counter({"rare": 1, "common": 1200}), Path("out"))
    assert str(report).splitlines() == [
        "3 hard negatives of 1,204 captions in out",
        "      1,200 common",
        "          1 rare",
    ]


def test_both_pictures_are_scaled_and_each_is_read_once(tmp_path):
    asked = Counter()

    def noted(caption):
        asked[caption.image_id] += 1
        return picture(caption, side=64)

    make(picture=noted, side=32, batch=2).run(some(6, each=3), out=tmp_path, shard_captions=100)
    samples = list(read_samples(tmp_path))
    assert len(samples) > len(asked) > 3 and set(asked.values()) == {1}
    for sample in samples:
        assert sample.picture.shape == sample.negative_picture.shape == (32, 32, 3)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """(table, folder, report) of a run in six shards, of a source with a picture that is damaged."""
    task = write_task(tmp_path_factory.mktemp("task") / "in", pictures=60)
    (task.parent / "pictures/004.jpg").write_bytes(b"")
    folder = tmp_path_factory.mktemp("out")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentences, "encoder", lambda *_: MadeUpEncoder())
        return task, folder, planted(task, folder)


def test_samples_are_of_some_shards_by_the_seed_and_of_all_over_the_seeds(run, monkeypatch):
    _, folder, _ = run
    monkeypatch.setattr(draw, "SHARDS", 2)
    shards = {f"shard-{k:05d}.tar": set() for k in range(6)}
    for name, ids in shards.items():
        ids |= {record.record_id for record in read_records(folder, {name})}
    seen = set()
    for seed in range(40):
        found = {sample.record.record_id for sample in draw.draw_samples(folder, 10_000, seed)}
        assert found == set().union(*(ids for ids in shards.values() if ids & found))
        assert sum(bool(ids & found) for ids in shards.values()) == 2
        seen |= found
    assert seen == set().union(*shards.values())


def test_the_page_has_the_two_pictures_and_captions_of_a_sample_in_their_order(run):
    _, folder, report = run
    recipe = load_recipe("photo", "choose=lc", ROOT / "notebooks/params/plant")
    [sample] = draw.draw_samples(folder, 1, recipe.seed)
    page = write_page(report, recipe=recipe, source="x", count=1).read_text()
    assert "one of the least concrete words" in page
    pictures = re.findall(r"data:image/jpeg;base64,([^\"]+)", page)
    for data, pixels in zip(pictures, (sample.picture, sample.negative_picture), strict=True):
        shown = np.asarray(Image.open(io.BytesIO(base64.b64decode(data)))).astype(int)
        assert abs(shown - pixels).mean() < 25 < abs(shown - pixels[::-1]).mean()
    own, negative = re.findall(r"<figcaption>(.*?)</figcaption>", page, re.DOTALL)
    for html, text in ((own, sample.record.caption), (negative, sample.record.negative_caption)):
        assert " ".join(re.sub(r"</?mark>", "", html).split()) == text
    counts = [int(count.replace(",", "")) for count in re.findall(r'<td class="number">([\d,]+)', page)]
    assert counts == sorted(report.rejected.values(), reverse=True) and len(counts) > 1
    assert f"of {report.kept + report.rejected.total():,} captions" in page


def test_an_outlook_against_a_slow_count(run, tmp_path):
    task, _, _ = run
    lines = task.read_text().splitlines()
    lines[1] = lines[1].split(",")[0] + ",of the and"
    lines[2] = lines[2].split(",")[0] + ",zzxqy"
    path = task.parent / "other.csv"
    path.write_text("\n".join(lines) + "\n")
    recipe = load_recipe("photo", "", ROOT / "notebooks/params/plant")
    made = planting.Planting(recipe, photos(path), tmp_path)
    seen = planting.outlook(made)
    texts = [line.split(",", 1)[1] for line in lines[1:]]
    averages = [made.norms.average(text) for text in texts]
    assert seen.concreteness == pytest.approx(np.mean([one for one in averages if one == one]))
    words = [extract_keywords(text, made.norms) for text in texts]
    covered = [any(word.concreteness is not None for word in found) for found in words]
    assert seen.roles.total() == sum(covered) == 118
    assert (seen.captions, seen.opened, seen.faults) == (120, 50, {"damaged picture": 1})
