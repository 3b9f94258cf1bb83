"""What a model sees of a real ConcreteBatch, against a loop over its records; Table 1 by hand."""

import json
import math
import weakref
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch
from test_concrete_plant import make, some

from slipform_core.judges import measure, table
from slipform_core.models import Clip, WordTokenizer
from slipform_core.models.tiny import slipform_tiny
from slipform_core.records import Keyword
from slipform_core.shards import Sample, read_samples


@pytest.fixture(scope="module")
def samples(tmp_path_factory) -> list[Sample]:
    """Hard negatives of twelve scenes, up to three a scene; and one more, whose word is no lemma."""
    folder = tmp_path_factory.mktemp("negatives")
    make("wo").run(some(12, each=3), out=folder, shard_captions=10)
    made = list(read_samples(folder))
    keyword = Keyword("Dogs", "dog", "NOUN", 0, 4, 4.85, "object")
    captions = {"caption": "Dogs on the grass", "negative_caption": "Owls on the grass by night"}
    record = replace(made[0].record, image_id="upside down", keyword=keyword, **captions)
    return [*made, Sample(record, made[0].picture[::-1].copy(), made[0].negative_picture[::-1].copy())]


@pytest.fixture(scope="module")
def clip(samples) -> Clip:
    texts = [text for s in samples for text in (s.record.caption, s.record.negative_caption)]
    return slipform_tiny(WordTokenizer.count(texts), seed=3)


@dataclass(frozen=True)
class Watched(Clip):
    """Counts how often each picture and text is encoded; asks for eval mode and no gradients."""

    seen: Counter = field(default_factory=Counter)

    def encode_image(self, pictures: np.ndarray) -> torch.Tensor:
        assert not self.model.training and torch.is_inference_mode_enabled()
        self.seen.update(picture.tobytes() for picture in pictures)
        return super().encode_image(pictures)

    def encode_text(self, tokens: torch.Tensor) -> torch.Tensor:
        assert not self.model.training and torch.is_inference_mode_enabled()
        self.seen.update(str(row.tolist()) for row in tokens)
        return super().encode_text(tokens)


def watched(clip: Clip) -> Watched:
    clip.model.train()
    return Watched(clip.model, clip.preprocess, clip.tokenize, seen=Counter())


def dot(one: list[float], other: list[float]) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


def slow(clip: Clip, samples: list[Sample]) -> list[dict]:
    """A record after the other, each picture and text encoded alone."""
    rows, scenes = [], []
    for sample in samples:
        record, word = sample.record, sample.record.keyword
        if record.image_id not in scenes:
            scenes.append(record.image_id)
        with torch.no_grad():
            pictures = (sample.picture, sample.negative_picture)
            v, w = (clip.encode_image(np.stack([picture]))[0].tolist() for picture in pictures)
            texts = (record.caption, record.negative_caption)
            t, u = (clip.encode_text(clip.tokenize([text]))[0].tolist() for text in texts)
        rows.append(
            {
                "word": record.caption[word.start : word.end].lower(),
                "lemma": word.lemma,
                "role": word.role,
                "pos": word.pos,
                "concreteness": word.concreteness,
                "scene": scenes.index(record.image_id),
                "length": 1 + record.caption.strip().count(" "),
                "text_similarity": dot(t, u),
                "image_similarity": dot(v, w),
                "own": dot(v, t),
                "edited": dot(w, u),
                "gap_i2t": dot(v, t) - dot(v, u),
                "gap_t2i": dot(v, t) - dot(w, t),
            }
        )
    return rows


@pytest.mark.parametrize("batch", [1, 5, 1000])
def test_columns_are_those_of_the_record_by_record_loop(clip, samples, batch) -> None:
    columns = measure(clip, iter(samples), batch=batch)
    expected = slow(clip, samples)
    assert set(columns) == set(expected[0])
    for name, values in columns.items():
        wanted = [row[name] for row in expected]
        if isinstance(wanted[0], float):
            # Half of the fifth digit, and as much for the rounding of the towers in another batch.
            assert values == pytest.approx(wanted, rel=0, abs=1e-5), name
        else:
            assert values == wanted, name
    gaps = np.array([columns["gap_i2t"], columns["gap_t2i"]])
    assert (gaps > 1e-4).any() and (gaps < -1e-4).any()
    assert len(set(columns["scene"])) == 13 < len(samples) and len(set(columns["role"])) == 3


def test_columns_are_plain_values_of_five_digits(clip, samples) -> None:
    columns = measure(clip, samples, batch=16)
    assert json.loads(json.dumps(columns, allow_nan=False)) == columns
    assert all(float(f"{value:.5g}") == value for value in columns["gap_i2t"] + columns["concreteness"])


