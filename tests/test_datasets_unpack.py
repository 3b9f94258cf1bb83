"""Archives: what leaves its folder is refused, and nothing of it is written."""

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from slipform_core.datasets import DataError
from slipform_core.datasets.unpacking import unpack

SLIPS = ["../out.txt", "/{outside}/out.txt", "a/../../out.txt", "..\\out.txt", "C:/out.txt"]


def zipped(path: Path, *members: zipfile.ZipInfo | str) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        for member in members:
            made.writestr(member, "text")
    return path


def tarred(path: Path, *members: tarfile.TarInfo | str) -> Path:
    with tarfile.open(path, "w:gz") as made:
        for member in members:
            info = tarfile.TarInfo(member) if isinstance(member, str) else member
            info.size = 4 if info.isfile() else 0
            made.addfile(info, io.BytesIO(b"text") if info.isfile() else None)
    return path


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


@pytest.mark.parametrize("made", [zipped, tarred])
def test_an_archive_joins_what_stands_there(made, tmp_path: Path) -> None:
    (tmp_path / "data/a").mkdir(parents=True)
    (tmp_path / "data/a/old.txt").write_text("old")
    (tmp_path / "data/a/same.txt").write_text("old")
    archive = made(tmp_path / "archive", "a/same.txt", "a/b/new.txt", "top.txt")
    assert unpack(archive, tmp_path / "data") == ["a", "top.txt"]
    assert files(tmp_path) == {"archive", *(f"data/{x}" for x in TOGETHER)}
    assert (tmp_path / "data/a/same.txt").read_text() == "text"


TOGETHER = ("a/old.txt", "a/same.txt", "a/b/new.txt", "top.txt")


def test_what_a_mac_adds_is_left_out(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "archive", "a.txt", "__MACOSX/._a.txt")
    assert unpack(archive, tmp_path / "data") == ["a.txt"]


@pytest.mark.parametrize("made", [zipped, tarred])
@pytest.mark.parametrize("slip", SLIPS)
def test_a_member_that_leaves_the_folder_is_refused(made, slip: str, tmp_path: Path) -> None:
    slip = slip.format(outside=tmp_path.as_posix().lstrip("/"))
    archive = made(tmp_path / "archive", "good.txt", slip)
    with pytest.raises(DataError, match="is not unpacked: its member .*out.txt' leaves the folder"):
        unpack(archive, tmp_path / "data")
    assert files(tmp_path) == {"archive"}


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_a_tar_with_a_link_or_a_device_is_refused(kind: bytes, tmp_path: Path) -> None:
    link = tarfile.TarInfo("link")
    link.type, link.linkname = kind, "../outside"
    archive = tarred(tmp_path / "archive", "good.txt", link, "link/out.txt")
    with pytest.raises(DataError, match="its member 'link' is neither a file nor a folder"):
        unpack(archive, tmp_path / "data")
    assert files(tmp_path) == {"archive"}


def test_a_zip_with_a_link_is_refused(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link")
    link.external_attr = 0o120777 << 16
    archive = zipped(tmp_path / "archive", "good.txt", link)
    with pytest.raises(DataError, match="its member 'link' is neither a file nor a folder"):
        unpack(archive, tmp_path / "data")
    assert files(tmp_path) == {"archive"}


@pytest.mark.parametrize("made", [zipped, tarred])
def test_what_is_no_whole_archive_is_one_line(made, tmp_path: Path) -> None:
    archive = made(tmp_path / "archive", *(f"{number}.txt" for number in range(2000)))
    archive.write_bytes(archive.read_bytes()[:-2000])
    with pytest.raises(DataError, match="is no whole zip or tar") as said:
        unpack(archive, tmp_path / "data")
    assert "\n" not in str(said.value)
    assert not (tmp_path / "data").exists()


def test_a_broken_member_writes_nothing(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "archive", "good.txt", "bad.txt")
    data = bytearray(archive.read_bytes())
    data[data.rindex(b"bad.txttext") + 7] ^= 1
    archive.write_bytes(data)
    with pytest.raises(DataError, match="Bad CRC"):
        unpack(archive, tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_what_an_ended_process_left_is_no_part_of_the_next(tmp_path: Path) -> None:
    left = tmp_path / "archive.unpacking"
    left.mkdir()
    (left / "half.txt").write_text("ha")
    archive = zipped(tmp_path / "archive", "a.txt")
    assert unpack(archive, tmp_path / "data") == ["a.txt"]
    assert files(tmp_path) == {"archive", "data/a.txt"}
