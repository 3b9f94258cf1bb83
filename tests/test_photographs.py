"""Pictures as users have them, each read as a viewer shows it or refused with a reason."""

import io
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from torchvision_oracle import resized

from slipform_core.sources import BadPicture, photographs
from slipform_core.sources.photographs import read, square

ROOT = Path(__file__).parent.parent
RAMP = np.linspace(0, 255, 96, dtype=np.uint8)[None, :, None].repeat(64, 0).repeat(3, 2)


def save(path, picture: Image.Image, **settings):
    picture.save(path, **settings)
    return str(path)


def grey(path) -> np.ndarray:
    return np.asarray(read(path, 64)).astype(float)


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "P", "1", "LA"])
def test_modes_are_read_as_a_viewer_shows_them(tmp_path, mode):
    picture = Image.fromarray(RAMP)
    path = save(tmp_path / "x.png", picture.convert(mode))
    shown = np.asarray(picture.convert(mode).convert("RGB").crop((16, 0, 80, 64)))
    assert abs(grey(path) - shown).max() <= 1


def test_cmyk_of_a_jpeg(tmp_path):
    path = save(tmp_path / "x.jpg", Image.fromarray(RAMP).convert("CMYK"), quality=95)
    assert abs(grey(path) - RAMP[:, 16:80]).mean() < 3


@pytest.mark.parametrize("order", ["<", ">"])
def test_sixteen_bits_are_scaled_and_not_cut(tmp_path, order):
    deep = (RAMP[..., 0].astype(np.uint16) * 257).astype(f"{order}u2")
    if order == "<":
        path = save(tmp_path / "x.png", Image.fromarray(deep))
    else:
        (tmp_path / "x.tif").write_bytes(big_endian_tiff(deep))
        path = str(tmp_path / "x.tif")
    assert abs(grey(path) - RAMP[:, 16:80]).max() <= 1


def big_endian_tiff(pixels: np.ndarray) -> bytes:
    height, width = pixels.shape
    tags = [(256, width), (257, height), (258, 16), (259, 1), (262, 1), (273, 200), (277, 1), (278, height)]
    tags += [(279, pixels.nbytes)]
    head = b"MM\0*" + struct.pack(">I", 8) + struct.pack(">H", len(tags))
    head += b"".join(struct.pack(">HHII", tag, 4, 1, value) for tag, value in tags) + struct.pack(">I", 0)
    return head.ljust(200, b"\0") + pixels.tobytes()


def test_what_is_transparent_is_white(tmp_path):
    clear = Image.new("RGBA", (64, 64), (255, 0, 0, 0))
    assert (grey(save(tmp_path / "x.png", clear)) == 255).all()
    assert (grey(save(tmp_path / "y.png", clear.quantize())) == 255).all()


