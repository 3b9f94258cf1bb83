"""A downloader for pooch that goes on where it was ended."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slipform_core import progress

TIMEOUT = (20, 60)  # seconds to connect, and without a byte
CHUNK = 1 << 18


def download(url: str, output_file: str, pooch: Any, *, partial: Path) -> None:
    """Download to pooch's temporary file, by way of one that outlives this process.

    `partial` may hold the beginning, from an earlier call; the server is asked for the rest, or for all where
    its file is another by now. The caller removes `partial` once the checksum has been compared.
    """
    _fill(url, partial)
    Path(output_file).unlink(missing_ok=True)
    try:
        # pooch drops its own file when it is interrupted while it computes the checksum of many gigabytes
        os.link(partial, output_file)
    except OSError:
        partial.replace(output_file)


def forget(partial: Path) -> None:
    """Remove a beginning, and what is known of it."""
    partial.unlink(missing_ok=True)
    _version(partial).unlink(missing_ok=True)


def _version(partial: Path) -> Path:
    return partial.with_name(partial.name + ".version")


def _fill(url: str, partial: Path) -> None:
    import requests

    version = _version(partial)
    have = partial.stat().st_size if partial.exists() and version.exists() else 0
    headers = {"Accept-Encoding": "identity"}
    if have:
        headers |= {"Range": f"bytes={have}-", "If-Range": version.read_text()}
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
        span = answer.headers.get("Content-Range", "")
        if have and answer.status_code == 416 and span == f"bytes */{have}":
            return  # it was ended between the last byte and the checksum
        goes_on = have > 0 and span.startswith(f"bytes {have}-")
        other = have > 0 and answer.status_code in (206, 416) and not goes_on
        if not other:
            answer.raise_for_status()
            if not goes_on:
                _start(partial, answer.headers)
            _take(answer, partial)
    if other:
        forget(partial)
        _fill(url, partial)


def _start(partial: Path, headers: Mapping[str, str]) -> None:
    """An empty file, and the version of the file that is about to fill it, if the server names one."""
    forget(partial)
    partial.touch()
    tag = headers.get("ETag", "")
    # If-Range takes no weak tag: two files of one weak tag may differ in their bytes
    name = tag if tag and not tag.startswith("W/") else headers.get("Last-Modified")
    if name:
        _version(partial).write_text(name)


def _take(answer: Any, partial: Path) -> None:
    have, length = partial.stat().st_size, answer.headers.get("Content-Length")
    total = have + int(length) if length else None
    shown = progress.bar(desc=partial.stem, total=total, initial=have, unit="B", unit_scale=True)
    with partial.open("ab") as out, shown:
        for chunk in answer.iter_content(CHUNK):
            out.write(chunk)
            shown.update(len(chunk))
