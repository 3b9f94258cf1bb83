"""Datasets by name: what is known of each, and what is said where somebody has to be asked."""

from pathlib import Path

import pytest

from slipform_core.datasets import DATASETS, DataError, check, downloading, fetch, named

DIGITS = {"md5": 32, "sha256": 64}
GATED = {
    "winoground": ["huggingface.co/datasets/facebook/winoground", "hf auth login", "--local-dir"],
    "flickr30k": ["shannon.cs.illinois.edu/DenotationGraph", "University of Illinois", "flickr30k-images"],
    "imagenet": ["image-net.org", "ILSVRC2012_img_val.tar"],
}


@pytest.mark.parametrize("name", DATASETS)
def test_every_dataset_says_its_terms_and_what_to_expect(name: str) -> None:
    dataset = DATASETS[name]
    assert dataset.title and dataset.terms
    assert bool(dataset.files) != bool(dataset.gated)
    assert all(count > 0 for subject in dataset.subjects for count in subject.expected.values())
    assert len({file.name for file in dataset.files}) == len(dataset.files)
    for file in dataset.files:
        assert file.name.endswith(".zip") == (file.unpack is not None)
        if file.checksum:
            algorithm, _, digits = file.checksum.partition(":")
            assert len(digits) == DIGITS[algorithm]
            assert int(digits, 16)


def test_the_counts_that_papers_report() -> None:
    def total(name: str) -> int:
        return sum(sum(subject.expected.values()) for subject in DATASETS[name].subjects)

    assert total("sugarcrepe") == 7_511
    assert total("sugarcrepe-pp") == 4_757
    captions = {subject.name: subject.expected for subject in DATASETS["coco-captions"].subjects}
    for what, count in {"pictures": 123_287, "captions": 616_767}.items():
        for year in ("2014", "2017"):
            assert sum(captions[f"captions_{part}{year}.json"][what] for part in ("train", "val")) == count


def test_an_unknown_name_names_the_nearest(tmp_path: Path) -> None:
    for ask in (named, lambda name: fetch(name, tmp_path / "x"), lambda name: check(name, tmp_path)):
        with pytest.raises(
            DataError, match="unknown dataset 'flicker8k'.*coco-captions.*mean 'flickr8k'"
        ) as said:
            ask("flicker8k")
        assert "\n" not in str(said.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", GATED)
def test_a_gated_dataset_says_where_to_ask_and_fetches_nothing(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "here"
    for ask in (fetch, check):
        with pytest.raises(DataError, match="is gated") as said:
            ask(name, folder)
        for part in (*GATED[name], str(folder), f"slipform data check {name} {folder}"):
            assert part in str(said.value)
        assert "\n" not in str(said.value)
    assert not folder.exists()


def test_a_folder_that_is_not_there_says_what_makes_it(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"is no folder: `slipform data fetch karpathy --to .*/nowhere` makes it"
    ):
        check("karpathy", tmp_path / "nowhere")


def test_a_disk_without_hard_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no hard links here")

    monkeypatch.setattr(downloading, "_fill", lambda url, partial: partial.write_bytes(b"all"))
    monkeypatch.setattr(downloading.os, "link", refuse)
    downloading.download("", str(tmp_path / "out"), None, partial=tmp_path / "out.partial")
    assert (tmp_path / "out").read_bytes() == b"all"