FADE = np.add.outer(np.arange(70), 2 * np.arange(64)).astype(np.uint8)
CLEAR = FADE[::-1]
FOUR = Image.fromarray(FADE // 64)
FOUR.putpalette([grey for value in (90, 40, 80, 120) for grey in (value, value, value)])
CONVERTED = {
    "I;16": (Image.fromarray(FADE.astype(np.uint16) * 257), FADE),
    "I": (Image.fromarray(FADE.astype(np.int32) * 257), FADE),
    "LA": (Image.fromarray(np.dstack([FADE, CLEAR])), FADE * (CLEAR / 255) + 255 - CLEAR),
    "RGBA": (Image.fromarray(np.dstack([FADE] * 3 + [CLEAR])), FADE * (CLEAR / 255) + 255 - CLEAR),
    "P": (FOUR, np.where(FADE < 64, 255, FADE // 64 * 40)),
}


@pytest.mark.parametrize("mode", CONVERTED)
@pytest.mark.parametrize("band", [1, 64 * 7, 1 << 20])
def test_what_is_converted_in_bands_is_whole(tmp_path, monkeypatch, mode, band):
    monkeypatch.setattr(photographs, "BAND", band)
    picture, expected = CONVERTED[mode]
    assert picture.mode == mode
    path = save(
        tmp_path / ("x.tif" if mode == "I" else "x.png"),
        picture,
        **{"transparency": 0} if mode == "P" else {},
    )
    assert abs(grey(path) - expected[3:67, :, None]).max() <= 1


PEAK = """
import sys
from pathlib import Path
from slipform_core.sources.photographs import read
def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
read(sys.argv[1], 64)
before = peak()
read(sys.argv[2], 64)
print(peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is told by Linux only")
@pytest.mark.parametrize(("mode", "bytes_each"), [("I;16", 2), ("RGBA", 4), ("LA", 4), ("RGB", 4)])
def test_a_large_picture_takes_few_bytes_a_pixel(tmp_path, mode, bytes_each):
    """As many as Pillow decodes it to, and four of RGB."""
    small = save(tmp_path / "x.png", Image.new(mode, (64, 64)))
    large = save(tmp_path / "y.png", Image.new(mode, (5000, 4000)), compress_level=1)
    command = [sys.executable, "-c", PEAK, small, large]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(done.stdout) / (5000 * 4000) < bytes_each + 4 + 3


def test_a_place_that_no_file_can_have_does_not_exist(tmp_path):
    (tmp_path / "a.jpg").touch()
    places = ["a" * 300, "a" * 5000, "b\0.jpg", "a.jpg/b.jpg", f"{'a' * 300}.tar#1+2"]
    assert not any(photographs.exists(str(tmp_path / place)) for place in places)
    assert photographs.exists(str(tmp_path / "a.jpg"))


def test_a_picture_is_turned_as_its_exif_says(tmp_path):
    picture = Image.fromarray(RAMP)
    exif = Image.Exif()
    exif[0x0112] = 6  # shown a quarter clockwise
    path = save(tmp_path / "x.jpg", picture, exif=exif, quality=95)
    expected = np.asarray(picture.rotate(-90, expand=True).crop((0, 16, 64, 80))).astype(float)
    assert abs(grey(path) - expected).mean() < 2


def test_the_first_frame_of_several(tmp_path):
    frames = [Image.new("RGB", (64, 64), colour) for colour in ("red", "blue")]
    path = save(tmp_path / "x.gif", frames[0], save_all=True, append_images=frames[1:])
    assert grey(path)[5, 5].tolist() == [255, 0, 0]


def test_a_very_wide_picture_gives_its_middle(tmp_path):
    pixels = np.zeros((40, 20_000, 3), dtype=np.uint8)
    pixels[:, 9_900:10_100] = 255
    assert (grey(save(tmp_path / "x.png", Image.fromarray(pixels))) == 255).all()


def test_a_jpeg_of_more_pixels_than_pillow_opens(tmp_path):
    path = save(tmp_path / "x.jpg", Image.new("L", (20_000, 10_000), 200), quality=50)
    assert abs(grey(path) - 200).max() <= 2
    assert Image.MAX_IMAGE_PIXELS is not None


def test_only_what_is_decoded_counts_as_large(tmp_path, monkeypatch):
    """A JPEG is decoded at an eighth of its sides, a PNG at all of its pixels."""
    monkeypatch.setattr(photographs, "LARGEST", 1_000_000)
    picture = Image.new("L", (2000, 1000), 200)
    assert abs(grey(save(tmp_path / "x.jpg", picture)) - 200).max() <= 2
    with pytest.raises(BadPicture, match="huge picture"):
        grey(save(tmp_path / "x.png", picture))
    assert (grey(save(tmp_path / "y.png", picture.crop((0, 0, 1000, 1000)))) == 200).all()


def test_the_short_side_says_whether_a_picture_is_tiny(tmp_path):
    assert read(save(tmp_path / "x.png", Image.new("RGB", (500, 32))), 32).size == (32, 32)
    for size in ((31, 31), (500, 31), (31, 500)):
        with pytest.raises(BadPicture, match="tiny picture"):
            read(save(tmp_path / "x.png", Image.new("RGB", size)), 32)


def test_refusals_have_reasons(tmp_path):
    whole = io.BytesIO()
    Image.fromarray(RAMP).save(whole, format="JPEG")
    (tmp_path / "cut.jpg").write_bytes(whole.getvalue()[:400])
    (tmp_path / "text.jpg").write_text("<html>404</html>")
    (tmp_path / "empty.jpg").write_bytes(b"")
    save(tmp_path / "dot.png", Image.new("RGB", (1, 1)))
    (tmp_path / "bomb.png").write_bytes(bomb())
    reasons = {
        "cut.jpg": "damaged picture",
        "text.jpg": "damaged picture",
        "empty.jpg": "damaged picture",
        "dot.png": "tiny picture",
        "bomb.png": "huge picture",
        "none.jpg": "missing picture",
        "none.tar#5+7": "missing picture",
    }
    for name, reason in reasons.items():
        with pytest.raises(BadPicture, match=f"^{reason}$"):
            read(str(tmp_path / name), 32)


def bomb() -> bytes:
    """A PNG that claims a hundred thousand pixels a side."""

    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", zlib.compress(b"\0")) + part(b"IEND", b"")
    )


@pytest.mark.parametrize("size", [(96, 64), (64, 97), (333, 500), (227, 224), (64, 64)])
def test_a_square_is_torchvisions_to_the_pixel(size):
    rng = np.random.default_rng(sum(size))
    picture = Image.fromarray(rng.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8))
    assert (np.asarray(square(picture, 64)) == np.asarray(resized(picture, 64))).all()


def test_a_square_of_the_side_is_left_alone():
    picture = Image.fromarray(RAMP).crop((0, 0, 64, 64))
    assert square(picture, 64) is picture
