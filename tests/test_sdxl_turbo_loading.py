"""What the editor of photographs refuses, how it loads its model, and what its version says."""

import logging
import math
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import diffusers
import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from tiny_sdxl import SIDE, configured, save, save_tiny_vae

from slipform_core.editors.sdxl_turbo import SdxlTurboEditor
from slipform_core.editors.sdxl_turbo.checks import effective_steps
from slipform_core.records import Caption

ADVICE = "give a folder as save_pretrained writes it, with safetensors, or a name on the hub"
NOWHERE = "/there/is/no/model"

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning:diffusers")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("models"))


def made(model: Path | str, **settings) -> SdxlTurboEditor:
    return SdxlTurboEditor(model=str(model), **({"steps": 4, "strength": 0.5, "side": SIDE} | settings))


def halve(model: Path, to: Path) -> Path:
    """A copy with its weights in float16 alone, in files of the variant "fp16"."""
    from diffusers import StableDiffusionXLPipeline

    pipe = StableDiffusionXLPipeline.from_pretrained(model, dtype=torch.float16, add_watermarker=False)
    pipe.save_pretrained(to, variant="fp16", safe_serialization=True)
    return to


def one(by: SdxlTurboEditor, text: str = "a cat") -> np.ndarray:
    patches = np.random.default_rng(0).integers(256, size=(8, 8, 3), dtype=np.uint8)
    photograph = Image.fromarray(patches).resize((SIDE, SIDE))
    [edit] = by.edit([Caption("a", None, "a dog")], [photograph], [text], seeds=[1])
    assert edit.fault is None
    return np.asarray(edit.image).astype(int)


