"""The tiny CLIP against open_clip's own code, its tokenizer, its seeds, and its weights on disk."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.nn.functional import normalize

from slipform_core import models
from slipform_core.models import MODELS, Clip, WordTokenizer, load_weights, save_weights

WORDS = ("a", "dog", "red", "left", "of", "2", "cup")
TEXTS = ["A red dog.", "a cup left of a red dog on a cup", "", "2 dogs!", "a " * 37 + "dog"]


@pytest.fixture(scope="module")
def clip() -> Clip:
    made = MODELS["slipform-tiny"](WORDS, seed=3)
    made.model.eval()
    return made


def pictures(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(256, size=(count, 64, 64, 3), dtype=np.uint8)


def state(clip: Clip) -> dict[str, torch.Tensor]:
    return clip.model.state_dict()


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_words_get_their_ids_and_unknown_ones_the_unknown_id() -> None:
    tokenize = WordTokenizer(WORDS, vocabulary=20, context=8)
    assert tokenize(["A red, DOG!", "2 cups", ""]).tolist() == [
        [18, 2, 4, 3, 19, 0, 0, 0],
        [18, 7, 1, 19, 0, 0, 0, 0],
        [18, 19, 0, 0, 0, 0, 0, 0],
    ]
    tokens = tokenize(["a " * 6])
    assert tokens.dtype == torch.long and tokens.tolist() == [[18, *[2] * 6, 19]]
    assert tokens.max() == 20 - 1  # open_clip pools where the id is highest


def test_a_text_that_is_too_long_is_named_with_the_limit() -> None:
    tokenize = WordTokenizer(WORDS, vocabulary=20, context=8)
    with pytest.raises(ValueError, match="7 words in 'a dog a dog a dog red': the model reads 6 at most"):
        tokenize(["a dog", "a dog a dog a dog red"])


def test_a_vocabulary_that_is_too_small_is_refused_by_both_numbers() -> None:
    with pytest.raises(ValueError, match="7 words do not fit a vocabulary of 10"):
        WordTokenizer(WORDS, vocabulary=10, context=8)
    assert WordTokenizer(WORDS, vocabulary=11, context=8)(["cup"]).tolist()[0][:3] == [9, 8, 10]
    with pytest.raises(ValueError, match="600 words do not fit a vocabulary of 512"):
        MODELS["slipform-tiny"]([f"word{i}" for i in range(600)], seed=0)


def test_words_are_counted_most_frequent_first_and_then_by_the_alphabet() -> None:
    assert WordTokenizer.count(["The dog, the cup", "a dog", "2 cups"]) == (
        "dog",
        "the",
        "2",
        "a",
        "cup",
        "cups",
    )


def test_text_features_are_those_of_open_clip_without_the_cut(clip: Clip) -> None:
    tokens = clip.tokenize(TEXTS)
    with torch.no_grad():
        theirs = clip.model.encode_text(tokens, normalize=True)
        torch.testing.assert_close(clip.encode_text(tokens), theirs, atol=1e-6, rtol=0)
        short = clip.encode_text(tokens[:1])
    torch.testing.assert_close(short, theirs[:1], atol=1e-6, rtol=0)
    # Apart as texts are, so that the comparison says something.
    assert (theirs[0] @ theirs[1:].T).max() < 0.99


def test_the_cut_leaves_the_gradients_as_they_are(clip: Clip) -> None:
    tokens = clip.tokenize(TEXTS[:3])
    weight = torch.randn(3, 96, generator=torch.Generator().manual_seed(0))
    weights = [clip.model.text.text_projection, clip.model.text.positional_embedding]
    ours = torch.autograd.grad((clip.encode_text(tokens) * weight).sum(), weights)
    theirs = torch.autograd.grad((clip.model.encode_text(tokens, normalize=True) * weight).sum(), weights)
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, atol=1e-5, rtol=1e-4)


def test_picture_features_are_those_of_open_clip_on_normalised_pixels(clip: Clip) -> None:
    drawn = pictures(3)
    by_hand = torch.tensor((drawn.astype(np.float64) / 255 - 0.5) / 0.25, dtype=torch.float32)
    with torch.no_grad():
        theirs = normalize(clip.model.encode_image(by_hand.permute(0, 3, 1, 2)), dim=-1)
        torch.testing.assert_close(clip.encode_image(drawn), theirs, atol=1e-6, rtol=0)
        torch.testing.assert_close(clip.encode_image(drawn[1:2]), theirs[1:2], atol=1e-6, rtol=0)
    assert clip.preprocess(torch.from_numpy(drawn[:, ::-1].copy())).shape == (3, 3, 64, 64)
    assert np.array_equal(drawn, pictures(3))  # preprocessing leaves the pictures as they are


def test_features_are_unit_vectors_in_float32(clip: Clip) -> None:
    with torch.no_grad():
        for features in (clip.encode_image(pictures(4)), clip.encode_text(clip.tokenize(TEXTS))):
            assert features.dtype == torch.float32 and features.shape[1] == 96
            torch.testing.assert_close(features.norm(dim=-1), torch.ones(len(features)))


@pytest.mark.parametrize("shape", [(2, 1, 40), (40,)])
def test_tokens_of_another_shape_are_refused_with_it(clip: Clip, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=re.escape(f"{shape}, expected (B, L)")):
        clip.encode_text(torch.ones(shape, dtype=torch.long))


@pytest.mark.parametrize("shape", [(2, 80, 80, 3), (2, 3, 64, 64), (64, 64, 3)])
def test_pictures_of_another_shape_are_refused_with_it(clip: Clip, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=re.escape(f"{shape}, expected (B, 64, 64, 3)")):
        clip.encode_image(np.zeros(shape, dtype=np.uint8))


def test_larger_pictures_are_read_by_a_model_made_for_them() -> None:
    made = MODELS["slipform-tiny"](WORDS, seed=3, side=128)
    assert made.encode_image(np.zeros((2, 128, 128, 3), np.uint8)).shape == (2, 96)
    with pytest.raises(ValueError, match="128"):
        made.encode_image(np.zeros((2, 64, 64, 3), np.uint8))


def test_the_seed_alone_decides_the_initial_weights() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    one = MODELS["slipform-tiny"](WORDS, seed=5)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert same(state(one), state(MODELS["slipform-tiny"](WORDS, seed=5)))
    other = state(MODELS["slipform-tiny"](WORDS, seed=6))
    differ = {name for name, weight in state(one).items() if not torch.equal(weight, other[name])}
    assert {"visual.positional_embedding", "text.positional_embedding", "visual.conv1.weight"} < differ


def test_the_initial_weights_have_the_spread_that_lets_relations_be_learnt(clip: Clip) -> None:
    fresh = state(MODELS["slipform-tiny"](WORDS, seed=3))
    width = 96
    expected = {"visual.positional_embedding": 1.0, "text.positional_embedding": 0.02}
    for tower in ("visual.transformer", "text.transformer"):
        for layer in (0, 1):
            block = f"{tower}.resblocks.{layer}"
            expected[f"{block}.attn.in_proj_weight"] = width**-0.5
            expected[f"{block}.attn.out_proj.weight"] = (2 * 2 * width) ** -0.5
            expected[f"{block}.mlp.c_fc.weight"] = (2 * width) ** -0.5
            expected[f"{block}.mlp.c_proj.weight"] = (2 * 2 * width) ** -0.5
    for name, std in expected.items():
        assert fresh[name].std().item() == pytest.approx(std, rel=0.05), name
        assert abs(fresh[name].mean().item()) < 0.05 * std + 0.01 * (std == 1.0) * 3, name
    assert clip.logit_scale.item() == pytest.approx(1 / 0.07)
    assert sum(weight.numel() for weight in fresh.values()) < 1_000_000


def test_a_warning_of_open_clip_can_be_heard_again(caplog: pytest.LogCaptureFixture) -> None:
    MODELS["slipform-tiny"](WORDS, seed=0)
    import open_clip  # after our module, see torchvision_import

    open_clip.create_model("slipform-tiny")
    assert "No pretrained weights" in caplog.text


def test_weights_are_read_exactly_as_they_were_written(clip: Clip, tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    save_weights(clip.model, path)
    assert [found.name for found in tmp_path.iterdir()] == ["weights.safetensors"]
    other = MODELS["slipform-tiny"](WORDS, seed=4)
    assert not same(state(other), state(clip))
    load_weights(other.model, path)
    assert same(state(other), state(clip))


def rewrite(path: Path, change) -> None:
    weights = load_file(path)
    change(weights)
    save_file(weights, path)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda w: w.update(logit_bias=torch.zeros(())), "logit_bias"),
        (lambda w: w.pop("text.positional_embedding"), "text.positional_embedding"),
        (lambda w: w.update({"visual.proj": torch.zeros(96, 64)}), r"visual\.proj.*96, 64"),
    ],
)
def test_weights_of_another_architecture_are_refused_by_key(
    change, key: str, clip: Clip, tmp_path: Path
) -> None:
    path = tmp_path / "weights.safetensors"
    save_weights(clip.model, path)
    rewrite(path, change)
    fresh = MODELS["slipform-tiny"](WORDS, seed=4)
    with pytest.raises(ValueError, match=f"(?s)weights.safetensors does not fit the model.*{key}"):
        load_weights(fresh.model, path)


def test_open_clip_alone_loads_our_weights_and_gives_the_same_features(clip: Clip, tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    save_weights(clip.model, path)
    import open_clip  # after our module, see torchvision_import

    open_clip.add_model_config(str(Path(models.__file__).parent / "configs"))
    model = open_clip.create_model("slipform-tiny", pretrained=str(path)).eval()
    tokens, drawn = clip.tokenize(TEXTS), pictures(2)
    with torch.no_grad():
        image, text, scale = model(clip.preprocess(torch.from_numpy(drawn)), tokens)
        torch.testing.assert_close(clip.encode_image(drawn), image, atol=1e-6, rtol=0)
        torch.testing.assert_close(clip.encode_text(tokens), text, atol=1e-6, rtol=0)
        assert torch.equal(clip.logit_scale, scale)


FRESH = """
import json, sys
import slipform_core.torchvision_import as ours
import torch, torchvision, open_clip
from torchvision.transforms.functional import resize
smaller = resize(torch.rand(3, 8, 8), [4, 4], antialias=True)
print(json.dumps([ours.LIBRARY is None, list(smaller.shape), "open_clip" in sys.modules]))
"""


def test_open_clip_is_imported_beside_any_build_of_torch() -> None:
    plain = subprocess.run([sys.executable, "-c", "import torchvision"], capture_output=True, text=True)
    works = plain.returncode == 0
    assert works or "torchvision::nms does not exist" in plain.stderr
    done = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # Where torchvision works, the module has done nothing.
    assert json.loads(done.stdout) == [works, [3, 4, 4], True]


def test_another_fault_of_torchvision_is_not_hidden() -> None:
    script = """
import sys, types
class Broken:
    def find_spec(self, name, path=None, target=None):
        if name == "torchvision":
            raise RuntimeError("the disk is on fire")
sys.meta_path.insert(0, Broken())
import slipform_core.torchvision_import
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1 and "RuntimeError: the disk is on fire" in done.stderr
