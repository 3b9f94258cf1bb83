"""A model by what a user says of it: a name of open_clip, its weights, a file or a folder."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from slipform_core.mistakes import Mistake
from slipform_core.models.clip import Clip
from slipform_core.models.open_clip import CONFIG, check_activation, from_open_clip
from slipform_core.models.weights import check_stated_activation, stated_activation

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
WEIGHTS = ("*.safetensors", "*.bin", "*.pth")  # that open_clip looks for in a folder
PROBE = ("A photo of a cat.", "ein Hund, 2 × 3")  # texts whose tokens tell tokenizers apart
HOW = "NAME, NAME:PRETRAINED, NAME=FILE or a FOLDER as open_clip's local-dir"


def open_checkpoint(spec: str, *, device: str = "cpu", precision: str = "float32") -> Clip:
    """A model in eval mode: "ViT-B-32-quickgelu:openai", "ViT-B-32=epoch_10.pt", a folder, "hf-hub:...".

    A name alone has random weights. Activation, size, mean and deviation of the pixels are those of the
    folder or the name; of a file only ours says its activation. Raises Mistake in one line; nothing is
    unpickled but tensors.
    """
    check_checkpoint(spec, device=device, precision=precision)
    name, mark, weights = _parts(spec)
    try:
        clip = from_open_clip(name, weights if mark == ":" else None, device)
        if mark == "=":
            _load(clip, Path(weights))
    except (ValueError, OSError, RuntimeError, TypeError, KeyError) as error:
        raise Mistake(f"model {spec!r}: {' '.join(str(error).split())}") from None
    return replace(clip, model=clip.model.to(PRECISIONS[precision]).eval())


def check_checkpoint(spec: str, *, device: str = "cpu", precision: str = "float32") -> list[str]:
    """What to know of a model beforehand; Mistake for what `open_checkpoint` refuses without loading."""
    if precision not in PRECISIONS:
        raise Mistake(f"unknown precision {precision!r}; the choices are: {', '.join(PRECISIONS)}")
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise Mistake(f"device {device!r}: {' '.join(str(error).split())}") from None
    name, mark, weights = _parts(spec)
    try:
        check_activation(name, weights if mark == ":" else None)
        stated = stated_activation(Path(weights)) if mark == "=" else ""
    except ValueError as error:
        raise Mistake(f"model {spec!r}: {error}") from None
    if not mark and not name.startswith(("local-dir:", "hf-hub:")):
        return ["its weights are random: none are named"]
    if stated is None:
        return [f"its file does not state its activation, which is taken from the name {name!r}"]
    return []


def _parts(spec: str) -> tuple[str, str, str]:
    """The name, ":" or "=" where weights are said, and the weights."""
    if Path(spec).is_dir():
        if not (Path(spec) / CONFIG).is_file():
            raise Mistake(f"model {spec!r}: the folder has no {CONFIG}; a model is {HOW}")
        if not any(list(Path(spec).glob(kind)) for kind in WEIGHTS):
            raise Mistake(f"model {spec!r}: the folder has no weights, {', '.join(WEIGHTS)}")
        return f"local-dir:{spec}", "", ""
    if spec.startswith(("hf-hub:", "local-dir:")):
        return spec, "", ""
    name, mark, weights = re.fullmatch(r"([^:=]*)([:=]?)(.*)", spec, re.DOTALL).groups()
    import slipform_core.torchvision_import  # noqa: F401, I001, before open_clip
    import open_clip

    if name not in open_clip.list_models():
        import difflib

        near = difflib.get_close_matches(name, open_clip.list_models(), n=3)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise Mistake(f"model {spec!r}: open_clip has no {name!r}{hint} A model is {HOW}")
    if mark == "=" and not Path(weights).is_file():
        raise Mistake(f"model {spec!r}: there is no file {weights!r}")
    known = open_clip.list_pretrained_tags_by_model(name)
    if mark == ":" and weights not in known:
        raise Mistake(f"model {spec!r}: {name} has no weights {weights!r}; it has: {', '.join(known)}")
    return name, mark, weights


def _load(clip: Clip, path: Path) -> None:
    import open_clip

    check_stated_activation(clip.model, path)
    before = _positions(clip.model.state_dict())
    for name, shape in _positions(_keys(path)).items():
        # open_clip would resize it, and the model would be another one than was trained.
        if before.get(name, shape) != shape:
            raise ValueError(f"{path} does not fit: {name} is {shape} there, {before[name]} in the model")
    try:
        open_clip.load_checkpoint(clip.model, str(path), weights_only=True)
    except Exception as error:  # a file that is no checkpoint makes torch raise what it likes
        why = " ".join(str(error).split())[:400]
        if clip.model.logit_bias is None and "logit_bias" in _keys(path):
            why = "it has a logit_bias, of a loss such as SigLIP's, and the model has none"
        raise ValueError(f"{path} does not fit: {why}") from None


def _keys(path: Path) -> Mapping[str, Tensor]:
    import open_clip

    try:
        return open_clip.factory.load_state_dict(str(path), weights_only=True)
    except Exception:  # as above
        return {}


def _positions(weights: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    names = [name for name in weights if name.endswith("positional_embedding")]
    return {name.removeprefix("text."): tuple(weights[name].shape) for name in names}


def fingerprint(clip: Clip) -> str:
    """Sixteen hex digits of what decides features: weights, architecture, precision, pixels, tokens."""
    digest = hashlib.sha256(f"{clip.model}|{clip.transform}|{clip.buckets}".encode())
    tokens = clip.tokenize(PROBE)
    digest.update(repr(tokens.tolist() if isinstance(tokens, Tensor) else tokens).encode())
    for name, module in clip.model.named_modules():
        digest.update(f"{name}|{_settings(module)}".encode())
    # Not the state alone, which lacks masks and the like.
    for name, weights in (*clip.model.named_parameters(), *clip.model.named_buffers()):
        digest.update(f"{name}|{weights.dtype}|{tuple(weights.shape)}".encode())
        digest.update(weights.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
    return digest.hexdigest()[:16]


def _settings(module: nn.Module) -> list[tuple[str, object]]:
    """What a module was made with and its weights do not say, such as its number of heads."""
    plain = (bool, int, float, str, tuple, list, type(None))
    found = {name: value for name, value in vars(module).items() if isinstance(value, plain)}
    return sorted(
        (name, tuple(value) if isinstance(value, list) else value)
        for name, value in found.items()
        if name != "training" and name[0] != "_"
    )
