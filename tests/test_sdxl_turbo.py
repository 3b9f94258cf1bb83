"""The editor of photographs against the plain pipeline of diffusers, with a tiny SDXL on disk."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tiny_sdxl import SIDE, changed, configured, save, save_tiny_vae

from slipform_core.editors.sdxl_turbo import SdxlTurboEditor, editor
from slipform_core.editors.sdxl_turbo.checks import fault
from slipform_core.records import Caption

TEXTS = ["a cat on a dog", "two cats", "a dog on a cat", "red grass"]
SEEDS = [5, 6, 7, 8]
# A batch is summed in another order than one record: a millionth of difference, which may round to a level.
LEVELS = 1

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning:diffusers")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def tiny_vae(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_vae(tmp_path_factory.mktemp("vaes"))


def made(model: Path, **settings) -> SdxlTurboEditor:
    return SdxlTurboEditor(model=str(model), **({"steps": 4, "strength": 0.5, "side": SIDE} | settings))


def photographs(count: int = 4) -> list[Image.Image]:
    """Patches of colour, each picture its own."""
    patches = np.random.default_rng(0).integers(256, size=(count, 8, 8, 3), dtype=np.uint8)
    return [Image.fromarray(patch).resize((SIDE, SIDE)) for patch in patches]


def named(*names: str) -> list[Caption]:
    return [Caption(name, None, "a dog") for name in names]


def edited(by: SdxlTurboEditor, rows: slice = slice(4), seeds: list[int] = SEEDS) -> np.ndarray:
    edits = by.edit(named(*"abcd")[rows], photographs()[rows], TEXTS[rows], seeds=seeds[rows])
    assert [edit.fault for edit in edits] == [None] * len(edits)
    return np.stack([np.asarray(edit.image) for edit in edits]).astype(int)


def difference(one: np.ndarray, other: np.ndarray) -> int:
    return np.abs(one - other).max()


def plainly(model: Path, monkeypatch: pytest.MonkeyPatch, **settings) -> np.ndarray:
    """What the pipeline makes by itself, from pictures and texts, its VAE at the posterior's mode."""
    from diffusers import StableDiffusionXLImg2ImgPipeline
    from diffusers.models.autoencoders.vae import DiagonalGaussianDistribution

    monkeypatch.setattr(DiagonalGaussianDistribution, "sample", lambda self, generator=None: self.mode())
    pipe = StableDiffusionXLImg2ImgPipeline.from_pretrained(model, add_watermarker=False, **settings)
    pipe.set_progress_bar_config(disable=True)
    generators = [torch.Generator().manual_seed(seed) for seed in SEEDS]
    pictures = pipe(
        TEXTS,
        image=photographs(),
        num_inference_steps=4,
        strength=0.5,
        guidance_scale=0.0,
        generator=generators,
    ).images
    monkeypatch.undo()
    return np.stack([np.asarray(picture) for picture in pictures]).astype(int)


def test_the_tiny_model_heeds_picture_text_and_seed(tiny: Path) -> None:
    """Else no comparison here would say anything."""
    by, photos = made(tiny), photographs()
    [base] = edited(by, slice(1))
    for picture, text, seed in ((photos[1], TEXTS[0], 5), (photos[0], TEXTS[1], 5), (photos[0], TEXTS[0], 6)):
        [other] = by.edit(named(str(id(picture))), [picture], [text], seeds=[seed])
        assert np.abs(np.asarray(other.image) - base).mean() > 5


