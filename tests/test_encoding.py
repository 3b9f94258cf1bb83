"""The encoder: pictures in memory and on disk, before and after the projection, each encoded once."""

import weakref
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from small_clip import small_clip

import slipform_core.torchvision_import  # noqa: F401, before open_clip
from slipform_core.benchmarks import Photo
from slipform_core.evaluation import Encoder, threads
from slipform_core.evaluation.encoding import UnreadablePictures
from slipform_core.mistakes import BadPicture, Mistake


def drawn(count: int, seed: int = 0) -> list[Image.Image]:
    pixels = np.random.default_rng(seed).integers(256, size=(count, 40, 50, 3), dtype=np.uint8)
    return [Image.fromarray(each) for each in pixels]


def saved(folder: Path, count: int) -> list[Photo]:
    places = [str(folder / f"{number}.png") for number in range(count)]
    for place, picture in zip(places, drawn(count), strict=True):
        picture.save(place)
    return [Photo(place) for place in places]


def hooked(clip, module, pictures, *, inputs: bool = False) -> torch.Tensor:
    """What a part of the tower gives, or gets, while plain open_clip encodes each picture alone."""
    seen = []

    def keep(_, given, made):
        seen.append((given[0] if inputs else made).detach())

    handle = module.register_forward_hook(keep)
    with torch.no_grad():
        for picture in pictures:
            clip.model.encode_image(clip.transform(picture)[None])
    handle.remove()
    return torch.cat(seen)


VISION_TRANSFORMERS = {
    "tok": ({}, lambda normed: normed[:, 0]),
    "avg": ({"pool_type": "avg"}, lambda normed: normed[:, 1:].mean(dim=1)),
    "last-norm": ({"pool_type": "avg", "final_ln_after_pool": True}, lambda normed: normed),
}


@pytest.mark.parametrize("name", VISION_TRANSFORMERS)
def test_features_before_the_projection_are_what_the_last_norm_gives(name: str, tmp_path: Path) -> None:
    vision, pooled = VISION_TRANSFORMERS[name]
    clip, pictures = small_clip(tmp_path, name, **vision), drawn(5)
    found = Encoder(clip, batch=2).pictures(pictures, projected=False)
    assert found.shape == (5, 32) and found.dtype == np.float32
    np.testing.assert_allclose(found, pooled(hooked(clip, clip.model.visual.ln_post, pictures)), atol=1e-5)
    assert (abs(np.linalg.norm(found, axis=1) - 1) > 0.1).all(), "not normalised"
    through = found @ clip.model.visual.proj.detach().numpy()
    units = through / np.linalg.norm(through, axis=1, keepdims=True)
    np.testing.assert_allclose(Encoder(clip).pictures(pictures), units, atol=1e-5)


def test_a_timm_tower_ends_in_a_linear_layer(tmp_path: Path) -> None:
    timm = {"timm_model_name": "test_vit", "timm_pool": "token", "image_size": 160}
    clip, pictures = small_clip(tmp_path, "timm", **timm), drawn(3)
    found = Encoder(clip).pictures(pictures, projected=False)
    expected = hooked(clip, clip.model.visual.head.proj, pictures, inputs=True)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("vision", "tower"),
    [
        ({"layers": [1, 1, 1, 1], "width": 16}, "ModifiedResNet"),
        ({"timm_model_name": "test_vit", "timm_proj": "mlp", "timm_pool": "token"}, "TimmModel"),
        ({"timm_model_name": "test_vit", "timm_proj": "", "timm_pool": "token"}, "TimmModel"),
    ],
)
def test_towers_without_a_projection_of_their_own_are_named(vision, tower: str, tmp_path: Path) -> None:
    side = 160 if "timm_model_name" in vision else 32
    clip = small_clip(tmp_path, "other", image_size=side, **vision)
    with pytest.raises(Mistake, match=f"^the vision tower {tower} has no projection of its own"):
        Encoder(clip).pictures(drawn(1), projected=False)
    assert Encoder(clip).pictures(drawn(1)).shape == (1, 16)