@pytest.mark.parametrize(
    ("steps", "strength", "message"),
    [
        (1, 0.8, "steps 1 x strength 0.8: .* = 0 steps; it takes at least 2 steps, or a .* at least 1.0"),
        (2, 0.49, "steps 2 x strength 0.49: .* = 0 steps; it takes at least 3 steps, or a .* at least 0.5"),
        (0, 0.5, "steps is 0: it is a whole number"),
        (2.0, 0.5, "steps is 2.0: it is a whole number"),
        (4, 0.0, "strength is 0.0: it is above 0"),
        (4, 1.5, "strength is 1.5: it is above 0"),
        (4, float("nan"), "strength is nan: it is above 0"),
    ],
)
def test_steps_are_checked_before_the_model(steps: int, strength: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        made(NOWHERE, steps=steps, strength=strength)


def test_a_refusal_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from slipform_core.editors.sdxl_turbo import SdxlTurboEditor\n"
        "try: SdxlTurboEditor(steps=1, strength=0.8)\n"
        "except ValueError: print({'torch', 'diffusers', 'transformers'} & set(sys.modules))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"


def test_effective_steps_are_those_of_diffusers(tiny: Path) -> None:
    pipe, refused = made(tiny)._pipe, 0
    strengths = [hundredth / 100 for hundredth in range(1, 101)]
    strengths += [math.nextafter(1 / part, 0) for part in range(1, 61)]
    for steps in range(1, 61):
        pipe.scheduler.set_timesteps(steps)
        for strength in strengths:
            timesteps, count = pipe.get_timesteps(steps, strength, "cpu")
            if len(timesteps):
                assert effective_steps(steps, strength) == count == len(timesteps)
                continue
            refused += 1
            with pytest.raises(ValueError, match="= 0 steps") as error:
                effective_steps(steps, strength)
            more, stronger = re.search(r"at least (\d+) steps, .* at least (\S+)$", str(error.value)).groups()
            assert effective_steps(int(more), strength) == effective_steps(steps, float(stronger)) == 1
            with pytest.raises(ValueError, match="= 0 steps"):
                effective_steps(int(more) - 1, strength)
    assert refused > 100
    assert effective_steps(100, 0.29) == 28
    assert made(tiny, steps=100, strength=0.29).effective_steps == 28


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dtype": "float8"}, "unknown dtype 'float8'; there are: float32, float16, bfloat16"),
        ({"batch": 0}, "batch is 0: it is at least 1"),
        ({"side": 0}, "side is 0"),
        ({"side": 33}, "side is 33: it is a multiple of 2"),
        ({"revision": "main"}, "is a folder, which has no revision 'main'"),
    ],
)
def test_other_settings_are_checked(tiny: Path, settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        made(tiny, **settings)


def test_the_version_says_what_changes_the_picture(tiny: Path, tmp_path: Path) -> None:
    vae = save_tiny_vae(tmp_path)
    halved = halve(tiny, tmp_path / "tiny-turbo")
    library = f"diffusers{diffusers.__version__}"
    for by, expected in (
        (made(tiny), "tiny-turbo-4x0.5-32-float32"),
        (made(tiny, vae=str(vae)), "tiny-turbo-taesdxl-4x0.5-32-float32"),
        (made(tiny, steps=3, strength=1, side=64), "tiny-turbo-3x1.0-64-float32"),
        (made(tiny, dtype="bfloat16"), "tiny-turbo-4x0.5-32-bfloat16"),
        (made(halved, variant="fp16"), "tiny-turbo-fp16-4x0.5-32-float32"),
    ):
        assert by.version == f"sdxl-turbo@1-{expected}-{library}"
    moved = Path(shutil.copytree(tiny, tmp_path / "elsewhere" / "tiny-turbo"))
    assert made(moved, batch=2).version == made(tiny).version


def test_a_revision_of_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = Mock()
    loaded.return_value.to.return_value.vae_scale_factor = 8
    monkeypatch.setattr(diffusers.StableDiffusionXLImg2ImgPipeline, "from_pretrained", loaded)
    by = SdxlTurboEditor(revision="a1b2")
    assert loaded.call_args.kwargs["revision"] == "a1b2"
    assert by.version.startswith("sdxl-turbo@1-stabilityai/sdxl-turbo-a1b2-2x0.5-512-float32-diffusers")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_vae_stays_in_float32_unless_it_says_that_it_need_not(
    tiny: Path, tmp_path: Path, dtype: str
) -> None:
    precise = one(made(tiny))
    for model, expected in (
        (tiny, "float32"),
        (configured(tiny, tmp_path / "fixed", "vae", {"force_upcast": False}), dtype),
    ):
        by = made(model, dtype=dtype)
        parts = (by._pipe.vae, by._pipe.unet, by._pipe.text_encoder)
        assert [str(part.dtype) for part in parts] == [f"torch.{name}" for name in (expected, dtype, dtype)]
        assert 0 < np.abs(one(by) - precise).mean() < 3


def test_weights_of_a_variant(tiny: Path, tmp_path: Path) -> None:
    halved = halve(tiny, tmp_path / "halved")
    by = made(halved, variant="fp16")
    assert by._pipe.unet.dtype == torch.float32
    assert 0 < np.abs(one(by) - one(made(tiny))).mean() < 3
    with pytest.raises(FileNotFoundError, match=ADVICE):
        made(halved)


@pytest.mark.parametrize(("upcast", "fault"), [(False, "not a number"), (True, None)])
def test_what_overflows_in_float16_is_told(tiny: Path, tmp_path: Path, upcast: bool, fault: str) -> None:
    """As SDXL's VAE does, where it is not in float32."""
    settings = {"scaling_factor": 1e-5, "force_upcast": upcast}
    by = made(configured(tiny, tmp_path / "hot", "vae", settings), dtype="float16")
    red = Image.new("RGB", (SIDE, SIDE), "red")
    [edit] = by.edit([Caption("a", None, "a dog")], [red], ["a cat"], seeds=[1])
    assert edit.fault == fault


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """No network; what was tried of it."""
    tried = []

    def refuse(*arguments, **_):
        tried.append(arguments)
        raise OSError("no network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    return tried


def test_a_folder_is_loaded_without_the_network(tiny: Path, tmp_path: Path, offline: list[object]) -> None:
    one(made(tiny, vae=str(save_tiny_vae(tmp_path))))
    assert not offline


def test_a_model_that_is_missing(tiny: Path, tmp_path: Path, offline: list[object]) -> None:
    (tmp_path / "empty").mkdir()
    for settings, name in (
        ({"model": NOWHERE}, NOWHERE),
        ({"model": "./models/turbo"}, "./models/turbo"),
        ({"model": str(tiny), "vae": "some/folder/vae"}, "some/folder/vae"),
        ({"model": str(tmp_path / "empty")}, str(tmp_path / "empty")),
        ({"model": str(tiny), "vae": str(tmp_path / "empty")}, str(tmp_path / "empty")),
    ):
        with pytest.raises(FileNotFoundError, match=ADVICE) as error:
            SdxlTurboEditor(**settings)
        assert repr(name) in str(error.value)
        assert "\n" not in str(error.value) and "hf download" not in str(error.value)
        assert not offline


def test_a_model_of_the_hub_that_cannot_be_had(tiny: Path, offline: list[object]) -> None:
    with pytest.raises(FileNotFoundError, match=f"'no-such/model': {ADVICE}; `hf download no-such/model`"):
        made("no-such/model")
    assert offline


def test_the_reason_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, reason in (("first\nsecond", "first"), ("", "OSError")):
        monkeypatch.setattr(
            diffusers.StableDiffusionXLImg2ImgPipeline, "from_pretrained", Mock(side_effect=OSError(text))
        )
        with pytest.raises(FileNotFoundError, match=rf"\({reason}\)$"):
            made("some/model")


@pytest.mark.parametrize(
    ("part", "pickled"),
    [("unet", "diffusion_pytorch_model.bin"), ("text_encoder", "pytorch_model.bin")],
)
def test_nothing_is_unpickled(tiny: Path, tmp_path: Path, part: str, pickled: str) -> None:
    model = Path(shutil.copytree(tiny, tmp_path / "model"))
    [file] = (model / part).glob("*.safetensors")
    torch.save(load_file(file), model / part / pickled)
    file.unlink()
    with pytest.raises(FileNotFoundError, match=ADVICE):
        made(model)


def test_a_long_text_is_cut_in_silence(tiny: Path, capfd: pytest.CaptureFixture) -> None:
    by = made(tiny)
    told, libraries = [], [logging.getLogger(name) for name in ("diffusers", "transformers")]
    levels = [library.level for library in libraries]
    handler = logging.Handler()
    handler.emit = told.append
    for library in libraries:
        library.addHandler(handler)
    capfd.readouterr()
    cut, longer = one(by, "a cat " * 100), one(by, "a cat " * 101)
    for library in libraries:
        library.removeHandler(handler)
    assert (cut == longer).all()
    assert not told
    assert capfd.readouterr() == ("", "")
    assert [library.level for library in libraries] == levels
