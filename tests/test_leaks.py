"""Leaks between made-up shards and photographs, hashes by slow loops, and measured on real pictures."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from real_data import DATA, needs_data

from slipform_core.benchmarks import Photo
from slipform_core.evaluation.leaks import (
    NEAR,
    difference_hash,
    find_leaks,
    picture_key,
    read_trained,
)
from slipform_core.evaluation.leaks import _nearest as nearest
from slipform_core.records import HardNegative, Keyword, Provenance
from slipform_core.shards import DamagedShard, Sample, enter, shard_name, write_shard
from slipform_core.sources import photographs


def photograph(seed: int, size: tuple[int, int] = (300, 224)) -> Image.Image:
    """Broad patches of colour, as a photograph has: no two seeds alike."""
    patches = np.random.default_rng(seed).integers(0, 256, (12, 12, 3), dtype=np.uint8)
    return Image.fromarray(patches).resize(size, Image.Resampling.BICUBIC)


def kept(picture: Image.Image, side: int = 224) -> np.ndarray:
    """What ConcreteBatch keeps: the middle, encoded again."""
    stream = io.BytesIO()
    photographs.square(picture, side).save(stream, format="JPEG", quality=75)
    return np.asarray(Image.open(stream))


def planted(folder: Path, rows, shard: int = 0) -> Path:
    """A ConcreteBatch of rows (image_id, image_path, negative_image_path, picture, other picture)."""
    folder.mkdir(exist_ok=True)
    keyword, made_by = Keyword("dog", "dog", "NOUN", 2, 5, 4.85, "object"), Provenance("a@1", "b@1", 0)
    samples = [
        Sample(
            HardNegative(image, path, "a dog", keyword, f"a cat {k}", other, made_by), kept(one), kept(two)
        )
        for k, (image, path, other, one, two) in enumerate(rows)
    ]
    shard = write_shard(
        folder, shard_name(shard), samples, source="x", captions=9, rejected=lambda: {}, quality=95
    )
    enter(folder, shard)
    return folder


def saved(folder: Path, name: str, picture: Image.Image) -> Photo:
    folder.mkdir(exist_ok=True)
    picture.save(folder / name, quality=90)
    return Photo(str(folder / name))


@pytest.mark.parametrize(
    ("place", "key"),
    [
        ("coco/val2017/000000123456.jpg", "COCO 123456"),
        ("COCO_val2014_000000123456.jpg", "COCO 123456"),
        ("/x/COCO_train2014_000000123456.JPG", "COCO 123456"),
        ("000000000009.jpeg", "COCO 9"),
        ("flickr30k/123456.jpg", "123456.jpg"),
        ("a000000123456.jpg", "a000000123456.jpg"),
        ("/x/all.tar#512+9000", "/x/all.tar#512+9000"),
        ("/x/part.parquet#image@3", "/x/part.parquet#image@3"),
    ],
)
def test_a_photograph_is_named_by_cocos_number_or_its_file(place, key):
    assert picture_key(place) == key


def test_a_hash_is_the_sign_of_each_step_to_the_right():
    values = np.random.default_rng(0).integers(0, 256, (8, 9), dtype=np.uint8)
    expected = 0
    for row in range(8):
        for column in range(8):
            expected = 2 * expected + int(values[row, column + 1] > values[row, column])
    assert difference_hash(Image.fromarray(values)) == expected
    flat = Image.new("RGB", (50, 40), "grey")
    assert difference_hash(flat) == 0 and difference_hash(Image.fromarray(values[:, ::-1])) != expected


@pytest.mark.parametrize("cells", [1, 50, 1 << 22])
def test_the_nearest_is_that_of_a_loop_and_a_flat_picture_has_none(monkeypatch, cells):
    from slipform_core.evaluation import leaks

    monkeypatch.setattr(leaks, "CELLS", cells)
    rng = np.random.default_rng(0)
    ours, theirs = (rng.integers(0, 2**64, size, dtype=np.uint64) for size in ((20, 2), 30))
    ours[3] = 0
    theirs[4] = ours[5, 1] ^ np.uint64(0b101)
    theirs[6], ours[8, 0] = 0, 0b11  # two bits from a picture without any edge
    distances, which = nearest(ours, theirs)
    for row, (distance, place) in enumerate(zip(distances, which, strict=True)):
        apart = [
            min((int(one ^ other).bit_count() for one in ours[row] if one and other), default=65)
            for other in theirs
        ]
        assert (distance, place) == (min(apart), apart.index(min(apart)))
    assert distances[5] == 2 and distances[3] == 65
    assert nearest(ours, theirs[:0])[0].tolist() == [65] * 20


def test_leaks_are_found_by_name_and_by_sight_in_originals_and_the_others(tmp_path):
    coco = "COCO_train2014_000000000001.jpg"
    rows = [
        (coco, f"/c/{coco}", None, photograph(1), photograph(2)),
        (coco, f"/c/{coco}", "x/other.jpg", photograph(1), photograph(3)),
        ("mine.jpg", "/c/mine.jpg", None, photograph(4), photograph(5)),
        ("square.jpg", "/c/square.jpg", None, photograph(6, (224, 224)), photograph(7)),
    ]
    folder = planted(tmp_path / "batch", rows)
    test = tmp_path / "test"
    photos = [
        saved(test, "000000000001.jpg", photograph(11)),  # the name alone
        saved(test, "other.jpg", photograph(3)),  # both
        saved(test, "renamed.jpg", photograph(4)),  # sight alone
        saved(test, "squeezed.png", photograph(6, (500, 200))),  # sight, of all of it
        saved(test, "edited.jpg", photograph(5)),
        saved(test, "clean.jpg", photograph(12)),
        saved(test, "flat.png", Image.new("RGB", (64, 64), "white")),
        Photo(str(test / "absent.jpg")),
    ]
    boxed = Photo(photos[2].place, (0, 0, 40, 40))
    found = find_leaks(read_trained([folder]), [*photos, boxed, photos[0]])
    assert (found.trained, found.tested) == (7, 8)
    assert (found.by_name, found.by_sight, found.by_either) == (2, 4, 5)
    assert found.named == (("000000000001.jpg", coco), ("other.jpg", "other.jpg"))
    assert found.seen[:3] == (
        ("other.jpg", "other.jpg"),
        ("renamed.jpg", "mine.jpg"),
        ("squeezed.png", "square.jpg"),
    )
    assert found.seen[3][1].startswith("the edit of record ")
    assert found.unread == {"missing picture": 1}


def test_the_text_names_the_first_and_says_what_was_not_looked_at(tmp_path):
    rows = [(f"{k}.jpg", f"/c/{k}.jpg", None, photograph(k), photograph(100 + k)) for k in range(7)]
    folder = planted(tmp_path / "batch", rows)
    photos = [saved(tmp_path / "test", f"{k}.jpg", photograph(200 + k)) for k in range(7)]
    said = str(find_leaks(read_trained([folder]), [*photos, Photo("nowhere.jpg")])).splitlines()
    assert said == [
        "7 of 8 test pictures are among 14 trained on",
        "by name: 7 (0.jpg is 0.jpg, 1.jpg is 1.jpg, 2.jpg is 2.jpg, 3.jpg is 3.jpg, 4.jpg is 4.jpg, …)",
        "by sight: 0",
        "not looked at: 1, missing picture",
    ]
    assert str(find_leaks(read_trained([]), photos)).startswith("0 of 7 test pictures are among 0 trained on")


def test_folders_add_and_equal_names_of_other_pictures_are_both_looked_at(tmp_path):
    one = planted(tmp_path / "one", [("1.jpg", None, None, photograph(1), photograph(2))])
    two = planted(tmp_path / "two", [("1.jpg", None, None, photograph(3), photograph(2))])
    photos = [
        saved(tmp_path / "test", "a.png", photograph(1)),
        saved(tmp_path / "test", "b.png", photograph(3)),
    ]
    found = find_leaks(read_trained([one, two]), photos)
    assert found.seen == (("a.png", "1.jpg"), ("b.png", "1.jpg"))
    assert (found.trained, found.by_name) == (3, 0)
    assert find_leaks(read_trained([one]), photos).by_sight == 1


def test_pictures_in_memory_are_looked_at_by_sight_and_go_by_their_number(tmp_path):
    folder = planted(tmp_path / "batch", [("1.jpg", None, None, photograph(1), photograph(2))])
    tested = (each for each in [photograph(3), photograph(1), Image.new("RGB", (40, 40)), photograph(2)])
    found = find_leaks(read_trained([folder]), tested)
    assert (found.tested, found.by_name, found.by_sight) == (4, 0, 2)
    assert [name for name, _ in found.seen] == ["picture number 1", "picture number 3"]


def test_a_damaged_shard_is_an_error(tmp_path):
    folder = planted(tmp_path / "batch", [("1.jpg", None, None, photograph(1), photograph(2))])
    with (folder / shard_name(0)).open("ab") as stream:
        stream.write(b"x")
    with pytest.raises(DamagedShard):
        find_leaks(read_trained([folder]), [])


@needs_data
def test_real_photographs_are_seen_again_after_they_were_kept_and_no_others(tmp_path):
    places = sorted((DATA / "coco/val2017").glob("*.jpg"))
    others = sorted((DATA / "flickr8k/images").glob("*.jpg"))[:150]
    trained, tested = places[:150], [Photo(str(path)) for path in places]
    rows = [
        (f"t{k}.jpg", None, f"o{k}.jpg", photographs.read(str(one), 224), photographs.read(str(two), 224))
        for k, (one, two) in enumerate(zip(trained, others, strict=True))
    ]
    found = find_leaks(read_trained([planted(tmp_path / "batch", rows)]), tested)
    assert (found.trained, found.tested, found.by_name) == (300, 283, 0)
    assert 148 <= found.by_sight <= 150
    none = find_leaks(read_trained([tmp_path / "batch"]), tested[150:])
    assert none.by_sight == 0 and not none.unread
    pixels = [photographs.whole(path.read_bytes()) for path in places[:60]]
    hashes = [difference_hash(picture) for picture in pixels]
    apart = [(one ^ other).bit_count() for k, one in enumerate(hashes) for other in hashes[:k]]
    assert min(apart) > 2 * NEAR
