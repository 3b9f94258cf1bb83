"""Models of open_clip as ours, and ours as folders that plain open_clip loads."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import slipform_core.torchvision_import  # noqa: F401, before open_clip
from slipform_core.models import Clip, from_open_clip, load_weights, save_open_clip, save_weights
from slipform_core.models.clip import BUCKETS
from slipform_core.models.weights import activation

CONFIG = {
    "embed_dim": 16,
    "quick_gelu": True,
    "vision_cfg": {"image_size": 32, "patch_size": 16, "width": 32, "layers": 2, "head_width": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2},
}
TEXTS = ["a cup on a sofa", "", "word " * 20, "many words " * 30, "a sofa on a cup"]
TEXTS += ["word " * words for words in (14, 15, 38, 39)]  # with begin and end 16, 17, 40 and 41 tokens


@pytest.fixture(scope="module", autouse=True)
def configs(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Small architectures under names that open_clip knows."""
    import open_clip

    folder = tmp_path_factory.mktemp("configs")
    text = CONFIG["text_cfg"]
    changes = {
        "quick": {},
        "plain": {"quick_gelu": False},
        "custom": {"custom_text": True},
        "sees-all": {"custom_text": True, "text_cfg": text | {"no_causal_mask": True}},
        "linear": {"custom_text": True, "text_cfg": text | {"proj_bias": True}},
        "last": {"custom_text": True, "text_cfg": text | {"pool_type": "last"}},
        "coca": {
            "custom_text": True,
            "vision_cfg": CONFIG["vision_cfg"] | {"attentional_pool": True, "output_tokens": True},
            "text_cfg": text | {"embed_cls": True, "output_tokens": True, "context_length": 76},
            "multimodal_cfg": {"context_length": 76, "width": 32, "heads": 2, "layers": 1},
        },
    }
    for name, change in changes.items():
        (folder / f"{name}.json").write_text(json.dumps(CONFIG | change))
    open_clip.add_model_config(folder)


def made(name: str, seed: int = 0) -> Clip:
    torch.manual_seed(seed)
    clip = from_open_clip(name)
    clip.model.eval()
    return clip


def pictures(count: int = 3) -> np.ndarray:
    return np.random.default_rng(0).integers(256, size=(count, 32, 32, 3), dtype=np.uint8)


@pytest.mark.parametrize("name", ["quick", "plain", "custom", "sees-all", "linear", "last", "coca"])
def test_features_are_those_of_open_clip_at_all_its_tokens(name: str) -> None:
    clip = made(name)
    tokens = clip.tokenize(TEXTS)
    with torch.no_grad():
        theirs = clip.model.encode_text(tokens, normalize=True)
        torch.testing.assert_close(clip.encode_text(tokens), theirs, atol=1e-6, rtol=0)
        assert (theirs[0] - theirs[2]).norm() > 0.1, "the texts differ, so that the comparison says something"
        pixels = torch.randn(3, 3, 32, 32, generator=torch.Generator().manual_seed(0))
        seen = clip.model.encode_image(pixels, normalize=True)
        torch.testing.assert_close(clip.encode_pixels(pixels), seen, atol=1e-6, rtol=0)


def test_texts_are_cut_to_the_bucket_that_holds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    clip = made("quick")
    real = clip.model.transformer.forward
    monkeypatch.setattr(
        clip.model.transformer, "forward", lambda x, **k: (seen.append(x.shape), real(x, **k))[1]
    )
    clip.encode_text(clip.tokenize(TEXTS))
    assert clip.buckets == BUCKETS == (16, 40, 77)
    assert [shape[:2] for shape in seen] == [(4, 16), (3, 40), (2, 77)]


def test_pixels_are_those_of_open_clip_s_own_transform() -> None:
    import open_clip

    clip, drawn = made("quick"), pictures()
    theirs = open_clip.create_model_and_transforms("quick")[2]
    expected = torch.stack([theirs(Image.fromarray(picture)) for picture in drawn])
    torch.testing.assert_close(clip.preprocess(torch.from_numpy(drawn)), expected, atol=1e-6, rtol=0)


