"""Multi-label probes against SciPy's optimiser and a slow loop; COCO's objects as labels."""

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from labelled_vectors import Vectors
from PIL import Image
from real_data import DATA, needs_data
from scipy.optimize import minimize
from small_clip import small_clip

from slipform_core.classification import PROBES, MultiLabelSet, Probe, coco, coco_objects, multi_label_probe
from slipform_core.evaluation import Encoder
from slipform_core.mistakes import Mistake

INSTANCES = DATA / "coco/annotations/instances_val2017.json"
KINDS = ("bird", "boat", "bus", "cat")
PLAIN = PROBES["plain"]


def made(count: int = 120, noise: float = 3.0) -> tuple[MultiLabelSet, Vectors]:
    rng = np.random.default_rng(0)
    has = rng.random((count, len(KINDS))) < 0.3
    pooled = has @ rng.normal(size=(len(KINDS), 6)) + noise * rng.normal(size=(count, 6))
    objects = [frozenset(kind for kind, there in zip(KINDS, row, strict=True) if there) for row in has]
    half = count // 2
    train = [(row, objects[row] | {"everywhere"} | ({"rare"} if row == 3 else set())) for row in range(half)]
    test = [(row, objects[row] | ({"new"} if row == half else set())) for row in range(half, count)]
    units = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
    return MultiLabelSet("made", train, test, "made up"), Vectors(units, pooled)


def slow_logits(known: np.ndarray, labels: np.ndarray, new: np.ndarray, C: float) -> np.ndarray:
    def loss(flat):
        logits = known @ flat[:-1] + flat[-1]
        return C * np.logaddexp(0, np.where(labels, -logits, logits)).sum() + (flat[:-1] ** 2).sum() / 2

    best = minimize(loss, np.zeros(known.shape[1] + 1), method="BFGS", options={"gtol": 1e-5}).x
    return new @ best[:-1] + best[-1]


def slow_precision(scores: np.ndarray, truth: list[bool]) -> float:
    order = sorted(zip(scores, truth, strict=True), key=lambda pair: -pair[0])
    hits = [place for place, (_, own) in enumerate(order, 1) if own]
    return sum(number / place for number, place in enumerate(hits, 1)) / len(hits)


@pytest.mark.parametrize("probe", [PLAIN, Probe("raw", False, False, False, C=0.1)], ids=lambda p: p.name)
def test_it_is_a_classifier_for_each_label(probe: Probe) -> None:
    given, encoder = made()
    table = (encoder.units if probe.projected else encoder.pooled).astype(np.float32).astype(float)
    known, new = table[:60], table[60:]
    if probe.standardised:
        known, new = ((part - known.mean(axis=0)) / known.std(axis=0) for part in (known, new))
    precisions = {}
    for kind in KINDS:
        labels = np.array([kind in objects for _, objects in given.train])
        scores = slow_logits(known, labels, new, probe.C)
        precisions[kind] = slow_precision(scores, [kind in objects for _, objects in given.test])
    result = multi_label_probe(encoder, given, probe)
    # Neighbours whose logits are nearer than the solvers' tolerance may change places.
    assert result.protocol["precisions"] == pytest.approx(precisions, abs=2e-3)
    [score] = result.scores
    mean = sum(precisions.values()) / 4
    assert score.value == pytest.approx(mean, abs=2e-3) and 0.2 < mean < 0.9
    spread = math.sqrt(sum((value - mean) ** 2 for value in precisions.values()) / 3 / 4)
    assert score.stderr == pytest.approx(spread, abs=2e-3)
    assert (score.benchmark, score.subset, score.metric, score.count) == (
        f"multi-label-probe-{probe.name}",
        "made",
        "map",
        60,
    )


def test_labels_that_cannot_be_scored_are_left_out_and_counted() -> None:
    given, encoder = made()
    protocol = json.loads(json.dumps(multi_label_probe(encoder, given).protocol))
    assert protocol["labels"] == 4
    assert [*protocol["labels_left_out"].values()] == [["everywhere", "new", "rare"]]
    assert (protocol["train_pictures"], protocol["test_pictures"]) == (60, 60)
    assert protocol["C"] == 1.0 and protocol["converged"] and protocol["source"] == "made up"