def test_one_encoding_serves_both_sides_of_the_projection(tmp_path: Path) -> None:
    clip, photos = small_clip(tmp_path), saved(tmp_path, 7)
    before = Encoder(clip, batch=3)
    wide, narrow = before.pictures(photos, projected=False), before.pictures(photos)
    assert before.encoded["pictures"] == 7 and wide.shape == (7, 32) and narrow.shape == (7, 16)
    after = Encoder(clip, batch=3)
    np.testing.assert_allclose(after.pictures(photos), narrow, atol=1e-6)
    np.testing.assert_allclose(after.pictures(photos, projected=False), wide, atol=1e-6)
    assert after.encoded["pictures"] == 14, "the second question came when only the first was kept"
    again = Encoder(clip, folder=tmp_path / "kept")
    again.pictures(photos, projected=False)
    later = Encoder(clip, folder=tmp_path / "kept")
    np.testing.assert_array_equal(later.pictures(photos), again.pictures(photos))
    later.pictures(photos, projected=False)
    assert later.encoded["pictures"] == 0


def test_half_a_character_is_no_question_mark(tmp_path: Path) -> None:
    encoder = Encoder(small_clip(tmp_path, "encoding-half"))
    encoder.texts(["a dog ?", "a dog \ud800"])
    assert encoder.encoded["texts"] == 2


def test_pictures_in_memory_are_known_by_their_pixels(tmp_path: Path) -> None:
    clip, (one, two, three) = small_clip(tmp_path), drawn(3)
    encoder = Encoder(clip)
    stack = encoder.pictures([one, two, one.copy(), three.convert("RGBA"), three])
    assert encoder.encoded["pictures"] == 3
    for left, right in [(0, 2), (3, 4)]:
        np.testing.assert_array_equal(stack[left], stack[right])
    assert (stack[0] != stack[1]).any() and (stack[1] != stack[3]).any()
    with torch.no_grad():
        alone = clip.model.encode_image(clip.transform(two)[None], normalize=True)
    np.testing.assert_allclose(stack[1], alone[0], atol=1e-5)


def test_pictures_of_like_bytes_and_other_looks_are_others(tmp_path: Path) -> None:
    """The bytes of a palette's picture are places in the palette; of one turned they are the same."""
    encoder = Encoder(small_clip(tmp_path))
    numbers = np.random.default_rng(0).integers(4, size=(40, 50), dtype=np.uint8)
    red, blue = (Image.fromarray(numbers, mode="P") for _ in range(2))
    red.putpalette([0, 0, 0, 255, 0, 0, 99, 0, 0, 9, 9, 9])
    blue.putpalette([0, 0, 0, 0, 0, 255, 0, 0, 99, 9, 200, 9])
    flat = Image.fromarray(np.array(red.convert("RGB")).reshape(50, 40, 3))
    found = encoder.pictures([red, blue, flat])
    assert encoder.encoded["pictures"] == 3
    assert (found[0] != found[1]).any() and (found[0] != found[2]).any()


def test_a_generator_is_read_once_and_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "READ", 4)
    monkeypatch.setattr(threads, "HELD", 4)
    clip, photos, pictures = small_clip(tmp_path), saved(tmp_path, 11), drawn(6, seed=1)
    order = [*photos[:5], *pictures, photos[2], pictures[0], *photos[5:], photos[0]]
    encoder, asked = Encoder(clip, batch=2), []

    def stream():
        for number, each in enumerate(order):
            asked.append(number)
            yield each

    found = encoder.pictures(stream())
    assert asked == list(range(len(order))) and encoder.encoded["pictures"] == 17
    alone = np.concatenate([Encoder(clip).pictures([each]) for each in order])
    np.testing.assert_allclose(found, alone, atol=1e-6)


def test_what_failed_is_read_again(tmp_path: Path) -> None:
    clip, photos = small_clip(tmp_path), saved(tmp_path, 3)
    encoder, good = Encoder(clip), clip.model.visual.forward

    def fails(pixels):
        raise RuntimeError("out of memory")

    clip.model.visual.forward = fails
    with pytest.raises(RuntimeError, match="out of memory"):
        encoder.pictures(photos)
    clip.model.visual.forward = good
    np.testing.assert_array_equal(encoder.pictures(photos), Encoder(clip).pictures(photos))
    assert encoder.encoded["pictures"] == 3


def test_a_photograph_that_cannot_be_read_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "bad.jpg").write_bytes(b"no picture")
    encoder = Encoder(small_clip(tmp_path))
    for name, why in (("bad.jpg", "damaged picture"), ("none.jpg", "missing picture")):
        with pytest.raises(BadPicture) as bad:
            encoder.pictures([Photo(str(tmp_path / name))])
        assert str(bad.value) == f"{why}: {tmp_path / name}"


