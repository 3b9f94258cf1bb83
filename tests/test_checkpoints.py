"""Models by what a user says of them: names, weights, files, folders; each mistake in one line."""

import argparse
import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from small_clip import TEXT, VISION, small_clip

import slipform_core.torchvision_import  # noqa: F401, before open_clip
from slipform_core.mistakes import Mistake
from slipform_core.models import (
    check_checkpoint,
    checkpoints,
    fingerprint,
    open_checkpoint,
    save_open_clip,
    save_weights,
)

TEXTS = ["a cup on a sofa", "a sofa on a cup"]


def texts_of(clip) -> torch.Tensor:
    with torch.no_grad():
        return clip.encode_text(clip.tokenize(TEXTS))


def test_a_folder_a_file_of_ours_and_one_of_open_clips_training_are_the_same_model(tmp_path: Path) -> None:
    made = small_clip(tmp_path, "checkpoint-small")
    config = {"embed_dim": 16, "vision_cfg": VISION, "text_cfg": TEXT}
    save_open_clip(made, tmp_path / "folder", config)
    save_weights(made.model, tmp_path / "ours.safetensors")
    state = {f"module.{name}": weights for name, weights in made.model.state_dict().items()}
    torch.save({"epoch": 3, "name": "run", "state_dict": state}, tmp_path / "epoch_3.pt")
    specs = [str(tmp_path / "folder")]
    specs += [f"checkpoint-small={tmp_path / name}" for name in ("ours.safetensors", "epoch_3.pt")]
    for spec in specs:
        clip = open_checkpoint(spec)
        assert not clip.model.training
        torch.testing.assert_close(texts_of(clip), texts_of(made), atol=1e-6, rtol=0)
        assert fingerprint(clip) == fingerprint(made)


def test_the_fingerprint_is_of_all_that_decides_features(tmp_path: Path) -> None:
    made = small_clip(tmp_path, "checkpoint-print")
    prints = [fingerprint(made), fingerprint(small_clip(tmp_path, "checkpoint-print", seed=1))]
    save_weights(made.model, tmp_path / "w.safetensors")
    half = open_checkpoint(f"checkpoint-print={tmp_path}/w.safetensors", precision="bfloat16")
    prints.append(fingerprint(half))
    config = {"embed_dim": 16, "vision_cfg": VISION, "text_cfg": TEXT}
    save_open_clip(made, tmp_path / "looks", config)
    looks = json.loads((tmp_path / "looks/open_clip_config.json").read_text())
    looks["preprocess_cfg"]["interpolation"] = "bilinear"
    (tmp_path / "looks/open_clip_config.json").write_text(json.dumps(looks))
    prints.append(fingerprint(open_checkpoint(str(tmp_path / "looks"))))
    assert len(set(prints)) == 4
    assert fingerprint(made) == prints[0]


def test_bfloat16_is_near_float32_and_its_features_are_float32(tmp_path: Path) -> None:
    made = small_clip(tmp_path, "checkpoint-half")
    save_weights(made.model, tmp_path / "w.safetensors")
    half = open_checkpoint(f"checkpoint-half={tmp_path}/w.safetensors", precision="bfloat16")
    found = texts_of(half)
    assert found.dtype == torch.float32
    # bfloat16 has eight bits: an error of 2 ** -8 a product, of few layers
    torch.testing.assert_close(found, texts_of(made), atol=0.05, rtol=0)
    assert (found - texts_of(made)).abs().max() > 0


def test_weights_of_another_model_are_refused_and_named(tmp_path: Path) -> None:
    made = small_clip(tmp_path, "checkpoint-one")
    small_clip(tmp_path, "checkpoint-wide", width=64)
    small_clip(tmp_path, "checkpoint-deep", layers=3)
    save_weights(made.model, tmp_path / "w.safetensors")
    with pytest.raises(Mistake, match=r"does not fit: visual.positional_embedding"):
        open_checkpoint(f"checkpoint-wide={tmp_path}/w.safetensors")
    with pytest.raises(Mistake, match=r"does not fit: .*Missing key.*resblocks\.2"):
        open_checkpoint(f"checkpoint-deep={tmp_path}/w.safetensors")
    biased = made.model.state_dict() | {"logit_bias": torch.tensor(-10.0)}
    torch.save(biased, tmp_path / "siglip.pt")
    torch.testing.assert_close(
        texts_of(open_checkpoint(f"checkpoint-one={tmp_path}/siglip.pt")), texts_of(made)
    )


