"""A model by what a user says of it: a name of open_clip, its weights, a file or a folder."""

import hashlib
import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import torch

from slipform_core.mistakes import Mistake
from slipform_core.models.clip import Clip
from slipform_core.models.open_clip import CONFIG, from_open_clip
from slipform_core.models.weights import activation

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
HOW = "NAME, NAME:PRETRAINED, NAME=FILE or a FOLDER as open_clip's local-dir"


def open_checkpoint(spec: str, *, device: str = "cpu", precision: str = "float32") -> Clip:
    """A model in eval mode: "ViT-B-32-quickgelu:openai", "ViT-B-32=epoch_10.pt", a folder, "hf-hub:...".

    A name alone has random weights. Activation, size, mean and deviation of the pixels are those of the
    folder or the name; of a file only ours says its activation. Raises Mistake in one line; nothing is
    unpickled but tensors.
    """
    check_checkpoint(spec, precision)
    name, mark, weights = _parts(spec)
    try:
        clip = from_open_clip(name, weights if mark == ":" else None, device)
        if mark == "=":
            _load(clip, Path(weights))
    except (ValueError, OSError, RuntimeError) as error:
        raise Mistake(f"model {spec!r}: {' '.join(str(error).split())}") from None
    return replace(clip, model=clip.model.to(PRECISIONS[precision]).eval())


def check_checkpoint(spec: str, precision: str = "float32") -> None:
    """Raise a Mistake for what `open_checkpoint` would refuse before it loads anything."""
    if precision not in PRECISIONS:
        raise Mistake(f"unknown precision {precision!r}; the choices are: {', '.join(PRECISIONS)}")
    _parts(spec)


def _parts(spec: str) -> tuple[str, str, str]:
    """The name, ":" or "=" where weights are said, and the weights."""
    if Path(spec).is_dir():
        if not (Path(spec) / CONFIG).is_file():
            raise Mistake(f"model {spec!r}: the folder has no {CONFIG}; a model is {HOW}")
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

    if path.suffix == ".safetensors":
        from safetensors import safe_open

        with safe_open(path, "pt") as file:
            made = (file.metadata() or {}).get("activation")
        if made and made != activation(clip.model):
            raise ValueError(f"{path} was trained with {made}, and the model has {activation(clip.model)}")
    try:
        open_clip.load_checkpoint(clip.model, str(path), weights_only=True)
    except Exception as error:  # a file that is no checkpoint makes torch raise what it likes
        why = " ".join(str(error).split())[:400]
        if clip.model.logit_bias is None and "logit_bias" in _keys(path):
            why = "it has a logit_bias, of a loss such as SigLIP's, and the model has none"
        raise ValueError(f"{path} does not fit: {why}") from None


def _keys(path: Path) -> Collection[str]:
    import open_clip

    try:
        return open_clip.factory.load_state_dict(str(path), weights_only=True)
    except Exception:  # as above
        return ()


def fingerprint(clip: Clip) -> str:
    """Sixteen hex digits of what decides features: weights, architecture, precision, pixels, tokens."""
    digest = hashlib.sha256(f"{clip.model}|{clip.transform}|{type(clip.tokenize).__name__}".encode())
    for name, weights in clip.model.state_dict().items():
        digest.update(f"{name}|{weights.dtype}|{tuple(weights.shape)}".encode())
        digest.update(weights.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
    return digest.hexdigest()[:16]
