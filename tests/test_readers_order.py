"""ARO's order: what a caption's shuffles may be, by the words that have to stay where they are."""

import json
from pathlib import Path

import numpy as np
import pytest
from reader_files import pictures, rules, shown, write
from real_data import DATA, needs_data

from slipform_core.benchmarks import READERS, Photo
from slipform_core.benchmarks.order import ordered, prepared
from slipform_core.benchmarks.retrieval import coco_retrieval
from slipform_core.concreteness import load_pipeline
from slipform_core.mistakes import Mistake

TAGGED = "A/DT black/JJ dog/NN jumps/VBZ over/IN a/DT red/JJ fence/NN near/IN people/NNS"
TAGGED = [tuple(pair.split("/")) for pair in TAGGED.split()]
NAMES, QUALITIES = {"dog", "fence", "people"}, {"black", "red"}


OWN = ["a", "black", "dog", "jumps", "over", "a", "red", "fence", "near", "people"]


def in_three(words: list[str]) -> list[list[str]]:
    return [words[start : start + 3] for start in range(0, len(words), 3)]


def kinds(words: list[str]) -> list[str]:
    return ["noun" if word in NAMES else "quality" if word in QUALITIES else word for word in words]


FITS = {
    "nouns and adjectives": lambda words: kinds(words) == kinds(OWN),
    "all others": lambda words: all(
        (word if word in NAMES | QUALITIES else "") == (own if own in NAMES | QUALITIES else "")
        for word, own in zip(words, OWN, strict=True)
    ),
    "within trigrams": lambda words: list(map(sorted, in_three(words))) == list(map(sorted, in_three(OWN))),
    "trigrams": lambda words: all(" ".join(three) in " ".join(words) for three in in_three(OWN)),
}
# Of three nouns and two adjectives; of five words, "a" twice; of three trigrams; of four parts.
ORDERS = {"nouns and adjectives": 6 * 2, "all others": 60, "within trigrams": 6**3, "trigrams": 24}


def test_each_shuffle_moves_what_it_should_and_nothing_else() -> None:
    seen: dict[str, set[str]] = {kind: set() for kind in FITS}
    for seed in range(1500):
        own, *shuffles = ordered(TAGGED, np.random.default_rng(seed))
        assert own == " ".join(OWN)
        for (kind, fits), text in zip(FITS.items(), shuffles, strict=True):
            assert sorted(text.split()) == sorted(OWN) and text != own
            # one that equals the caption is replaced by another of the item's
            assert fits(text.split()) or shuffles.count(text) > 1
            seen[kind] |= {text} if fits(text.split()) else set()
    assert {kind: len(texts) for kind, texts in seen.items()} == {kind: n - 1 for kind, n in ORDERS.items()}


def test_a_shuffle_that_equals_the_caption_is_replaced_and_asks_nothing() -> None:
    tagged = [("dogs", "NNS"), ("run", "VBP")]  # nothing to exchange but in trigrams
    for seed in range(20):
        assert ordered(tagged, np.random.default_rng(seed)) == ["dogs run", *4 * ["run dogs"]]
    for alone in ([("dogs", "NNS")], [("dogs", "NNS"), ("dogs", "NNS")], [("Dogs", "NNS"), (".", ".")], []):
        assert ordered(alone, np.random.default_rng(0)) == []


def test_a_text_is_prepared_as_the_authors_do() -> None:
    assert (
        prepared(['A "big"', "(red)", "bus!", "*", "can't;", "go", ",", "#1:", "~2."])
        == "a big red bus can't go , 1 2"
    )
    assert prepared(map(str, range(40))) == " ".join(map(str, range(30)))


CAPTIONS = {
    "a.jpg": ["A black dog jumps over a red fence.", "Two people with a dog", "Dogs."],
    "b.jpg": ["A black dog jumps over a red fence.", " "],
}


def karpathy(data: Path, year="") -> Path:
    images = [
        {"filename": name, "split": "test", "sentences": [{"raw": text} for text in texts]}
        | ({"filepath": year} if year else {})
        for name, texts in CAPTIONS.items()
    ]
    images.append(images[0] | {"split": "train", "filename": "c.jpg"})
    name = "coco" if year else "flickr30k"
    return write(data / f"karpathy/dataset_{name}.json", {"images": images})


def test_captions_of_karpathys_test_split_against_their_shuffles(tmp_path) -> None:
    karpathy(tmp_path, year="val2014")
    pictures(tmp_path / "coco-val2014/val2014", *CAPTIONS)
    with pytest.raises(Mistake, match="1 items: no other order of its words; 1 items: no text; --partial"):
        READERS["coco_order"](tmp_path)
    read = READERS["coco_order"](tmp_path, partial=True)
    assert read.left_out == {"no other order of its words": 1, "no text": 1}
    found = shown(read)["all"]
    folder = tmp_path / "coco-val2014/val2014"
    own = [
        "a black dog jumps over a red fence",
        "two people with a dog",
        "a black dog jumps over a red fence",
    ]
    assert [texts[0] for _, texts in found] == own
    assert [place for (place,), _ in found] == [str(folder / name) for name in ("a.jpg", "a.jpg", "b.jpg")]
    assert all(
        len(texts) == 5 and sorted(texts[k].split()) == sorted(texts[0].split())
        for _, texts in found
        for k in range(5)
    )
    assert rules(read) == {"choice"} and read.subsets["coco_order/all"].clusters.tolist() == [0, 0, 1]
    # a generator each: the same when read again, another for the same words of another picture
    assert shown(READERS["coco_order"](tmp_path, partial=True)) == shown(read)
    assert found[0][1] != found[2][1]
    assert set(read.pictures) == set(coco_retrieval(tmp_path, partial=True).pictures)


def test_flickr30k_is_read_where_it_is_handed_out(tmp_path) -> None:
    karpathy(tmp_path)
    pictures(tmp_path / "flickr30k/flickr30k-images", "a.jpg")
    read = READERS["flickr30k_order"](tmp_path, partial=True)
    assert read.pictures == (Photo(str(tmp_path / "flickr30k/flickr30k-images/a.jpg")),)
    assert len(read.subsets["flickr30k_order/all"]) == 2
    assert read.left_out["missing picture"] == 1
    with pytest.raises(Mistake, match="the first would be .*b.jpg"):
        READERS["flickr30k_order"](tmp_path)


def test_a_malformed_file_of_splits_is_named(tmp_path) -> None:
    path = karpathy(tmp_path, year="val2014")
    pictures(tmp_path / "val2014", "a.jpg")
    path.write_text('{"images": [{')
    with pytest.raises(Mistake, match="dataset_coco.json is no JSON"):
        READERS["coco_order"](tmp_path, partial=True)


@needs_data
def test_real_captions_have_other_orders_of_the_same_words() -> None:
    annotations = json.loads((DATA / "coco/annotations/captions_val2017.json").read_text())["annotations"]
    captions = [item["caption"] for item in annotations[:400]]
    for tagged in load_pipeline().tags(captions):
        own, *shuffles = ordered(tagged, np.random.default_rng(0))
        assert len(shuffles) == 4 and own not in shuffles
        if len(own.split()) < 30:
            assert all(sorted(text.split()) == sorted(own.split()) for text in shuffles)