def test_an_activation_that_a_file_of_ours_states_is_held_to(tmp_path: Path) -> None:
    made = small_clip(tmp_path, "checkpoint-gelu")
    save_weights(made.model, tmp_path / "w.safetensors")
    config = json.loads((tmp_path / "checkpoint-gelu.json").read_text()) | {"quick_gelu": True}
    (tmp_path / "checkpoint-quick.json").write_text(json.dumps(config))
    import open_clip

    open_clip.add_model_config(tmp_path)
    with pytest.raises(Mistake, match="was trained with GELU, and the model has QuickGELU"):
        open_checkpoint(f"checkpoint-quick={tmp_path}/w.safetensors")


class Evil:
    def __reduce__(self):
        return (Path.touch, (Path("touched"),))


def test_nothing_is_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small_clip(tmp_path, "checkpoint-safe")
    torch.save({"state_dict": Evil()}, tmp_path / "evil.pt")
    with pytest.raises(Mistake, match="does not fit"):
        open_checkpoint(f"checkpoint-safe={tmp_path}/evil.pt")
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("ViT-B-33", r"open_clip has no 'ViT-B-33'; did you mean ViT-B-32"),
        ("ViT-B-32:opnai", "ViT-B-32 has no weights 'opnai'; it has: .*laion2b"),
        ("ViT-B-32:openai", "'ViT-B-32' has GELU, and 'openai' was trained with QuickGELU"),
        ("ViT-B-32=nowhere.pt", "there is no file 'nowhere.pt'"),
        ("tests", "the folder has no open_clip_config.json"),
    ],
)
def test_a_mistake_is_one_line(spec: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[1])
    with pytest.raises(Mistake, match=says) as found:
        open_checkpoint(spec)
    assert "\n" not in str(found.value)


def test_a_precision_is_checked_first() -> None:
    with pytest.raises(Mistake, match="unknown precision 'fp16'; the choices are: float32, bfloat16"):
        open_checkpoint("ViT-B-32", precision="fp16")


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("text_cfg", {"heads": 4}),
        ("text_cfg", {"no_causal_mask": True}),
        ("text_cfg", {"pool_type": "last"}),
        ("vision_cfg", {"head_width": 8}),
    ],
)
def test_the_same_weights_in_another_architecture_have_another_fingerprint(
    part, change, tmp_path: Path
) -> None:
    made = small_clip(tmp_path, "checkpoint-heads")
    config = {"embed_dim": 16, "vision_cfg": VISION, "text_cfg": TEXT, "custom_text": True}
    for name, of in (("as-made", config), ("changed", config | {part: config[part] | change})):
        (tmp_path / f"{name}.json").write_text(json.dumps(of))
    import open_clip

    open_clip.add_model_config(tmp_path)
    save_weights(made.model, tmp_path / "w.safetensors")
    one, other = (open_checkpoint(f"{name}={tmp_path}/w.safetensors") for name in ("as-made", "changed"))
    assert all((a == b).all() for a, b in zip(one.model.parameters(), other.model.parameters(), strict=True))
    assert fingerprint(one) != fingerprint(other)


def test_positions_of_another_size_are_not_resized(tmp_path: Path) -> None:
    made = small_clip(tmp_path, "checkpoint-32")
    small_clip(tmp_path, "checkpoint-64", image_size=64)
    save_weights(made.model, tmp_path / "w.safetensors")
    with pytest.raises(
        Mistake, match=r"visual.positional_embedding is \(5, 32\) there, \(17, 32\) in the model"
    ):
        open_checkpoint(f"checkpoint-64={tmp_path}/w.safetensors")


