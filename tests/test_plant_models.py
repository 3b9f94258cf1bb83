"""The paper's recipe with tiny models of the real classes, from disk: batched, resumed and in shares."""

from pathlib import Path

import numpy as np
import pytest
import tiny_qwen
import tiny_sdxl
from made_up_encoder import MadeUpEncoder
from photo_task import ROOT
from PIL import Image

from slipform_core import sentences
from slipform_core.concrete_plant import rejections
from slipform_core.concrete_plant.parts import Share
from slipform_core.concreteness import extract_keywords
from slipform_core.config import load_recipe
from slipform_core.planting import Planting, check
from slipform_core.rewriters import SwapWords
from slipform_core.rewriters.qwen.prompt import as_json, conversation
from slipform_core.shards import read_samples
from slipform_core.sources import photos

# What the tiny model is taught to answer, whatever word is asked for; the last answer is no hard negative.
ANSWERS = {
    "A dog on a sofa": {"dog": "A cat on a sofa", "sofa": "A dog on a bench"},
    "A horse in a field": {"horse": "A cow in a field", "field": "A horse in a street"},
    "A boat on a lake": {"boat": "A duck on a lake", "lake": "A boat on a beach"},
    "A car in a street": {"car": "A bus in a street", "street": "A car in a field"},
    "A bird on a roof": {"bird": "A bird on a roof, alone", "roof": "A bird on a roof, alone"},
}


@pytest.fixture(scope="module")
def task(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("task")
    rng = np.random.default_rng(0)
    rows = ["image,caption"]
    for number, text in enumerate(ANSWERS):
        Image.fromarray(rng.integers(0, 256, (40, 56, 3), dtype=np.uint8)).save(folder / f"{number}.png")
        rows.append(f"{number}.png,{text}")
    (folder / "captions.csv").write_text("\n".join(rows))
    return folder / "captions.csv"


@pytest.fixture(scope="module")
def settings(tmp_path_factory) -> str:
    """The paper's recipe, its models in folders and on the processor."""
    folder = tmp_path_factory.mktemp("models")
    asked = [
        (conversation(text, next(one for one in extract_keywords(text) if one.text == word)), as_json(answer))
        for text, answers in ANSWERS.items()
        for word, answer in answers.items()
    ]
    qwen = tiny_qwen.write(folder / "tiny-qwen", made=tiny_qwen.taught(asked, steps=60))
    turbo = tiny_sdxl.save(folder)
    rewriter = "engine=transformers device=cpu dtype=float32 temperature=0 tokens=24 batch=3 retries=1"
    editor = f"variant= device=cpu dtype=float32 steps=4 strength=0.5 side={tiny_sdxl.SIDE} batch=2"
    return " ".join(
        [f"rewriter.model={qwen} editor.model={turbo} side=32 shard_captions=2 attempts=1"]
        + [f"rewriter.{one}" for one in rewriter.split()]
        + [f"editor.{one}" for one in editor.split()]
    )


@pytest.fixture(autouse=True)
def _made_up_encoder(monkeypatch):
    encoder = MadeUpEncoder(common=0.3)
    monkeypatch.setattr(sentences, "encoder", lambda *_: encoder)


def planting(task, settings, out) -> Planting:
    recipe = load_recipe("paper", settings, ROOT / "notebooks/params/plant")
    check(recipe)
    return Planting(recipe, photos(task), out)


def samples(folder: Path) -> dict[str, tuple[str, bytes, bytes]]:
    return {
        one.record.caption: (
            one.record.negative_caption,
            one.picture.tobytes(),
            one.negative_picture.tobytes(),
        )
        for one in read_samples(folder)
    }


def test_taught_answers_become_pairs_of_pictures_and_others_are_rejected(task, settings, tmp_path):
    made = planting(task, settings, tmp_path)
    report = made.run()
    found = list(read_samples(tmp_path))
    assert [sample.record.caption for sample in found] == list(ANSWERS)[:4]
    for sample in found:
        record = sample.record
        assert record.negative_caption == ANSWERS[record.caption][record.keyword.text]
        assert record.provenance.rewriter.startswith("qwen@1-tiny-qwen-transformers")
        assert record.provenance.editor.startswith("sdxl-turbo@1-tiny-turbo-4x0.5-32-float32")
        assert sample.picture.shape == sample.negative_picture.shape == (32, 32, 3)
        assert abs(sample.picture.astype(int) - sample.negative_picture).mean() > 1
    assert report.rejected.total() == 1
    [bird] = rejections(tmp_path)
    assert bird.caption.text == "A bird on a roof" and bird.reason == "changed more than the span"
    target = made.texts(SwapWords()).target(bird.caption, extract_keywords(bird.caption.text), attempt=0)
    assert bird.word == target.text


def test_in_shares_and_stage_by_stage_it_is_the_same(task, settings, tmp_path):
    planting(task, settings, tmp_path / "whole").run()
    for index in (1, 0):
        planting(task, settings, tmp_path / "parts").run(("text",), Share(index, 2))
    for index in (0, 1):
        planting(task, settings, tmp_path / "parts").run(("pictures",), Share(index, 2))
    whole, parts = samples(tmp_path / "whole"), samples(tmp_path / "parts")
    assert whole == parts and len(whole) == 4


def test_other_batches_make_the_same_texts_and_pictures_within_rounding(task, settings, tmp_path):
    planting(task, settings, tmp_path / "some").run()
    planting(task, settings + " rewriter.batch=1 editor.batch=1", tmp_path / "one").run()
    some, one = samples(tmp_path / "some"), samples(tmp_path / "one")
    assert some.keys() == one.keys()
    for caption, (text, _, picture) in some.items():
        other_text, _, other = one[caption]
        assert text == other_text
        levels = np.frombuffer(picture, np.uint8).astype(int) - np.frombuffer(other, np.uint8)
        # a level of rounding before a JPEG of quality 95, which moves a few
        assert abs(levels).mean() < 1


def test_a_run_again_loads_no_model(task, settings, tmp_path, monkeypatch):
    planting(task, settings, tmp_path).run()
    before = samples(tmp_path)
    engines = "slipform_core.rewriters.qwen.rewriter.start"
    monkeypatch.setattr(engines, lambda settings: pytest.fail("a model was loaded for texts that stand"))
    planting(task, settings, tmp_path).run()
    assert samples(tmp_path) == before
