"""Reading photographs in threads: Pillow's limit, which is the process's, is lifted once and set back."""

import pytest
from PIL import Image

from slipform_core.evaluation.threads import reading_threads
from slipform_core.sources import photographs


def test_a_picture_that_is_read_does_not_set_the_limit_back_under_the_others(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    path = tmp_path / "x.png"
    Image.new("RGB", (64, 48), "red").save(path)
    with reading_threads() as pool:
        assert pool.submit(photographs.read, str(path), 32).result().size == (32, 32)
        assert Image.MAX_IMAGE_PIXELS is None
    assert Image.MAX_IMAGE_PIXELS == 1000


def test_the_limit_is_set_back_after_an_error(monkeypatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    with pytest.raises(KeyError), reading_threads():
        raise KeyError
    assert Image.MAX_IMAGE_PIXELS == 1000
