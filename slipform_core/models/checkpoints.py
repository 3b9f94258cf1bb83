"""A model by what a user says of it: a name of open_clip, its weights, a file or a folder."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from slipform_core.mistakes import Mistake
from slipform_core.models import foreign
from slipform_core.models.clip import Clip
from slipform_core.models.open_clip import CONFIG, check_activation, from_open_clip, quietly
from slipform_core.models.weights import stated_activation

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
WEIGHTS = ("*.safetensors", "*.bin", "*.pth")  # that open_clip looks for in a folder
LOOKS = ("mean", "std", "interpolation", "resize_mode")  # of open_clip's preprocessing
LOCAL = "local-dir:"
SEED = 0  # of weights that are random
HOW = "NAME, NAME:PRETRAINED, NAME=FILE, hf-hub:NAME or a FOLDER as open_clip's local-dir"


class _Source(NamedTuple):
    """What a user said of a model: open_clip's name and tag, a file of weights, what is known beforehand."""

    name: str
    tag: str | None = None
    file: Path | None = None
    pixels: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()


def open_checkpoint(spec: str, *, device: str = "cpu", precision: str = "float32") -> Clip:
    """A model in eval mode: "ViT-B-32-quickgelu:openai", "ViT-B-32=epoch_10.pt", a folder, "hf-hub:...".

    A name alone has random weights, each time the same. Activation and pixels are those of the folder or of
    the name's weights. Of a file only ours says its activation; its pixels are those that all of open_clip's
    weights of the name want, or open_clip's own where these differ. Raises Mistake in one line; nothing is
    unpickled but tensors.
    """
    _check_where(device, precision)
    with _one_line(spec):
        source = _source(spec)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(SEED)
            clip = from_open_clip(source.name, source.tag, device, source.pixels)
        if source.name.startswith(LOCAL):
            foreign.check_fit(clip.model, source.file)
        elif source.file:
            foreign.load(clip.model, source.file)
    return replace(clip, model=clip.model.to(PRECISIONS[precision]).eval())


def check_checkpoint(spec: str, *, device: str = "cpu", precision: str = "float32") -> list[str]:
    """What to know of a model beforehand; Mistake for what `open_checkpoint` refuses, but for downloads."""
    _check_where(device, precision)
    with _one_line(spec):
        source = _source(spec)
        if source.file and (model := _empty(source.name)):
            foreign.load(model, source.file, bias=not source.name.startswith(LOCAL))
    return list(source.notes)


@contextmanager
def _one_line(spec: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # damaged files make open_clip and torch raise what they like
        why = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise Mistake(f"model {spec!r}: {' '.join(why.split())}") from None


def _empty(name: str) -> nn.Module | None:
    """A model without weights, to see what fits it; None where only the real one can be made."""
    import open_clip

    with suppress(Exception), quietly(), torch.device("meta"):
        return open_clip.create_model(
            name, None, device="meta", load_weights=False, pretrained_image=False, pretrained_text=False
        )
    return None


def _check_where(device: str, precision: str) -> None:
    if precision not in PRECISIONS:
        raise Mistake(f"unknown precision {precision!r}; the choices are: {', '.join(PRECISIONS)}")
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise Mistake(f"device {device!r}: {' '.join(str(error).split())}") from None


def _source(spec: str) -> _Source:
    """What a user's words mean; ValueError says what is wrong with them."""
    import slipform_core.torchvision_import  # noqa: F401, I001, before open_clip

    if Path(spec).is_dir() or spec.startswith(LOCAL):
        return _folder(Path(spec.removeprefix(LOCAL)))
    if spec.startswith("hf-hub:"):
        return _Source(spec)
    name, mark, weights = re.fullmatch(r"([^:=]*)([:=]?)(.*)", spec, re.DOTALL).groups()
    _check_name(spec, name)
    if mark == "=":
        return _file(name, Path(weights))
    if not mark:
        return _Source(name, notes=(f"its weights are random, of seed {SEED}: none are named",))
    _check_tag(name, weights)
    return _Source(name, weights)


def _folder(folder: Path) -> _Source:
    import open_clip

    if not (folder / CONFIG).is_file():
        theirs = (
            "; config.json is of transformers, whose models are not read" * (folder / "config.json").is_file()
        )
        raise ValueError(f"the folder has no {CONFIG}{theirs}; a model is {HOW}")
    if not any(list(folder.glob(kind)) for kind in WEIGHTS):
        raise ValueError(f"the folder has no weights, {', '.join(WEIGHTS)}")
    with quietly():
        file = Path(open_clip.factory._find_checkpoint_in_dir(folder))
    return _Source(f"{LOCAL}{folder}", file=file)


def _file(name: str, path: Path) -> _Source:
    if not path.is_file():
        raise ValueError(f"there is no file {str(path)!r}")
    notes = []
    if stated_activation(path) is None:
        notes.append(f"its file does not state its activation, which is taken from the name {name!r}")
    wanted = _pixels(name)
    if len(wanted) > 1:
        notes.append(f"open_clip's weights of {name!r} want different pixels; taken are open_clip's own")
    return _Source(name, file=path, pixels=wanted[0] if len(wanted) == 1 else None, notes=tuple(notes))


def _pixels(name: str) -> list[dict[str, Any]]:
    """The different preprocessings that open_clip's weights of a name want."""
    import open_clip

    found: list[dict[str, Any]] = []
    for tag in open_clip.list_pretrained_tags_by_model(name):
        config = open_clip.get_pretrained_cfg(name, tag)
        looks = {key: config[key] for key in LOOKS if key in config}
        if looks not in found:
            found.append(looks)
    return found


def _check_name(spec: str, name: str) -> None:
    import difflib

    import open_clip

    if name not in open_clip.list_models():
        near = difflib.get_close_matches(name, open_clip.list_models(), n=3)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        if Path(spec).is_file():
            hint = f", and a file alone does not say its architecture; did you mean ViT-B-32={spec}?"
        raise ValueError(f"open_clip has no {name!r}{hint or '.'} A model is {HOW}")


def _check_tag(name: str, tag: str) -> None:
    import open_clip

    known = open_clip.list_pretrained_tags_by_model(name)
    if tag not in known:
        has = f"it has: {', '.join(known)}" if known else "it has none"
        hint = f"; did you mean {name}={tag}?" if Path(tag).is_file() else ""
        raise ValueError(f"{name} has no weights {tag!r}; {has}{hint}")
    check_activation(name, tag)
