"""Archives unpacked whole or not at all, and never outside their folder."""

import shutil
import tarfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from slipform_core import progress
from slipform_core.datasets.errors import DataError

MAC = "__MACOSX"  # what a Mac adds to a zip


def unpack(archive: Path, folder: Path) -> list[str]:
    """Unpack a zip or a tar into a folder, over what stands there; returns the names at its top.

    An archive with an absolute path, a "..", a link or a device is refused before anything is written.
    """
    partial = archive.with_name(archive.name + ".unpacking")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        if zipfile.is_zipfile(archive):
            _zip(archive, partial)
        else:
            _tar(archive, partial)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError) as error:
        raise DataError(f"{archive} is no whole zip or tar: {' '.join(str(error).split())}") from None
    names = sorted(path.name for path in partial.iterdir())
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        _settle(partial / name, folder / name)
    partial.rmdir()
    return names


def _zip(archive: Path, partial: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        members = [member for member in opened.infolist() if not member.filename.startswith(MAC)]
        for member in members:
            # the upper half is the Unix mode; an archive made elsewhere has none
            mode = member.external_attr >> 16
            _refuse(archive, member.filename, plain=mode & 0o170000 in (0, 0o100000, 0o040000))
        partial.mkdir()
        with _bar(archive, sum(member.file_size for member in members)) as shown:
            for member in members:
                opened.extract(member, partial)
                shown.update(member.file_size)


def _tar(archive: Path, partial: Path) -> None:
    with tarfile.open(archive) as opened:
        members = opened.getmembers()
        for member in members:
            _refuse(archive, member.name, plain=member.isfile() or member.isdir())
        partial.mkdir()
        with _bar(archive, sum(member.size for member in members)) as shown:
            for member in members:
                opened.extract(member, partial, filter="data")
                shown.update(member.size)


def _refuse(archive: Path, name: str, *, plain: bool) -> None:
    path = PurePosixPath(name.replace("\\", "/"))
    drive = path.parts and path.parts[0].endswith(":")
    if path.is_absolute() or ".." in path.parts or drive:
        raise DataError(f"{archive} is not unpacked: its member {name!r} leaves the folder")
    if not plain:
        raise DataError(f"{archive} is not unpacked: its member {name!r} is neither a file nor a folder")


def _bar(archive: Path, total: int):
    return progress.bar(desc=f"{archive.name}: unpacking", total=total, unit="B", unit_scale=True)


def _settle(source: Path, target: Path) -> None:
    """Rename, into a folder that is there already."""
    if source.is_dir() and target.is_dir():
        for path in source.iterdir():
            _settle(path, target / path.name)
        source.rmdir()
    else:
        source.replace(target)
