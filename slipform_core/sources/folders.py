"""Folders of pictures with a text beside each, and WebDataset tars of the same."""

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

from slipform_core.sources.annotations import NO_TEXT
from slipform_core.sources.catalogue import Row
from slipform_core.sources.errors import SourceError

PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
TEXTS = (".txt", ".TXT")
ALONE = "picture without a text"


def folder(root: Path) -> Iterator[Row]:
    """The rows of a folder, and of those in it: of `name.jpg` each line of `name.txt` is a caption."""
    for path in sorted(path for path in root.rglob("*") if path.suffix.lower() in PICTURES):
        beside = _beside(path)
        name = path.relative_to(root).as_posix()
        if beside is None:
            yield Row(name, name, "", fault=ALONE)
        else:
            yield from _lines(name, str(path), beside)


def _beside(path: Path) -> bytes | None:
    for text in map(path.with_suffix, TEXTS):
        try:
            return text.read_bytes()
        except OSError:  # it is not there, a folder, or not to be read
            continue
    return None


def shards(root: Path) -> Iterator[Row]:
    """The rows of WebDataset tars, one or a folder of them: `key.jpg` beside `key.txt`, or `key.json`.

    A json has its caption under "caption" or "text". Nothing is unpacked: a picture is read where it lies.
    """
    tars = sorted(root.glob("*.tar")) if root.is_dir() else [root]
    for path in tars:
        try:
            yield from _samples(path)
        except (tarfile.TarError, EOFError):
            raise SourceError(
                f"{path} is no whole tar, or a compressed one: make or fetch it again"
            ) from None


def _samples(path: Path) -> Iterator[Row]:
    key, places, texts = None, {}, {}
    with tarfile.open(path, "r:") as tar:
        for member in tar:
            if not member.isfile():
                continue
            folder, slash, file = member.name.rpartition("/")
            stem, dot, suffix = file.partition(".")
            stem = folder + slash + stem
            if stem != key:
                yield from _sample(path, key, places, texts)
                key, places, texts = stem, {}, {}
            if dot + suffix.lower() in PICTURES:
                places[suffix] = f"{path}#{member.offset_data}+{member.size}"
            elif suffix.lower() in ("txt", "json"):
                texts[suffix.lower()] = tar.extractfile(member).read()
        yield from _sample(path, key, places, texts)


def _sample(path: Path, key: str | None, places: dict[str, str], texts: dict[str, bytes]) -> Iterator[Row]:
    if key is None:
        return
    suffix, place = next(iter(places.items()), ("", ""))
    name = f"{path.name}/{key}.{suffix}"
    if not place:
        yield Row(name, name, "", fault="text without a picture" if texts else "sample without a picture")
    elif text := texts.get("txt") or _said(texts.get("json", b"{}")):
        yield from _lines(name, place, text)
    else:
        yield Row(name, name, "", fault=ALONE)


def _said(data: bytes) -> bytes:
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return b""
    text = (tree.get("caption") or tree.get("text")) if isinstance(tree, dict) else None
    return text.encode(errors="replace") if isinstance(text, str) else b""


def _lines(name: str, place: str, data: bytes) -> Iterator[Row]:
    lines = [line for line in data.decode("utf-8-sig", errors="replace").splitlines() if line.strip()]
    yield from (Row(name, name, place, line) for line in lines)
    if not lines:
        yield Row(name, name, "", fault=NO_TEXT)