def split(texts, context_length: int = 5, *, end: int, pad: int, keep: bool) -> torch.Tensor:
    """Tokens as transformers' tokenizers give them: words, an end if it is kept, padding."""
    rows = torch.full((len(texts), context_length), pad)
    for row, text in zip(rows, texts, strict=True):
        ids = [100 + len(word) for word in text.split()][: context_length - 1] + [end]
        ids = ids if keep else ids[:-1] + [pad]
        row[: len(ids)] = torch.tensor(ids)
    return rows


@pytest.mark.parametrize(
    ("end", "pad", "keep"),
    [(2, 0, True), (1, 1, True), (2, 0, False)],
    ids=["open_clip", "SigLIP, whose end is its padding", "CLIPA, which strips its end"],
)
def test_texts_that_the_model_cuts_are_found_with_any_tokenizer(end, pad, keep, tmp_path: Path) -> None:
    clip = replace(small_clip(tmp_path), tokenize=partial(split, end=end, pad=pad, keep=keep))
    encoder = Encoder(clip)
    texts = ["a bb", "aa bb cc dd", "aa bb cc dd e", "aa bb cc dd eee fff", "aa bb cc \ud83d"]
    assert encoder.context == 5
    assert encoder.cut(texts) == ["aa bb cc dd e", "aa bb cc dd eee fff"]


def test_a_tokenizer_that_refuses_long_texts_cuts_none(tmp_path: Path) -> None:
    def refusing(texts):
        return torch.zeros(len(texts), 5, dtype=torch.long)

    assert Encoder(replace(small_clip(tmp_path), tokenize=refusing)).cut(["a text of many characters"]) == []


def test_all_damaged_files_are_named_those_of_equal_bytes_too(tmp_path: Path) -> None:
    photos = saved(tmp_path, 7)
    for number in (1, 3, 4):
        Path(photos[number].place).write_bytes(b"")
    Path(photos[5].place).unlink()
    encoder = Encoder(small_clip(tmp_path), batch=2)
    for projected in (True, False):
        with pytest.raises(UnreadablePictures, match="4 pictures cannot be read, the first: ") as bad:
            encoder.pictures(photos, projected=projected)
        assert set(bad.value.why) == {photos[number].place for number in (1, 3, 4, 5)}
        assert bad.value.why[photos[5].place] == "missing picture"
    good = [photos[number] for number in (0, 2, 6)]
    assert encoder.encoded["pictures"] == 6, "three before the projection, three more after it"
    # Other batches round otherwise, in the last digits of float32.
    np.testing.assert_allclose(encoder.pictures(good), Encoder(encoder.clip).pictures(good), atol=1e-6)


def test_texts_that_the_model_cuts_to_the_same_tie_to_the_last_bit(tmp_path: Path) -> None:
    """However they fall into batches, whose shape changes the rounding."""
    texts = [f"{'a dog and a cat ' * 30}{number}" for number in range(7)] + ["a dog", "a cat"]
    for batch in (1, 2, 5):
        encoder = Encoder(small_clip(tmp_path), batch=batch)
        found = encoder.texts(texts)
        assert (found[:7] == found[0]).all() and (found[7:] != found[0]).any(axis=1).all()
        assert encoder.encoded["texts"] == 3


def test_few_pictures_in_memory_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "HELD", 4)
    given, most = [], 0

    def stream():
        nonlocal most
        for seed in range(60):
            [picture] = drawn(1, seed)
            given.append(weakref.ref(picture))
            yield picture
            del picture
            most = max(most, sum(one() is not None for one in given))

    Encoder(small_clip(tmp_path), batch=2).pictures(stream())
    assert most <= 3 * 4


def test_a_device_without_memory_is_a_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clip = small_clip(tmp_path)

    def fails(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    for tower in (clip.model.visual, clip.model.transformer):
        monkeypatch.setattr(tower, "forward", fails)
    for ask in (lambda: Encoder(clip).pictures(drawn(1)), lambda: Encoder(clip).texts(["a dog"])):
        with pytest.raises(Mistake, match="a smaller --batch-size"):
            ask()
