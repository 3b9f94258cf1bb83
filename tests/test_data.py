"""Batches: every picture once an epoch and once a batch; a step's batch is a function of the step."""

import numpy as np
import pytest
import torch

from slipform_core.data import Batch, Pool, caption_pool, negative_pool
from slipform_core.records import Caption, HardNegative, Keyword, Provenance


def tokenize(texts) -> torch.Tensor:
    """A text such as "17" as the one token 17."""
    return torch.tensor([[int(text)] for text in texts])


def picture(value: int) -> np.ndarray:
    return np.full((2, 2, 3), value, dtype=np.uint8)


def pool_of(captions_of_each: list[int]) -> Pool:
    """Picture p has the pixel value p; its captions are numbers from 100 p on."""
    captions = [
        Caption(f"picture-{p}", None, str(100 * p + k))
        for p, count in enumerate(captions_of_each)
        for k in range(count)
    ]
    return caption_pool(captions, lambda caption: picture(int(caption.text) // 100), tokenize)


def hard(p: int, k: int) -> tuple[HardNegative, np.ndarray, np.ndarray]:
    """Caption k of picture p: negative caption + 50, its picture's value is p + 100, concreteness 1 + k."""
    keyword = Keyword("dog", "dog", "NOUN", 0, 3, 1.0 + k, "object")
    provenance = Provenance("grammar@1", "render@1", 0)
    record = HardNegative(
        f"picture-{p}", None, str(100 * p + k), keyword, str(100 * p + k + 50), None, provenance
    )
    return record, picture(p), picture(100 + p)


def ids(batch: Batch) -> list[int]:
    return batch.pictures[:, 0, 0, 0].tolist()


@pytest.mark.parametrize(("pictures", "size"), [(12, 4), (13, 4), (5, 5)])
def test_each_picture_comes_once_an_epoch_and_once_a_batch(pictures: int, size: int) -> None:
    pool = pool_of([3] * pictures)
    each = pictures // size
    epochs = []
    for epoch in range(4):
        seen = [picture for at in range(each) for picture in ids(pool.batch(epoch * each + at, size, seed=1))]
        assert len(seen) == len(set(seen)) == each * size
        epochs.append(seen)
    assert len({tuple(seen) for seen in epochs}) == 4
    # What does not fill a batch is left out by the epoch's own permutation, not always the same.
    assert set(range(pictures)) == {picture for seen in epochs for picture in seen}


def test_a_batch_is_a_function_of_step_size_and_seed_alone() -> None:
    pool = pool_of([2] * 30)
    forward = [pool.batch(step, 4, seed=7) for step in range(20)]
    np.random.seed(5)
    torch.manual_seed(5)
    backward = [pool_of([2] * 30).batch(step, 4, seed=7) for step in reversed(range(20))][::-1]
    for one, other in zip(forward, backward, strict=True):
        assert ids(one) == ids(other) and torch.equal(one.tokens, other.tokens)
    assert len({tuple(ids(batch)) for batch in forward}) == 20
    assert ids(pool.batch(0, 4, seed=8)) != ids(forward[0])


def test_a_caption_always_comes_with_its_own_picture() -> None:
    pool = pool_of([1, 4, 2, 5, 1, 3])
    for step in range(60):
        batch = pool.batch(step, 3, seed=2)
        assert (batch.tokens[:, 0] // 100).tolist() == ids(batch)
        assert (
            batch.negative_pictures is None and batch.negative_tokens is None and batch.concreteness is None
        )


def test_each_of_a_picture_s_captions_is_as_likely() -> None:
    pool = pool_of([1, 4, 3])
    drawn = [pool.batch(step, 3, seed=0).tokens[:, 0].tolist() for step in range(3000)]
    counts = dict(zip(*np.unique(drawn, return_counts=True), strict=True))
    assert counts.pop(0) == 3000
    assert all(abs(counts.pop(100 + k) - 750) < 5 * (3000 * 3 / 16) ** 0.5 for k in range(4))
    assert all(abs(counts.pop(200 + k) - 1000) < 5 * (3000 * 2 / 9) ** 0.5 for k in range(3))
    assert not counts


def test_a_negative_comes_with_the_record_that_it_was_made_from() -> None:
    pool = negative_pool([hard(p, k) for p, count in enumerate([2, 1, 3, 1]) for k in range(count)], tokenize)
    assert len(pool) == 4 and pool.tokens.shape == (7, 1)
    assert pool.concreteness.dtype == torch.float32
    seen = set()
    for step in range(40):
        batch = pool.batch(step, 2, seed=3)
        pictures, captions = torch.tensor(ids(batch)), batch.tokens[:, 0]
        assert torch.equal(captions // 100, pictures)
        assert torch.equal(batch.negative_tokens[:, 0], captions + 50)
        assert batch.negative_pictures[:, 0, 0, 0].tolist() == (pictures + 100).tolist()
        assert torch.equal(batch.concreteness, 1.0 + captions % 100)
        seen |= set(captions.tolist())
    assert seen == {0, 1, 100, 200, 201, 202, 300}


@pytest.mark.parametrize("size", [4, 8])
def test_a_pool_that_is_smaller_than_a_batch_names_both_numbers(size: int) -> None:
    with pytest.raises(ValueError, match=f"a batch of {size} pairs .* the pool has 3"):
        pool_of([5] * 3).batch(0, size, seed=0)


def test_records_of_a_picture_must_follow_each_other() -> None:
    apart = [hard(0, 0), hard(1, 0), hard(0, 1)]
    with pytest.raises(ValueError, match="must follow each other"):
        negative_pool(apart, tokenize)
    captions = [Caption(record.image_id, None, record.caption) for record, _, _ in apart]
    with pytest.raises(ValueError, match="must follow each other"):
        caption_pool(captions, lambda caption: picture(0), tokenize)


def test_each_picture_is_drawn_once() -> None:
    drawn = []

    def draw(caption: Caption) -> np.ndarray:
        drawn.append(caption.image_id)
        return picture(0)

    caption_pool([Caption(image, None, "1") for image in "aaabbc"], draw, tokenize)
    assert drawn == ["a", "b", "c"]


def test_an_empty_pool_says_so() -> None:
    with pytest.raises(ValueError, match="no records"):
        caption_pool([], lambda caption: picture(0), tokenize)
    with pytest.raises(ValueError, match="no records"):
        negative_pool([], tokenize)