def test_each_picture_and_text_is_encoded_once_and_in_eval_mode(clip, samples) -> None:
    given = watched(clip)
    measure(given, samples, batch=len(samples))
    texts = {text for s in samples for text in (s.record.caption, s.record.negative_caption)}
    assert set(given.seen.values()) == {1}
    assert sum(key.startswith("[") for key in given.seen if isinstance(key, str)) == len(texts)
    assert sum(isinstance(key, bytes) for key in given.seen) == 13 + len(samples)


def test_no_more_than_a_batch_of_pictures_is_held(clip, samples) -> None:
    given: list[weakref.ref] = []
    most = 0

    def fresh() -> Iterator[Sample]:
        nonlocal most
        for sample in samples * 2:
            picture = sample.picture.copy()
            given.append(weakref.ref(picture))
            most = max(most, sum(one() is not None for one in given))
            yield replace(sample, picture=picture)
            del picture

    measure(clip, fresh(), batch=4)
    # The batch at hand and the one being gathered, and one that the generator holds.
    assert len(given) > 40 and most <= 2 * 4 + 1


def test_a_small_gap_keeps_its_sign_and_that_of_the_same_picture_is_rounding(clip, samples) -> None:
    """Originals and edits are encoded in two blocks of other sizes, which some processors round otherwise."""
    first = samples[0]
    pixels = first.picture.copy()
    pixels[0, 0, 0] ^= 1
    near, same = replace(first, negative_picture=pixels), replace(first, negative_picture=first.picture)
    columns = measure(clip, [near, same], batch=2)
    assert 1e-7 < abs(columns["gap_t2i"][0]) < 1e-4
    assert abs(columns["gap_t2i"][1]) < 1e-7 and columns["image_similarity"][1] == pytest.approx(1, abs=1e-6)


def test_a_tie_is_not_right(clip, samples) -> None:
    columns = measure(clip, samples[:4], batch=4) | {"gap_t2i": [0.0, 1e-9, -1e-9, 0.0]}
    assert table(columns)["all"]["t2i"]["mean"] == 1 / 4


def test_a_model_that_gives_nan_names_the_record(clip, samples) -> None:
    class Broken(Clip):
        def encode_image(self, pictures: np.ndarray) -> torch.Tensor:
            features = super().encode_image(pictures)
            features[[picture.tobytes() == bad.tobytes() for picture in pictures]] = math.nan
            return features

    bad = samples[5].negative_picture
    with pytest.raises(
        ValueError, match=f"image_similarity of record {samples[5].record.record_id} .* is NaN"
    ):
        measure(Broken(clip.model, clip.preprocess, clip.tokenize), samples, batch=4)


def test_no_records_say_so(clip) -> None:
    with pytest.raises(ValueError, match="no records"):
        measure(clip, [], batch=4)


def columns_by_hand() -> dict:
    return {
        "concreteness": [4.8, 2.0, 3.0, 2.5],
        "text_similarity": [0.9, 0.8, 0.7, 0.6],
        "image_similarity": [0.5, 1.0, 0.5, 1.0],
        "own": [0.3, 0.2, 0.1, 0.0],
        "edited": [0.2, 0.2, 0.2, 0.2],
        "gap_i2t": [0.1, 0.0, -0.1, 1e-7],
        "gap_t2i": [0.1, 0.2, 0.3, 0.4],
    }


def test_table_1_by_hand() -> None:
    page = table(columns_by_hand())
    assert list(page) == ["all", "abstract"]
    every, few = page["all"], page["abstract"]
    assert (every["count"], every["concreteness"]) == (4, 3.075)
    assert (few["count"], few["concreteness"]) == (2, 2.25)  # 3.0 is not below 3
    assert every["i2t"] == {"mean": 0.5, "stderr": 0.25}  # a tie is wrong; sqrt(.5 x .5 / 4)
    assert every["t2i"] == {"mean": 1.0, "stderr": 0.0}
    assert few["i2t"] == {"mean": 0.5, "stderr": round(math.sqrt(0.25 / 2), 5)}
    # Deviations .15, .05, -.05, -.15: variance .0125, of the mean .003125.
    assert every["text_similarity"] == {"mean": 0.75, "stderr": round(math.sqrt(0.003125), 5)}
    assert few["own"] == {"mean": 0.1, "stderr": round(0.1 / math.sqrt(2), 5)}
    assert few["image_similarity"] == {"mean": 1.0, "stderr": 0.0}
    assert every["edited"] == {"mean": 0.2, "stderr": 0.0}
    assert json.loads(json.dumps(page, allow_nan=False)) == page


def test_a_table_without_abstract_words_says_none() -> None:
    page = table(columns_by_hand() | {"concreteness": [4.0, 4.1, 4.2, 4.3]})
    assert page["abstract"] == {"count": 0} and page["all"]["count"] == 4