def test_features_that_say_nothing_rank_at_chance_and_nan_is_an_error() -> None:
    given, encoder = made(4000)
    encoder.units = np.random.default_rng(1).normal(size=encoder.units.shape).astype(np.float32)
    assert multi_label_probe(encoder, given).scores[0].value == pytest.approx(0.3, abs=0.03)
    encoder.units[2500, 1] = math.nan
    with pytest.raises(ValueError, match="NaN"):
        multi_label_probe(encoder, given)


def test_sweeps_and_shots_are_refused() -> None:
    given, encoder = made()
    for probe in (PROBES["clip"], replace(PLAIN, shots=3)):
        with pytest.raises(
            Mistake, match=f"has a fixed C and all pictures; the probe '{probe.name}' has not"
        ):
            multi_label_probe(encoder, given, probe)


def instances(folder: Path, year: str, *, missing: str = "") -> None:
    """Three pictures: a cat and a crowd of birds, a crowd of birds, nothing."""
    objects = [(1, 17, 0), (1, 16, 1), (1, 17, 0), (2, 16, 1)]
    tree = {
        "images": [{"id": key, "file_name": f"{key}.jpg"} for key in (1, 2, 3)],
        "annotations": [
            {"image_id": image, "category_id": kind, "iscrowd": crowd} for image, kind, crowd in objects
        ],
        "categories": [{"id": 16, "name": "bird"}, {"id": 17, "name": "cat"}],
    }
    place = folder / "coco-captions/annotations"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"instances_{year}.json").write_text(json.dumps(tree))
    (folder / f"coco-{year}/{year}").mkdir(parents=True)
    for key in (1, 2, 3):
        if f"{key}.jpg" != missing:
            Image.new("RGB", (40, 40)).save(folder / f"coco-{year}/{year}/{key}.jpg")


def test_objects_are_those_of_the_instances(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coco, "PICTURES", {"train2014": 3, "val2014": 3})
    instances(tmp_path, "train2014")
    instances(tmp_path, "val2014")
    found = coco_objects(tmp_path)
    assert [set(objects) for _, objects in found.train] == [{"cat", "bird"}, {"bird"}, set()]
    assert [Path(photo.place).name for photo, _ in found.test] == ["1.jpg", "2.jpg", "3.jpg"]
    assert Path(found.test[0][0].place).parent == tmp_path / "coco-val2014/val2014"
    assert "what is only in a crowd counts" in found.source
    assert "pictures without objects are kept: 1 of train2014, 1 of val2014" in found.source


def test_missing_pictures_and_other_numbers_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    instances(tmp_path, "train2014", missing="2.jpg")
    instances(tmp_path, "val2014")
    with pytest.raises(Mistake, match="coco objects: 1 pictures of train2014 are missing; --partial"):
        coco_objects(tmp_path)
    found = coco_objects(tmp_path, partial=True)
    assert found.left_out == Counter(train2014=1) and len(found.train) == 2
    with pytest.raises(Mistake, match="val2014 has 3 pictures, published 40,504"):
        coco_objects(tmp_path, train="val2014")
    with pytest.raises(Mistake, match="COCO has no 'val2015'; the choices are: train2014, "):
        coco_objects(tmp_path, train="val2015")
    with pytest.raises(Mistake, match=r"instances_train2017\.json.*slipform data fetch coco-captions"):
        coco_objects(tmp_path, train="train2017")


@needs_data
def test_real_objects_go_through_a_real_model(tmp_path: Path) -> None:
    found = coco_objects(DATA, train="val2017", test="val2017", partial=True)
    tree = json.loads(INSTANCES.read_bytes())
    names = {category["id"]: category["name"] for category in tree["categories"]}
    expected = {image["file_name"]: set() for image in tree["images"]}
    files = {image["id"]: image["file_name"] for image in tree["images"]}
    for each in tree["annotations"]:
        expected[files[each["image_id"]]].add(names[each["category_id"]])
    assert {Path(photo.place).name: set(objects) for photo, objects in found.test} == expected
    assert len(found.test) == 79 and found.train == found.test
    encoder = Encoder(small_clip(tmp_path))
    halves = replace(found, train=found.train[:40], test=found.test[40:])
    result = multi_label_probe(encoder, halves, Probe("raw", False, False, True))
    assert encoder.encoded["pictures"] == 79
    known, new = ({name for _, objects in part for name in objects} for part in (halves.train, halves.test))
    assert set(result.protocol["precisions"]) <= known & new and result.protocol["labels"] > 20
    assert 0 < result.scores[0].value < 1 and result.scores[0].stderr > 0
