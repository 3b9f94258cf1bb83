"""ConcreteBatch on disk against the files themselves: tarfile, hashlib and webdataset's own reader."""

import hashlib
import io
import json
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import webdataset
from PIL import Image

from slipform_core import shards
from slipform_core.records import HardNegative, Keyword, Provenance
from slipform_core.shards import (
    DamagedShard,
    Sample,
    read_manifest,
    read_samples,
    write_manifest,
    write_shard,
)


def sample(index: int) -> Sample:
    keyword = Keyword("dog", "dog", "NOUN", 2, 5, 4.85, "object")
    made_by = Provenance("grammar@1", "render@1", index)
    record = HardNegative(f"train-{index:06d}", None, "a dog", keyword, f"a café {index}", None, made_by)
    pictures = np.random.default_rng(index).integers(0, 256, (2, 64, 64, 3), dtype=np.uint8)
    return Sample(record, *pictures)


def write(folder, count=3, name="shard-00000.tar", first=0):
    samples = [sample(first + index) for index in range(count)]
    rejected = Counter({"unchanged": 2, "held out": 1})
    return write_shard(folder, name, samples, source="abc", captions=count + 3, rejected=lambda: rejected)


@pytest.fixture
def folder(tmp_path):
    """Three shards of three records and their manifest."""
    rows = [write(tmp_path, name=shards.shard_name(index), first=3 * index) for index in range(3)]
    write_manifest(tmp_path, rows[::-1])
    return tmp_path


def same(one: Sample, other: Sample) -> bool:
    pictures = (one.picture == other.picture).all() and (one.negative_picture == other.negative_picture).all()
    return one.record == other.record and pictures


def test_samples_come_back_as_they_were_in_order(folder):
    found = list(read_samples(folder))
    assert len(found) == 9
    assert all(same(one, sample(index)) for index, one in enumerate(found))


def test_the_manifest_says_what_is_in_each_tar(folder):
    lines = (folder / "manifest.jsonl").read_text().splitlines()
    assert [json.loads(line)["name"] for line in lines] == [f"shard-0000{index}.tar" for index in range(3)]
    for line, shard in zip(map(json.loads, lines), read_manifest(folder), strict=True):
        content = (folder / line["name"]).read_bytes()
        assert line["sha256"] == shard.sha256 == hashlib.sha256(content).hexdigest()
        assert line["size"] == len(content)
        assert (line["source"], line["captions"], line["records"]) == ("abc", 6, 3)
        assert line["rejected"] == {"held out": 1, "unchanged": 2}
        assert vars(shard) == line


def test_the_same_samples_are_the_same_bytes(tmp_path):
    names = ("one", "two")
    for name in names:
        (tmp_path / name).mkdir()
        write(tmp_path / name)
    assert len({(tmp_path / name / "shard-00000.tar").read_bytes() for name in names}) == 1
    write(tmp_path / "two", first=1)
    assert len({(tmp_path / name / "shard-00000.tar").read_bytes() for name in names}) == 2
    with tarfile.open(tmp_path / "one/shard-00000.tar") as tar:
        for member in tar:
            assert (member.mtime, member.uname, member.gname) == (0, "", "")


def test_a_tar_has_five_files_a_record_that_any_tool_reads(folder):
    first = sample(0)
    with tarfile.open(folder / "shard-00000.tar") as tar:
        files = {member.name: tar.extractfile(member).read() for member in tar}
    key = first.record.record_id
    assert len(files) == 15
    assert files[f"{key}.txt"].decode() == "a dog"
    assert files[f"{key}.negative.txt"].decode() == "a café 0"
    assert HardNegative.from_json(json.loads(files[f"{key}.json"])) == first.record
    for name, pixels in (("png", first.picture), ("negative.png", first.negative_picture)):
        assert (np.asarray(Image.open(io.BytesIO(files[f"{key}.{name}"]))) == pixels).all()


