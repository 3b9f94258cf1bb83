"""Zero-shot classification against open_clip's own classifier and slow loops; ties, chance, collapse, NaN."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from labelled_vectors import Vectors, random_unit, random_units
from PIL import Image
from sklearn.metrics import balanced_accuracy_score
from small_clip import small_clip

import slipform_core.torchvision_import  # noqa: F401, before open_clip
from slipform_core.classification import LabelledSet, zero_shot
from slipform_core.classification import scoring as scoring_module
from slipform_core.classification.zero_shot import ENSEMBLE
from slipform_core.evaluation import Encoder
from slipform_core.mistakes import Mistake

NAMES = tuple(f"thing {k}" for k in range(8))
TEMPLATES = ("a photo of a {}.", "a drawing of {}, a {}.", "{}")


def by_metric(result) -> dict:
    assert len({(score.benchmark, score.subset) for score in result.scores}) == 1
    return {score.metric: score for score in result.scores}


def slow(features: np.ndarray, labels, directions: np.ndarray) -> dict[str, list]:
    """Item by item: in the top k where fewer than k wrong classes are at least as near."""
    ranks, ties = [], []
    for row, label in zip(features, labels, strict=True):
        near = [float(np.float32(row.astype(float) @ direction)) for direction in directions]
        others = [value for k, value in enumerate(near) if k != label]
        ranks.append(sum(value >= near[label] for value in others))
        ties.append(max(others) == near[label])
    return {"top1": [rank < 1 for rank in ranks], "top5": [rank < 5 for rank in ranks], "ties": ties}


def test_it_is_open_clip_s_classifier_on_a_real_model(tmp_path: Path) -> None:
    import open_clip

    clip = small_clip(tmp_path)
    pixels = np.random.default_rng(0).integers(256, size=(40, 36, 32, 3), dtype=np.uint8)
    pictures = [Image.fromarray(each) for each in pixels]
    labels = np.random.default_rng(1).integers(8, size=40).tolist()
    encoder = Encoder(clip, batch=7)
    given = LabelledSet("drawn", NAMES, list(zip(pictures, labels, strict=True)), templates=TEMPLATES)
    result = zero_shot(encoder, given)
    assert encoder.encoded == {"pictures": 40, "texts": len(NAMES) * len(TEMPLATES)}
    templates = [lambda name, text=text: text.replace("{}", name) for text in TEMPLATES]
    tokenizer = open_clip.get_tokenizer("small")
    weights = open_clip.build_zero_shot_classifier(clip.model, tokenizer, NAMES, templates)
    with torch.no_grad():
        units = clip.model.encode_image(torch.stack([clip.transform(p) for p in pictures]), normalize=True)
    order = (units @ weights).argsort(dim=1, descending=True).tolist()
    top1 = [row[0] == label for row, label in zip(order, labels, strict=True)]
    assert result.outcomes["top1"].tolist() == top1
    assert result.outcomes["top5"].tolist() == [
        label in row[:5] for row, label in zip(order, labels, strict=True)
    ]
    scores = by_metric(result)
    predicted = [row[0] for row in order]
    assert scores["per_class"].value == pytest.approx(balanced_accuracy_score(labels, predicted))
    assert 0 < scores["top1"].value < 1 and scores["ties"].value == 0


def test_scores_are_those_of_the_item_by_item_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    units, rng = random_units(300, 12, seed=1), np.random.default_rng(2)
    labels = rng.choice([0, 1, 2, 3, 4, 6], size=300, p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.05]).tolist()
    same = random_unit("same", 12)
    given = LabelledSet("made", NAMES, list(enumerate(labels)), templates=("a {}.", "the {}."))
    texts = {text.replace("{}", NAMES[k]): same for k in (1, 4) for text in given.templates}
    encoder = Vectors(units, texts=texts)
    directions = []
    for name in NAMES:
        both = [texts.get(f"{word} {name}.", random_unit(f"{word} {name}.", 12)) for word in ("a", "the")]
        mean = np.mean(np.array(both, dtype=np.float32).astype(float), axis=0)
        directions.append(mean / math.sqrt(sum(mean**2)))
    expected = slow(units.astype(np.float32), labels, np.array(directions))
    for cells in (8, 100, 1 << 24):
        monkeypatch.setattr(scoring_module, "CELLS", cells)
        result = zero_shot(encoder, given)
        assert {metric: right.tolist() for metric, right in result.outcomes.items()} == {
            "top1": expected["top1"],
            "top5": expected["top5"],
        }
        scores = by_metric(result)
        for metric in ("top1", "top5", "ties"):
            assert scores[metric].value == pytest.approx(np.mean(expected[metric]))
            assert scores[metric].count == 300
        assert scores["ties"].value > 0, "classes 1 and 4 have one direction"
        for metric in ("top1", "top5"):
            value = scores[metric].value
            assert scores[metric].stderr == pytest.approx(math.sqrt(value * (1 - value) / 300))
    rates = [
        [right for right, label in zip(expected["top1"], labels, strict=True) if label == k] for k in range(8)
    ]
    rates = [np.mean(of_class) for of_class in rates if of_class]
    assert len(rates) == 6 and scores["per_class"].value == pytest.approx(np.mean(rates))
    counts = [labels.count(k) for k in (0, 1, 2, 3, 4, 6)]
    spread = sum(rate * (1 - rate) / (count - 1) for rate, count in zip(rates, counts, strict=True))
    assert scores["per_class"].stderr == pytest.approx(math.sqrt(spread) / 6)


def test_a_random_model_is_at_chance() -> None:
    labels = np.random.default_rng(3).integers(8, size=4000).tolist()
    encoder = Vectors(random_units(4000, 64, seed=4))
    scores = by_metric(zero_shot(encoder, LabelledSet("made", NAMES, list(enumerate(labels)))))
    for metric, chance in (("top1", 1 / 8), ("top5", 5 / 8), ("per_class", 1 / 8)):
        assert abs(scores[metric].value - chance) < 4 * math.sqrt(chance * (1 - chance) / 4000)
    assert scores["ties"].value == 0


def test_of_a_picture_a_class_the_mean_of_classes_is_as_sure_as_that_of_pictures() -> None:
    given = LabelledSet("made", NAMES, [(k, k) for k in range(8)])
    scores = by_metric(zero_shot(Vectors(random_units(8, 3, seed=1)), given))
    assert 0 < scores["top1"].value == scores["per_class"].value < 1
    assert scores["per_class"].stderr == pytest.approx(scores["top1"].stderr)


def test_a_collapsed_model_scores_nothing() -> None:
    """All texts alike: every class ties, in top 5 as in top 1."""

    class Collapsed(Vectors):
        def texts(self, texts) -> np.ndarray:
            return np.tile(random_unit("all", 64).astype(np.float32), (len(texts), 1))

    labels = np.random.default_rng(3).integers(8, size=200).tolist()
    given = LabelledSet("made", NAMES, list(enumerate(labels)), templates=TEMPLATES)
    scores = by_metric(zero_shot(Collapsed(random_units(200, 64, seed=4)), given))
    assert [scores[metric].value for metric in ("top1", "top5", "per_class", "ties")] == [0, 0, 0, 1]


@pytest.mark.parametrize("broken", ["pictures", "texts"])
def test_nan_is_an_error(broken: str) -> None:
    units, texts = random_units(20, 8, seed=1), {}
    if broken == "pictures":
        units[7, 2] = math.nan
    else:
        texts["a photo of a thing 3."] = np.full(8, math.nan)
    with pytest.raises(ValueError, match="NaN"):
        zero_shot(Vectors(units, texts=texts), LabelledSet("made", NAMES, [(k, k % 8) for k in range(20)]))


def test_five_classes_have_no_top5_and_the_protocol_is_json() -> None:
    given = LabelledSet("few", NAMES[:4] + NAMES[:1], [(0, 1), (1, 2)], metric="per_class", source="made up")
    result = zero_shot(Vectors(random_units(2, 8, seed=1)), replace(given, templates=("one {}",)))
    assert [score.metric for score in result.scores] == ["top1", "per_class", "ties"]
    written = json.loads(json.dumps(result.protocol))
    assert written == {
        "set": "few",
        "source": "made up",
        "metric": "per_class",
        "rule": "strict: a tie with a wrong class is wrong",
        "classes": 5,
        "classes_tested": 2,
        "test_pictures": 2,
        "classifier": ENSEMBLE,
        "prompts": "",
        "templates": ["one {}"],
        "classes_named_alike": 2,
    }
    assert [(score.benchmark, score.subset) for score in result.scores] == [("zero-shot", "few")] * 3


def test_what_cannot_be_scored_is_named() -> None:
    encoder = Vectors(random_units(3, 8, seed=1))
    with pytest.raises(Mistake, match="the template 'a photo' has no {} where the class goes"):
        LabelledSet("made", NAMES, [(0, 0)], templates=("a {}", "a photo"))
    for labels in ([8], [-1], []):
        with pytest.raises(ValueError, match=r"made: \d labels are not all within 0..7"):
            zero_shot(encoder, LabelledSet("made", NAMES, list(enumerate(labels))))