def test_random_weights_are_the_same_each_time(tmp_path: Path) -> None:
    small_clip(tmp_path, "checkpoint-random")
    torch.manual_seed(1)
    one, drawn = fingerprint(open_checkpoint("checkpoint-random")), torch.rand(3)
    torch.manual_seed(2)
    assert fingerprint(open_checkpoint("checkpoint-random")) == one
    torch.manual_seed(1)
    assert torch.equal(torch.rand(3), drawn)  # others' draws are as they would be without


def test_what_to_know_of_a_model_is_said_before_it_is_loaded(tmp_path: Path) -> None:
    made = small_clip(tmp_path, "checkpoint-said")
    save_weights(made.model, tmp_path / "ours.safetensors")
    torch.save(made.model.state_dict(), tmp_path / "theirs.pt")
    assert check_checkpoint("checkpoint-said") == ["its weights are random, of seed 0: none are named"]
    assert check_checkpoint(f"checkpoint-said={tmp_path}/ours.safetensors") == []
    [said] = check_checkpoint(f"checkpoint-said={tmp_path}/theirs.pt")
    assert "does not state its activation" in said
    with pytest.raises(Mistake, match="'ViT-B-32' has GELU, and 'openai'"):
        check_checkpoint("ViT-B-32:openai")
    with pytest.raises(Mistake, match="device 'cudo'"):
        check_checkpoint("checkpoint-said", device="cudo")
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare/open_clip_config.json").write_text("{}")
    with pytest.raises(Mistake, match="the folder has no weights"):
        check_checkpoint(str(tmp_path / "bare"))
    (tmp_path / "bad.safetensors").write_bytes(b"nothing")
    with pytest.raises(Mistake, match="is no whole safetensors file"):
        open_checkpoint(f"checkpoint-said={tmp_path}/bad.safetensors")


def test_a_file_gets_the_pixels_that_all_weights_of_its_name_want(tmp_path: Path, monkeypatch) -> None:
    from open_clip import pretrained

    made = small_clip(tmp_path, "checkpoint-pixels")
    torch.save(made.model.state_dict(), tmp_path / "w.pt")
    halves = {"mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)}
    squashed = pretrained._pcfg("x", **halves, interpolation="bilinear", resize_mode="squash")
    tags = {"one": squashed, "two": squashed | {"url": "y"}}
    monkeypatch.setitem(pretrained._PRETRAINED, "checkpoint-pixels", tags)
    spec = f"checkpoint-pixels={tmp_path}/w.pt"
    looks = open_checkpoint(spec).model.visual.preprocess_cfg
    assert looks["mean"] == (0.5, 0.5, 0.5) and looks["resize_mode"] == "squash"
    assert looks["interpolation"] == "bilinear"
    assert not any("want different" in note for note in check_checkpoint(spec))
    monkeypatch.setitem(tags, "three", pretrained._pcfg("z"))
    assert any("want different pixels; taken are open_clip's own" in note for note in check_checkpoint(spec))
    assert open_checkpoint(spec).model.visual.preprocess_cfg["resize_mode"] == "shortest"


def test_open_clips_own_registry_says_the_pixels_of_siglip() -> None:
    [wanted] = checkpoints._pixels("ViT-B-16-SigLIP")
    assert wanted["mean"] == (0.5, 0.5, 0.5) and wanted["resize_mode"] == "squash"
    assert len(checkpoints._pixels("ViT-B-32")) == 1


def folder_of(clip, folder: Path, **changed) -> Path:
    save_open_clip(clip, folder, {"embed_dim": 16, "vision_cfg": VISION, "text_cfg": TEXT})
    config = json.loads((folder / "open_clip_config.json").read_text())
    config["model_cfg"] |= changed
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"vision_cfg": VISION | {"image_size": 64}}, r"positional_embedding is \(5, 32\) there, \(17, 32\)"),
        ({"quick_gelu": True}, "was trained with GELU, and the model has QuickGELU"),
        ({"vision_cfg": VISION | {"layers": 3}}, "Missing key"),
    ],
)
def test_a_folder_whose_configuration_is_of_another_model_is_refused(changed, says, tmp_path: Path) -> None:
    folder = folder_of(small_clip(tmp_path, "checkpoint-folder"), tmp_path / "folder", **changed)
    for refuse in (check_checkpoint, open_checkpoint):
        with pytest.raises(Mistake, match=says) as found:
            refuse(str(folder))
        assert "\n" not in str(found.value)


