"""Fetching from a server on this machine: whole, resumed, compared with a checksum, unpacked once."""

import hashlib
import io
import json
import random
import re
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import pooch.core
import pytest

from slipform_core.datasets import DATASETS, DataError, Dataset, File, downloading, fetch, fetching, unpacking

BYTES = random.Random(8).randbytes(3_000_000)
HALF = 6 * downloading.CHUNK  # what is not a whole chunk is not kept
ROOT = Path(__file__).parent.parent


@dataclass
class Site:
    """What the server has, how it behaves, and the Range header of each request."""

    url: str = ""
    data: dict[str, bytes] = field(default_factory=dict, repr=False)
    ranges: int = 1  # 0: it knows none, 2: it begins a byte later than asked
    headers: dict[str, str] = field(default_factory=lambda: {"ETag": '"one"'})
    ends_at: int | None = None
    stalls: threading.Event | None = None
    asked: list[str | None] = field(default_factory=list)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: Site

    def do_GET(self) -> None:
        site, data = self.site, self.site.data.get(self.path[1:])
        site.asked.append(self.headers["Range"])
        self.close_connection = True
        if data is None:
            self.send_error(404)
            return
        start = self._start()
        if start >= len(data):
            self._head(416, {"Content-Range": f"bytes */{len(data)}", "Content-Length": "0"})
            return
        part = data[start:]
        span = {"Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"} if start else {}
        self._head(206 if start else 200, {**site.headers, **span, "Content-Length": str(len(part))})
        self.wfile.write(part[: site.ends_at])
        if site.stalls:
            site.stalls.wait(30)

    def _start(self) -> int:
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers["Range"] or "")
        same = self.headers["If-Range"] in self.site.headers.values()
        return int(wanted[1]) + self.site.ranges - 1 if wanted and same and self.site.ranges else 0

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Handler.site = Site(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield Handler.site
    server.shutdown()
    thread.join()
    server.server_close()


def made_up(monkeypatch: pytest.MonkeyPatch, *files: File) -> None:
    monkeypatch.setitem(DATASETS, "made-up", Dataset("Made up", "none", (), files))


def sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def zipped(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        for name, data in members.items():
            made.writestr(name, data)
    return stream.getvalue()


@pytest.fixture
def one(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A dataset of one plain file with its right checksum."""
    site.data["one.json"] = BYTES
    made_up(monkeypatch, File(f"{site.url}/one.json", sha256(BYTES)))
    return site


def test_a_whole_download_and_a_second_one_that_asks_nothing(
    one: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data"
    assert fetch("made-up", folder) == folder
    assert (folder / "one.json").read_bytes() == BYTES
    assert [path.name for path in folder.iterdir()] == ["one.json"]
    fetch("made-up", folder)
    assert one.asked == [None]
    assert "Made up; terms: none" in capsys.readouterr().out
    (folder / "one.json").write_bytes(BYTES[:-1])
    fetch("made-up", folder)
    assert (folder / "one.json").read_bytes() == BYTES


def test_a_folder_of_the_users_own_stays(one: Site, tmp_path: Path) -> None:
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads/thesis.pdf").write_bytes(b"years")
    fetch("made-up", tmp_path)
    assert (tmp_path / "downloads/thesis.pdf").read_bytes() == b"years"
    assert {path.name for path in tmp_path.iterdir()} == {"downloads", "one.json"}


def begun(folder: Path) -> Path:
    return folder / ".slipform-downloads" / "one.json.partial"


def broken_off(one: Site, folder: Path) -> None:
    one.ends_at = HALF
    with pytest.raises(DataError, match="the next fetch goes on from there"):
        fetch("made-up", folder)
    one.ends_at = None
    assert begun(folder).read_bytes() == BYTES[:HALF]
    assert not (folder / "one.json").exists()


KILLED = """
import sys
from pathlib import Path
from slipform_core.datasets import DATASETS, Dataset, File, fetch
url, checksum, folder = sys.argv[1:]
DATASETS["made-up"] = Dataset("Made up", "none", (), (File(url, checksum),))
fetch("made-up", Path(folder))
"""


def test_killed_half_way_it_asks_for_the_rest(one: Site, tmp_path: Path) -> None:
    one.ends_at, one.stalls = HALF, threading.Event()
    words = [sys.executable, "-c", KILLED, f"{one.url}/one.json", sha256(BYTES), str(tmp_path)]
    process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (begun(tmp_path).exists() and begun(tmp_path).stat().st_size > HALF // 2):
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.wait()
    one.stalls.set()
    one.ends_at = one.stalls = None
    have = begun(tmp_path).stat().st_size
    fetch("made-up", tmp_path)
    assert one.asked == [None, f"bytes={have}-"]
    assert [path.name for path in tmp_path.iterdir()] == ["one.json"]
    assert (tmp_path / "one.json").read_bytes() == BYTES


STRONG, WEAK = {"ETag": '"one"'}, {"ETag": 'W/"one"'}
DATED = {"Last-Modified": "Wed, 01 Jan 2020 00:00:00 GMT"}


@pytest.mark.parametrize(
    ("headers", "ranges", "asks"),
    [(STRONG, 1, [1]), (DATED, 1, [1]), (STRONG, 0, [1]), (STRONG, 2, [1, 0]), (WEAK, 1, [0]), ({}, 1, [0])],
    ids=["tag", "date", "no ranges", "other range", "weak tag", "no version"],
)
def test_after_a_broken_connection(
    headers: dict[str, str], ranges: int, asks: list[int], one: Site, tmp_path: Path
) -> None:
    one.headers, one.ranges = headers, ranges
    broken_off(one, tmp_path)
    fetch("made-up", tmp_path)
    assert one.asked == [None, *(f"bytes={HALF}-" if part else None for part in asks)]
    assert (tmp_path / "one.json").read_bytes() == BYTES


def test_a_file_that_changed_meanwhile_starts_anew(
    one: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken_off(one, tmp_path)
    one.data["one.json"], one.headers = BYTES[::-1], {"ETag": '"two"'}
    made_up(monkeypatch, File(f"{one.url}/one.json", sha256(BYTES[::-1])))
    fetch("made-up", tmp_path)
    assert (tmp_path / "one.json").read_bytes() == BYTES[::-1]


@pytest.mark.parametrize("further", [[], [None]])
def test_ended_after_the_last_byte_or_with_bytes_too_many(
    further: list[None], one: Site, tmp_path: Path
) -> None:
    have = BYTES + b"x" * len(further)
    begun(tmp_path).parent.mkdir()
    begun(tmp_path).write_bytes(have)
    begun(tmp_path).with_suffix(".partial.version").write_text('"one"')
    fetch("made-up", tmp_path)
    assert one.asked == [f"bytes={len(have)}-", *further]
    assert (tmp_path / "one.json").read_bytes() == BYTES


def test_a_wrong_checksum_names_both_and_keeps_nothing(
    one: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = f"md5:{'0' * 32}"
    made_up(monkeypatch, File(f"{one.url}/one.json", wrong))
    found = hashlib.md5(BYTES).hexdigest()
    with pytest.raises(DataError, match=f"one.json.*expected {wrong} but got {found}") as said:
        fetch("made-up", tmp_path)
    assert "\n" not in str(said.value) and "Remove" not in str(said.value)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_without_a_public_checksum_the_first_download_is_trusted(
    one: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made_up(monkeypatch, File(f"{one.url}/one.json"))
    fetch("made-up", tmp_path)
    assert "no public checksum of it is known" in capsys.readouterr().out
    assert json.loads((tmp_path / "checksums.json").read_text()) == {"one.json": sha256(BYTES)}
    fetch("made-up", tmp_path)
    assert one.asked == [None]
    (tmp_path / "one.json").unlink()
    one.data["one.json"] = BYTES[::-1]
    with pytest.raises(DataError, match=f"expected {sha256(BYTES)}.* Remove .*checksums.json to trust"):
        fetch("made-up", tmp_path)
    assert not (tmp_path / "one.json").exists()


def test_what_is_not_there_is_one_line(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_up(monkeypatch, File(f"{site.url}/two.json"))
    with pytest.raises(DataError, match="404") as said:
        fetch("made-up", tmp_path)
    assert "\n" not in str(said.value)
    assert "goes on" not in str(said.value)


def test_what_does_not_fit_is_not_begun(one: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_up(monkeypatch, File(f"{one.url}/one.json", sha256(BYTES), size=10**18))
    with pytest.raises(DataError, match=r"one.json needs 1000000000.0 GB in .*, which has"):
        fetch("made-up", tmp_path)
    assert not one.asked


def test_archives_are_unpacked_once_side_by_side(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.data |= {"a.zip": zipped(**{"texts/a.json": b"a"}), "b.zip": zipped(**{"texts/b.json": b"b"})}
    made_up(
        monkeypatch,
        *(File(f"{site.url}/{name}", sha256(data), unpack=".") for name, data in site.data.items()),
    )
    fetch("made-up", tmp_path)
    assert {path.name: path.read_bytes() for path in (tmp_path / "texts").iterdir()} == {
        "a.json": b"a",
        "b.json": b"b",
    }
    assert {path.name for path in tmp_path.iterdir()} == {"texts", "unpacked.json"}
    fetch("made-up", tmp_path)
    assert len(site.asked) == 2
    shutil.rmtree(tmp_path / "texts")
    fetch("made-up", tmp_path)
    assert len(site.asked) == 4
    assert len(list((tmp_path / "texts").iterdir())) == 2


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("where", "what", "asked"),
    [(pooch.core, "hash_matches", 2), (unpacking, "_settle", 1), (fetching, "_keep", 1)],
)
def test_interrupted_after_the_download_nothing_is_lost(
    where: ModuleType, what: str, asked: int, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = site.data["a.zip"] = zipped(**{"a.json": BYTES})
    made_up(monkeypatch, File(f"{site.url}/a.zip", sha256(data), unpack="."))
    with monkeypatch.context() as patched:
        patched.setattr(where, what, interrupted)
        with pytest.raises(KeyboardInterrupt):
            fetch("made-up", tmp_path)
    fetch("made-up", tmp_path)
    assert site.asked == [None, f"bytes={len(data)}-"][:asked]
    assert {path.name for path in tmp_path.iterdir()} == {"a.json", "unpacked.json"}
    assert (tmp_path / "a.json").read_bytes() == BYTES
