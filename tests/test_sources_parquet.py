"""Pictures in Parquet: found in any order, in little memory, in the file or beside it."""

import random
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_sources import jpeg, said

from slipform_core.sources import BadPicture, parquet, photos

PLENTY = 400
ROOT = Path(__file__).parent.parent


def colour(row: int) -> tuple[int, int, int]:
    return row % 16 * 16, row // 16 % 16 * 16, 128


def write(path, cells, *, captions=None, **settings):
    pq.write_table(pa.table({"image": cells, "caption": captions or ["x"] * len(cells)}), path, **settings)
    return path


def shows(source, row: int, name: str = "t.parquet") -> bool:
    found = source.picture(f"{name}:image@{row}", 32).getpixel((5, 5))
    return max(abs(one - other) for one, other in zip(found, colour(row), strict=True)) < 6


@pytest.fixture
def plenty(tmp_path):
    cells = [{"bytes": jpeg(colour(row)), "path": f"{row}.jpg"} for row in range(PLENTY)]
    return write(tmp_path / "t.parquet", cells, row_group_size=150)


@pytest.fixture
def started(monkeypatch) -> list[int]:
    """The row groups that were begun to be read, in order."""
    groups, batches = [], parquet.batches

    def counted(file, group, columns):
        groups.append(group)
        return batches(file, group, columns)

    monkeypatch.setattr(parquet, "batches", counted)
    return groups


@pytest.mark.parametrize("batch", [1, 10_000, 1 << 25])
def test_pictures_are_found_in_any_order(plenty, monkeypatch, batch):
    monkeypatch.setattr(parquet, "BATCH", batch)
    source = photos(plenty)
    rows = list(range(PLENTY))
    random.Random(4).shuffle(rows)
    for row in [0, 0, 149, 150, 151, 149, 399, 300, 299, *rows[:60]]:
        assert shows(source, row)


def test_pictures_in_order_are_read_once(plenty, monkeypatch, started):
    monkeypatch.setattr(parquet, "BATCH", 10_000)
    source = photos(plenty)
    started.clear()
    assert all(shows(source, row) for row in range(PLENTY))
    assert started == [0, 1, 2]
    assert shows(source, 398)
    assert started == [0, 1, 2]
    assert shows(source, 300)
    assert started == [0, 1, 2, 2]


PEAK = """
import sys
from pathlib import Path
from slipform_core.sources import parquet, photos
parquet.BATCH = 1 << 20
def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
photos(Path(sys.argv[1])).picture("small.parquet:image@0", 32)
before = peak()
source = photos(Path(sys.argv[2]))
read = peak()
for row in (0, 1, 990, 10):
    source.picture(f"large.parquet:image@{row}", 32)
print(read - before, peak() - read)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is told by Linux only")
@pytest.mark.parametrize("kind", ["struct", "binary"])
def test_a_row_group_is_never_whole_in_memory(tmp_path, kind):
    rng = random.Random(0)
    data = [jpeg(colour(row)) + rng.randbytes(100_000) for row in range(1000)]
    cells = [{"bytes": each, "path": None} for each in data] if kind == "struct" else data
    small, large = tmp_path / "small.parquet", tmp_path / "large.parquet"
    write(small, cells[:1])
    write(large, cells, write_batch_size=16)  # rows of a page, which is read whole
    assert pq.ParquetFile(large).num_row_groups == 1
    command = [sys.executable, "-c", PEAK, str(small), str(large)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    read, shown = map(int, done.stdout.split())
    assert read < 10_000_000
    assert shown < 50_000_000  # of 100 MB


def test_a_page_that_is_damaged_costs_its_row_group_and_shows_no_other_picture(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "BATCH", 1)
    data = [jpeg(colour(row)) for row in range(12)]
    pages = {"write_batch_size": 1, "data_page_size": 1, "use_dictionary": False, "compression": "none"}
    path = write(tmp_path / "t.parquet", data, row_group_size=6, **pages)
    whole = path.read_bytes()
    end, start = whole.index(data[2]) + len(data[2]), whole.index(data[3])
    path.write_bytes(whole[:end] + b"\xff" * (start - end) + whole[start:])
    source = photos(path)
    assert all(shows(source, row) for row in (0, 1))
    for row in (3, 3, 3, 5, 4):
        with pytest.raises(BadPicture, match="missing picture"):
            source.picture(f"t.parquet:image@{row}", 32)
    assert all(shows(source, row) for row in (1, 6, 7, 11, 0))


def test_a_file_that_became_shorter_misses_pictures(tmp_path):
    source = photos(write(tmp_path / "t.parquet", [jpeg()] * 3))
    write(tmp_path / "t.parquet", [jpeg()])
    with pytest.raises(BadPicture, match="missing picture"):
        source.picture("t.parquet:image@2", 32)


@pytest.mark.parametrize("groups", [1, 2, 100])
@pytest.mark.parametrize("told", [True, False])
def test_pictures_without_bytes_lie_where_their_paths_say(tmp_path, groups, told):
    (tmp_path / "mine").mkdir()
    for row in (1, 2):
        (tmp_path / f"mine/{row}.jpg").write_bytes(jpeg(colour(row)))
    cells = [
        {"bytes": jpeg(colour(0)), "path": "0.jpg"},
        {"bytes": None, "path": "1.jpg"},
        {"bytes": None, "path": "2.jpg"},
        {"bytes": None, "path": "2.jpg"},
        {"bytes": None, "path": None},
    ]
    path = write(
        tmp_path / "t.parquet", cells, captions=list("abcde"), row_group_size=groups, write_statistics=told
    )
    source = photos(path, images=tmp_path / "mine")
    assert said(source) == [
        ("t.parquet:image@0", "a"),
        ("1.jpg", "b"),
        ("2.jpg", "c"),
        ("2.jpg", "d"),
        ("t.parquet:image@4", "e"),
    ]
    assert shows(source, 0)
    for row in (1, 2):
        found = source.picture(f"{row}.jpg", 32).getpixel((5, 5))
        assert abs(found[0] - 16 * row) < 6
    with pytest.raises(BadPicture, match="missing picture"):
        source.picture("t.parquet:image@4", 32)


def test_bytes_are_not_read_where_the_file_says_that_none_misses(plenty, monkeypatch):
    asked = []
    batches = parquet.batches
    monkeypatch.setattr(
        parquet,
        "batches",
        lambda file, group, columns: asked.append(columns) or batches(file, group, columns),
    )
    photos(plenty)
    assert asked == [["caption"]] * 3