def test_the_same_pictures_as_of_the_plain_pipeline(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, by = plainly(tiny, monkeypatch), made(tiny)
    assert difference(edited(by), expected) <= LEVELS
    assert difference(edited(by), expected) <= LEVELS, "from kept latents and embeddings"


def test_latents_of_a_vae_with_mean_and_deviation(tiny: Path, tmp_path: Path, monkeypatch) -> None:
    statistics = {"latents_mean": [0.5, -1.0, 2.0, 0.1], "latents_std": [2.0, 1.5, 3.0, 0.7]}
    model = configured(tiny, tmp_path / "scaled", "vae", statistics)
    expected = plainly(model, monkeypatch)
    assert difference(edited(made(model)), expected) <= LEVELS
    assert difference(edited(made(tiny)), expected) > 20


def test_a_vae_without_a_posterior(tiny: Path, tiny_vae: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from diffusers import AutoencoderTiny

    expected = plainly(tiny, monkeypatch, vae=AutoencoderTiny.from_pretrained(tiny_vae))
    assert difference(edited(made(tiny, vae=str(tiny_vae))), expected) <= LEVELS


def test_a_record_alone_and_in_a_batch_is_the_same_picture_in_its_place(tiny: Path) -> None:
    alone = np.concatenate([edited(made(tiny), slice(row, row + 1)) for row in range(4)])
    for batch in (1, 3, 8):
        assert difference(edited(made(tiny, batch=batch)), alone) <= LEVELS


def test_the_seed_alone_decides_the_noise(tiny: Path) -> None:
    torch.manual_seed(1)
    first = edited(made(tiny))
    torch.manual_seed(2)
    again, other = edited(made(tiny)), edited(made(tiny), seeds=[9, *SEEDS[1:]])
    assert (first == again).all()
    assert (first[1:] == other[1:]).all()
    assert np.abs(first[0] - other[0]).mean() > 5


def counted(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> list[int]:
    """Rows of each call of a method."""
    rows, real = [], getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda x, *a, **k: (rows.append(len(x)), real(x, *a, **k))[1])
    return rows


def test_a_picture_is_encoded_once_and_so_is_a_text(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by, photos = made(tiny), photographs()
    pictures = counted(monkeypatch, by._pipe.vae, "encode")
    texts = counted(monkeypatch, by._pipe.text_encoder, "forward")
    by.edit(named(*"aab"), [photos[0], photos[0], photos[1]], TEXTS[:3], seeds=SEEDS[:3])
    assert (pictures, texts) == ([2], [3])
    by.edit(named(*"ba"), [photos[1], photos[0]], [TEXTS[3], TEXTS[0]], seeds=SEEDS[:2])
    assert (pictures, texts) == ([2], [3, 1])


def test_what_is_kept_stays_bounded(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(editor, "SOURCES", 2)
    monkeypatch.setattr(editor, "PROMPTS", 3)
    by = made(tiny)
    everything = edited(by)
    assert (len(by._sources), len(by._prompts)) == (2, 3)
    kept = [*by._sources._kept.values(), *(row for rows in by._prompts._kept.values() for row in rows)]
    assert all(row.untyped_storage().nbytes() == row.nbytes for row in kept), "a view keeps its whole batch"
    pictures = counted(monkeypatch, by._pipe.vae, "encode")
    for row in (2, 0, 2, 3):  # "a" is gone, and pushes out "d", since "c" was used after it
        [again] = edited(by, slice(row, row + 1))
        assert difference(again, everything[row]) <= LEVELS
    assert pictures == [1, 1]


def test_a_model_of_nan(tiny: Path, tmp_path: Path) -> None:
    model = changed(tiny, tmp_path / "nan", "unet", lambda state: state["conv_out.bias"].fill_(torch.nan))
    edits = made(model).edit(named(*"ab"), photographs(2), TEXTS[:2], seeds=SEEDS[:2])
    assert edits == [(None, None, "not a number")] * 2


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_pixels_that_are_no_numbers(tiny: Path, tmp_path: Path, value: float) -> None:
    model = changed(tiny, tmp_path / "nan", "vae", lambda state: state["decoder.conv_out.bias"].fill_(value))
    [edit] = made(model).edit(named("a"), photographs(1), TEXTS[:1], seeds=SEEDS[:1])
    assert edit == (None, None, "not a number")


def test_a_bad_record_leaves_its_batch_alone(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound, by = edited(made(tiny)), made(tiny)

    def spoil(module, arguments, output):
        output[0][1, 0, 0, 0] = torch.inf

    by._pipe.unet.register_forward_hook(spoil)
    edits = by.edit(named(*"abcd"), photographs(), TEXTS, seeds=SEEDS)
    assert [edit.fault for edit in edits] == [None, "not a number", None, None]
    for row in (0, 2, 3):
        assert (np.asarray(edits[row].image) == sound[row]).all()


def painted(level: float) -> Callable[[dict[str, torch.Tensor]], None]:
    """A decoder that makes every picture one grey."""

    def change(state: dict[str, torch.Tensor]) -> None:
        state["decoder.conv_out.weight"].zero_()
        state["decoder.conv_out.bias"].fill_(2 * level / 255 - 1)

    return change


@pytest.mark.parametrize("level", [-40, 0, 10])
def test_a_black_picture(tiny: Path, tmp_path: Path, level: int) -> None:
    model = changed(tiny, tmp_path / "black", "vae", painted(level))
    [edit] = made(model).edit(named("a"), photographs(1), TEXTS[:1], seeds=SEEDS[:1])
    assert edit == (None, None, "black")


def test_a_picture_that_is_the_original(tiny: Path, tmp_path: Path) -> None:
    model = changed(tiny, tmp_path / "grey", "vae", painted(100))
    greys = [Image.new("RGB", (SIDE, SIDE), (level,) * 3) for level in (100, 103, 101)]
    edits = made(model).edit(named(*"abc"), greys, TEXTS[:3], seeds=SEEDS[:3])
    assert [edit.fault for edit in edits] == ["unchanged", None, None]
    assert (np.asarray(edits[1].image) == 100).all()


def test_where_black_and_unchanged_begin() -> None:
    rng = np.random.default_rng(0)
    photograph = rng.integers(256, size=(64, 64, 3), dtype=np.uint8)
    night = rng.integers(0, 16, size=(64, 64, 3), dtype=np.uint8)
    lamp, stars, star = night.copy(), np.zeros_like(night), np.zeros_like(night)
    lamp[:4, :4], stars[:1], star[0, 0] = 255, 255, 255
    for picture, expected in ((night, "black"), (lamp, None), (stars, None), (star, "black")):
        assert fault(picture, photograph) == expected
    almost = photograph.copy()
    almost[:, :8] ^= 1
    assert fault(almost, photograph) == fault(photograph, photograph) == "unchanged"
    assert fault(255 - photograph, photograph) is None


@pytest.mark.parametrize(
    ("mode", "size"), [("L", (SIDE, SIDE)), ("RGBA", (SIDE, SIDE)), ("RGB", (SIDE, 8)), ("RGB", (64, 64))]
)
def test_a_picture_that_was_not_prepared_is_named(tiny: Path, mode: str, size: tuple[int, int]) -> None:
    odd = f"'odd' is {mode} of {size[0]} x {size[1]}, and should be RGB of 32 x 32"
    with pytest.raises(ValueError, match=odd):
        made(tiny).edit(
            named("a", "odd"), [photographs(1)[0], Image.new(mode, size)], TEXTS[:2], seeds=SEEDS[:2]
        )


def test_there_is_a_seed_for_each_record(tiny: Path) -> None:
    with pytest.raises(ValueError, match="argument 4"):
        made(tiny).edit(named("a"), photographs(1), TEXTS[:1], seeds=[])


def test_compiled_it_makes_the_same(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, real = [], torch.compile

    def eagerly(function, **settings):
        compiled.append(type(function.__self__).__name__)
        return real(function, backend="eager", **settings)

    plain = edited(made(tiny))
    monkeypatch.setattr(torch, "compile", eagerly)
    assert difference(edited(made(tiny, compile=True)), plain) <= LEVELS
    assert compiled == ["UNet2DConditionModel", "Decoder"]