def damaged(folder: Path, name: str) -> str:
    """A model whose weights are cut, empty, no weights, or more than weights; by the name of the file."""
    made = small_clip(folder, "checkpoint-damaged")
    spec = f"checkpoint-damaged={folder / name}"
    if name == "cut.safetensors":
        save_weights(made.model, folder / name)
        (folder / name).write_bytes((folder / name).read_bytes()[:-50])
    elif name == "cut.bin":
        spec = str(folder_of(made, folder / "cut"))
        (folder / "cut/open_clip_model.safetensors").unlink()
        torch.save(made.model.state_dict(), folder / "whole.bin")
        (folder / "cut/open_clip_pytorch_model.bin").write_bytes((folder / "whole.bin").read_bytes()[:900])
    elif name == "empty.pt":
        torch.save({}, folder / name)
    elif name == "nothing.pt":
        (folder / name).touch()
    elif name == "more.pt":
        state = {"state_dict": made.model.state_dict(), "args": argparse.Namespace(lr=1)}
        torch.save(state, folder / name)
    else:
        torch.save(torch.zeros(3), folder / name)
    return spec


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("cut.safetensors", "is no whole safetensors file"),
        ("cut.bin", "does not fit: |your checkpoint file is corrupted"),
        ("empty.pt", "there are no weights in it"),
        ("nothing.pt", "does not fit: it is empty, or ends too early"),
        ("more.pt", "holds more than weights, which is not read: save its weights alone"),
        ("tensor.pt", "there are no weights in it"),
    ],
)
def test_a_damaged_file_is_one_line_before_anything_is_loaded(name: str, says: str, tmp_path: Path) -> None:
    spec = damaged(tmp_path, name)
    for refuse in (check_checkpoint, open_checkpoint):
        with pytest.raises(Mistake, match=says) as found:
            refuse(spec)
        assert "\n" not in str(found.value) and "\x1b" not in str(found.value)


def test_what_was_meant_is_guessed(tmp_path: Path) -> None:
    made = small_clip(tmp_path, "checkpoint-meant")
    torch.save(made.model.state_dict(), tmp_path / "w.pt")
    with pytest.raises(Mistake, match=r"did you mean ViT-B-32=.*w.pt\? A model is NAME"):
        check_checkpoint(f"{tmp_path}/w.pt")
    with pytest.raises(Mistake, match=r"it has none; did you mean checkpoint-meant=.*w.pt\?"):
        check_checkpoint(f"checkpoint-meant:{tmp_path}/w.pt")
    (tmp_path / "hf").mkdir()
    (tmp_path / "hf/config.json").write_text("{}")
    with pytest.raises(Mistake, match="config.json is of transformers"):
        check_checkpoint(str(tmp_path / "hf"))


def test_a_bias_of_the_logits_is_left_out_and_a_folder_that_hides_one_is_refused(tmp_path: Path) -> None:
    made = small_clip(tmp_path, "checkpoint-bias")
    torch.save(made.model.state_dict() | {"logit_bias": torch.tensor(-10.0)}, tmp_path / "siglip.pt")
    spec = f"checkpoint-bias={tmp_path}/siglip.pt"
    opened = open_checkpoint(spec)
    assert opened.model.logit_bias is None and fingerprint(opened) == fingerprint(made)
    folder = folder_of(opened, tmp_path / "folder")
    assert fingerprint(open_checkpoint(str(folder))) == fingerprint(made)
    weights = load_file(folder / "open_clip_model.safetensors") | {"logit_bias": torch.tensor(-10.0)}
    save_file(weights, folder / "open_clip_model.safetensors")
    with pytest.raises(Mistake, match="has a logit_bias, and the configuration no init_logit_bias"):
        check_checkpoint(str(folder))
