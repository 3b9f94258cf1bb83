"""Fetching: what is missing is downloaded, compared with its checksum, and unpacked."""

import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

from slipform_core.datasets.downloading import download, forget
from slipform_core.datasets.errors import DataError
from slipform_core.datasets.kinds import File
from slipform_core.datasets.registry import named
from slipform_core.datasets.unpacking import unpack
from slipform_core.files import write_text

CHECKSUMS = "checksums.json"  # of files whose first download was trusted
UNPACKED = "unpacked.json"  # archives: the checksum, and the names at their top
DOWNLOADS = ".slipform-downloads"  # removed in the end: a name that is no one else's


def fetch(name: str, folder: Path) -> Path:
    """Have a dataset in a folder, which is returned; ended at any moment, the next call goes on.

    A file that stands with the right checksum is not fetched again. An archive is removed once it is
    unpacked, and `unpacked.json` says which it was: without that file it is fetched anew. Raises DataError,
    also for a dataset that is gated.
    """
    dataset = named(name)
    if dataset.gated:
        raise DataError(dataset.gated.format(folder=folder))
    print(f"{dataset.title}; terms: {dataset.terms}")
    (folder / DOWNLOADS).mkdir(parents=True, exist_ok=True)
    # all are looked at first: two archives may make the same folder
    for file in [file for file in dataset.files if not _stands(file, folder)]:
        _have(file, folder)
    shutil.rmtree(folder / DOWNLOADS)
    for note in dataset.notes:
        print(f"note: {note}")
    return folder


def _have(file: File, folder: Path) -> None:
    known = _known(file, folder)
    _room(file, folder)
    path = _download(file, folder, known)
    known = known or _trust(path, folder)
    if file.unpack is None:
        path.replace(folder / file.name)
    else:
        names = unpack(path, folder / file.unpack)
        _keep(folder / UNPACKED, file.name, {"checksum": known, "names": names})
    print(f"{file.name}: fetched into {folder}, {known}")


def _known(file: File, folder: Path) -> str | None:
    return file.checksum or _read(folder / CHECKSUMS).get(file.name)


def _stands(file: File, folder: Path) -> bool:
    known = _known(file, folder)
    if file.unpack is None:
        path = folder / file.name
        stands = known is not None and path.is_file() and _checksum(path, known.partition(":")[0]) == known
    else:
        kept = _read(folder / UNPACKED).get(file.name, {"checksum": None, "names": []})
        names = [folder / file.unpack / name for name in kept["names"]]
        stands = known is not None and kept["checksum"] == known and all(path.exists() for path in names)
    if stands:
        print(f"{file.name}: stands in {folder}")
    return stands


def _room(file: File, folder: Path) -> None:
    """Refuse what does not fit; an archive needs its size again to be unpacked, about."""
    begun = sum(path.stat().st_size for path in (folder / DOWNLOADS).glob(f"{file.name}*") if path.is_file())
    need = (file.size or 0) * (2 if file.unpack is not None else 1) - begun
    free = shutil.disk_usage(folder).free
    if need > free:
        raise DataError(
            f"{file.name} needs {need / 1e9:.1f} GB in {folder}, which has {free / 1e9:.1f} GB left"
        )


def _download(file: File, folder: Path, known: str | None) -> Path:
    import pooch
    import requests

    pooch.get_logger().setLevel("WARNING")
    begun = folder / DOWNLOADS / f"{file.name}.partial"
    resuming = partial(download, partial=begun)
    try:
        path = pooch.retrieve(file.url, known, fname=file.name, path=begun.parent, downloader=resuming)
    except requests.RequestException as error:
        further = "; the next fetch goes on from there" if begun.exists() and begun.stat().st_size else ""
        raise DataError(f"{file.url}: {' '.join(str(error).split())}{further}") from None
    except ValueError as error:
        forget(begun)
        anew = "" if file.checksum else f" Remove {folder / CHECKSUMS} to trust what is there now."
        raise DataError(f"{file.url}: {error}{anew}") from None
    forget(begun)
    return Path(path)


def _trust(path: Path, folder: Path) -> str:
    found = _checksum(path, "sha256")
    _keep(folder / CHECKSUMS, path.name, found)
    print(
        f"{path.name}: no public checksum of it is known; this first download is trusted, and later ones are "
        f"compared with its sha256 in {folder / CHECKSUMS}"
    )
    return found


def _checksum(path: Path, algorithm: str) -> str:
    import pooch

    return f"{algorithm}:{pooch.file_hash(str(path), algorithm)}"


def _read(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text()) if path.exists() else {}
    except ValueError as error:
        raise DataError(f"{path} cannot be read, remove it to fetch anew: {error}") from None


def _keep(path: Path, name: str, value: Any) -> None:
    write_text(path, json.dumps(_read(path) | {name: value}, indent=1) + "\n")
