"""Records against values written by hand."""

import dataclasses
import json

import pytest

from slipform_core.records import ROLES, Caption, HardNegative, Keyword, Provenance, Score


@pytest.fixture
def record():
    keyword = Keyword("dog", "dog", "NOUN", 2, 5, 4.85, "object")
    made_by = Provenance("grammar@1", "render@1", 7)
    return HardNegative("train-1", None, "a dog", keyword, "a cat", "n.png", made_by)


def test_a_record_survives_json(record):
    assert HardNegative.from_json(json.loads(json.dumps(record.to_json()))) == record


def test_a_field_that_no_record_has_is_refused(record):
    with pytest.raises(TypeError, match="shape"):
        HardNegative.from_json(record.to_json() | {"shape": 3})


def test_the_record_id_is_of_the_picture_and_both_captions_alone(record):
    assert record.record_id == "379a2489518842de"
    same = {
        "image_path": "elsewhere.png",
        "negative_image_path": None,
        "keyword": dataclasses.replace(record.keyword, concreteness=1.0),
        "provenance": Provenance("lexical@2", "retrieve@1", 8),
    }
    others = {"image_id": "train-2", "caption": "the dog", "negative_caption": "a cow"}
    for field, value in same.items():
        assert dataclasses.replace(record, **{field: value}).record_id == record.record_id, field
    ids = {dataclasses.replace(record, **{field: value}).record_id for field, value in others.items()}
    assert len(ids | {record.record_id}) == 4


def test_words_do_not_run_together_in_a_record_id(record):
    one = dataclasses.replace(record, caption="a dog", negative_caption="s a cat")
    other = dataclasses.replace(record, caption="a dogs", negative_caption=" a cat")
    assert one.record_id != other.record_id


def test_records_are_frozen_and_hold_nothing_else(record):
    caption, score = Caption("1", None, "a dog"), Score("world", "swap_obj", "i2t", 0.5, 10, 0.1)
    for frozen in (record, record.keyword, record.provenance, caption, score):
        field = dataclasses.fields(frozen)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(frozen, field, "other")
        assert not hasattr(frozen, "__dict__")


def test_the_roles_are_aro():
    assert ROLES == ("object", "attribute", "relation")