def test_webdataset_reads_it(folder):
    urls = [str(path) for path in sorted(folder.glob("*.tar"))]
    dataset = webdataset.WebDataset(urls, shardshuffle=False).decode("rgb8")
    found = list(dataset.to_tuple("__key__", "png", "txt", "negative.png", "negative.txt", "json"))
    assert len(found) == 9
    for index, (key, picture, text, negative_picture, negative_text, record) in enumerate(found):
        expected = sample(index)
        assert (key, text, negative_text) == (expected.record.record_id, "a dog", f"a café {index}")
        assert (picture == expected.picture).all()
        assert (negative_picture == expected.negative_picture).all()
        assert record["provenance"] == {"rewriter": "grammar@1", "editor": "render@1", "seed": index}


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGE = {
    "flipped": flip,
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-700]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\0" * 512),
    "empty": lambda path: path.write_bytes(b""),
    "deleted": lambda path: path.unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_shard_is_named_before_any_of_it_is_read(folder, damage):
    DAMAGE[damage](folder / "shard-00001.tar")
    found = []
    with pytest.raises(DamagedShard, match=r"shard-00001\.tar is missing or damaged"):
        found.extend(sample.record.image_id for sample in read_samples(folder))
    standing = {shard.name: shards.intact(folder, shard) for shard in read_manifest(folder)}
    assert standing == {"shard-00000.tar": True, "shard-00001.tar": False, "shard-00002.tar": True}

    read = iter(read_samples(folder))
    assert [next(read).record.image_id for _ in range(3)] == [f"train-00000{index}" for index in range(3)]
    with pytest.raises(DamagedShard):
        next(read)


def test_a_folder_without_a_manifest_is_named(tmp_path):
    assert read_manifest(tmp_path) == []
    with pytest.raises(FileNotFoundError, match=r"has no manifest\.jsonl"):
        next(read_samples(tmp_path))


def test_a_shard_is_written_whole_or_not_at_all(tmp_path):
    whole = write(tmp_path)

    def broken():
        yield sample(5)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_shard(tmp_path, whole.name, broken(), source="abc", captions=3, rejected=Counter)
    assert shards.intact(tmp_path, whole)
    with pytest.raises(KeyboardInterrupt):
        write_shard(tmp_path, "shard-00001.tar", broken(), source="abc", captions=3, rejected=Counter)
    assert [path.name for path in tmp_path.glob("*.tar")] == [whole.name]


@pytest.mark.parametrize("member", ["../evil", "/tmp/slipform-evil", "folder/../../evil"])
def test_reading_writes_nothing_anywhere(tmp_path, member):
    """A tar of somebody else's with paths that lead out of the folder: nothing is extracted at all."""
    folder = tmp_path / "inside/deeper"
    folder.mkdir(parents=True)
    row = write(folder, count=1)
    with tarfile.open(folder / row.name) as tar:
        files = {entry.name.partition(".")[2]: tar.extractfile(entry).read() for entry in tar}
    with tarfile.open(folder / row.name, "w") as tar:
        for kind, content in files.items():
            entry = tarfile.TarInfo(f"{member}.{kind}")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
        link = tarfile.TarInfo("link.png")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    content = (folder / row.name).read_bytes()
    changes = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
    write_manifest(folder, [shards.Shard(**vars(row) | changes)])

    before = sorted(tmp_path.rglob("*"))
    [found] = read_samples(folder)
    assert same(found, sample(0))
    assert sorted(tmp_path.rglob("*")) == before
    assert not list(tmp_path.parent.glob("evil*"))
    assert not list(Path("/tmp").glob("slipform-evil*"))


def test_a_picture_that_is_no_png_is_refused(tmp_path):
    row = write(tmp_path, count=1)
    with tarfile.open(tmp_path / row.name) as tar:
        files = {entry.name: tar.extractfile(entry).read() for entry in tar}
    stream = io.BytesIO()
    Image.fromarray(sample(0).picture).save(stream, format="BMP")
    with tarfile.open(tmp_path / row.name, "w") as tar:
        for name, content in files.items():
            content = stream.getvalue() if name.endswith(".png") else content
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    content = (tmp_path / row.name).read_bytes()
    changes = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
    write_manifest(tmp_path, [shards.Shard(**vars(row) | changes)])
    with pytest.raises(OSError, match="cannot identify image"):
        list(read_samples(tmp_path))