PLAIN = """
import json, sys
import slipform_core.torchvision_import
import numpy as np, open_clip, torch
from PIL import Image
model, _, preprocess = open_clip.create_model_and_transforms("local-dir:" + sys.argv[1])
tokens = open_clip.get_tokenizer("local-dir:" + sys.argv[1])(json.loads(sys.argv[2]))
pixels = torch.stack([preprocess(Image.fromarray(p)) for p in np.load(sys.argv[3])])
with torch.no_grad():
    image, text, scale = model.eval()(pixels, tokens)
quick = any(type(module).__name__ == "QuickGELU" for module in model.modules())
print(json.dumps([image.tolist(), text.tolist(), scale.item(), quick, preprocess.transforms[-1].mean]))
"""


@pytest.mark.parametrize("name", ["quick", "plain", "custom"])
def test_plain_open_clip_loads_our_folder_with_the_right_activation(name: str, tmp_path: Path) -> None:
    clip, drawn = made(name, seed=5), pictures()
    with torch.no_grad():
        clip.model.logit_scale.fill_(3.0)
    import open_clip

    save_open_clip(clip, tmp_path / "mine", open_clip.get_model_config(name))
    np.save(tmp_path / "drawn.npy", drawn)
    words = [sys.executable, "-c", PLAIN, tmp_path / "mine", json.dumps(TEXTS), tmp_path / "drawn.npy"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    image, text, scale, quick, mean = json.loads(done.stdout)
    with torch.no_grad():
        torch.testing.assert_close(clip.encode_image(drawn), torch.tensor(image), atol=1e-5, rtol=0)
        torch.testing.assert_close(
            clip.encode_text(clip.tokenize(TEXTS)), torch.tensor(text), atol=1e-5, rtol=0
        )
        assert scale == pytest.approx(clip.logit_scale.item())
    assert quick == (name != "plain") and mean == pytest.approx(open_clip.OPENAI_DATASET_MEAN)
    again = from_open_clip(f"local-dir:{tmp_path / 'mine'}")
    again.model.eval()
    with torch.no_grad():
        torch.testing.assert_close(again.encode_image(drawn), torch.tensor(image), atol=1e-5, rtol=0)


def test_the_activation_is_the_model_s_whatever_the_config_says(tmp_path: Path) -> None:
    save_open_clip(made("quick"), tmp_path, CONFIG | {"quick_gelu": False})
    assert json.loads((tmp_path / "open_clip_config.json").read_text())["model_cfg"]["quick_gelu"] is True
    assert activation(from_open_clip(f"local-dir:{tmp_path}").model) == "QuickGELU"


def test_weights_of_the_other_activation_are_refused(tmp_path: Path) -> None:
    save_weights(made("quick").model, tmp_path / "w.safetensors")
    with pytest.raises(
        ValueError, match=r"w\.safetensors was trained with QuickGELU, and the model has GELU"
    ):
        load_weights(made("plain").model, tmp_path / "w.safetensors")
    load_weights(made("quick", seed=1).model, tmp_path / "w.safetensors")


@pytest.mark.parametrize(
    ("name", "pretrained", "right"),
    [("ViT-B-32", "openai", "ViT-B-32-quickgelu"), ("ViT-L-14", "openai", "ViT-L-14-quickgelu")],
)
def test_published_weights_need_their_activation_by_name(name: str, pretrained: str, right: str) -> None:
    """Refused before a download: this test has no network."""
    with pytest.raises(ValueError, match=f"'{name}' has .*GELU, and '{pretrained}' .*: take '{right}'$"):
        from_open_clip(name, pretrained)


def test_a_model_that_open_clip_does_not_know_is_named() -> None:
    with pytest.raises(ValueError, match="cannot make 'ViT-B-33'"):
        from_open_clip("ViT-B-33")
