"""One picture: what files hold is read, and what is no picture is refused by name."""

import io
import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from refusals import refused
from regard.data.picture import (
    MAX_PIXELS,
    colours_of_numbers,
    in_channels,
    read_picture,
)
from regard.errors import DataError, MisuseError


def png(image: Image.Image, **more: object) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG", **more)
    return file.getvalue()


def claims(width: int, height: int) -> bytes:
    """A PNG of a few bytes whose header says that it is so large."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)

    def chunk(name: bytes, data: bytes) -> bytes:
        whole = name + data
        return struct.pack(">I", len(data)) + whole + struct.pack(">I", zlib.crc32(whole))

    data = zlib.compress(b"\0" * 1000)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    )


def test_colours_and_grey(tmp_path: Path) -> None:
    rows = np.arange(24, dtype=np.uint8).reshape(2, 4, 3) * 10
    Image.fromarray(rows).save(tmp_path / "a.png")
    assert np.array_equal(read_picture(tmp_path / "a.png", 3), rows)
    grey = read_picture(tmp_path / "a.png", 1)
    assert grey.shape == (2, 4, 1)  # 0.299 R + 0.587 G + 0.114 B
    assert np.abs(grey[:, :, 0] - rows @ np.array([0.299, 0.587, 0.114])).max() <= 1
    assert np.array_equal(read_picture((tmp_path / "a.png").read_bytes(), 3), rows)
    assert np.array_equal(in_channels(grey, 3)[:, :, 2], grey[:, :, 0])
    with refused(MisuseError, got=None):
        read_picture(tmp_path / "a.png", 2)


def test_what_is_transparent_lies_on_white() -> None:
    over = Image.new("RGBA", (2, 1), (10, 20, 30, 255))
    over.putpixel((1, 0), (0, 0, 0, 0))
    assert read_picture(png(over), 3).tolist() == [[[10, 20, 30], [255, 255, 255]]]
    palette = Image.new("P", (1, 1), 0)
    palette.putpalette([1, 2, 3])
    assert read_picture(png(palette, transparency=0), 3).tolist() == [[[255, 255, 255]]]
    assert read_picture(png(palette), 3).tolist() == [[[1, 2, 3]]]


def test_cmyk_sixteen_bits_and_one_pixel() -> None:
    ink = io.BytesIO()
    Image.new("CMYK", (4, 4), (0, 255, 255, 0)).save(ink, "TIFF")
    assert read_picture(ink.getvalue(), 3)[0, 0].tolist() == [255, 0, 0]
    wide = Image.fromarray(np.array([[0, 257, 65535, 32896]], np.uint16))
    assert read_picture(png(wide), 1)[0, :, 0].tolist() == [0, 1, 255, 128]
    assert read_picture(png(Image.new("L", (1, 1), 7)), 1).tolist() == [[[7]]]
    floats = io.BytesIO()
    Image.new("F", (2, 2), 0.5).save(floats, "TIFF")
    with refused(DataError, expected="whole numbers"):
        read_picture(floats.getvalue(), 1)


def test_of_an_animation_the_first_picture() -> None:
    file = io.BytesIO()
    frames = [Image.new("L", (2, 2), value) for value in (10, 200)]
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])
    assert read_picture(file.getvalue(), 1)[0, 0, 0] == 10


def test_a_photograph_is_turned_upright() -> None:
    file, exif = io.BytesIO(), Image.Exif()
    exif[0x0112] = 6  # to be turned right by 90 degrees
    Image.fromarray(np.array([[0, 255, 255, 255]], np.uint8)).save(file, "PNG", exif=exif)
    assert read_picture(file.getvalue(), 1)[:, 0, 0].tolist() == [0, 255, 255, 255]


def test_a_bomb_is_not_opened() -> None:
    with refused(DataError, expected=f"{MAX_PIXELS:,}"):
        read_picture(claims(9000, 9000), 3)
    with pytest.raises(DataError):  # Pillow's own limit comes first
        read_picture(claims(60_000, 60_000), 3)


@pytest.mark.parametrize(
    "content",
    [b"", b"no picture", b"\x89PNG\r\n\x1a\n", png(Image.effect_noise((40, 40), 90))[:600],
     claims(30, 30), b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"],
    ids=["empty", "text", "signature", "truncated", "too little", "a program"],
)  # fmt: skip
def test_damage_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.png: not an image that Pillow can read"):
        read_picture(tmp_path / "a.png", 3)


def test_places_without_a_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_picture(tmp_path / "none.png", 3)
    with pytest.raises(DataError, match="a folder"):
        read_picture(tmp_path, 3)
    if vars(os).get("mkfifo"):
        os.mkfifo(tmp_path / "pipe.png")
        with pytest.raises(DataError, match="pipe"):
            read_picture(tmp_path / "pipe.png", 3)


def test_arrays_of_numbers() -> None:
    whole = np.array([[0, 255]], np.int64)
    assert colours_of_numbers(whole, 1).tolist() == [[[0], [255]]]
    assert colours_of_numbers(np.array([[0, 8, 16]]), 1, white=16).ravel().tolist() == [0, 128, 255]
    assert colours_of_numbers(np.array([[0.0, 1.0]]), 1, white=1).ravel().tolist() == [0, 255]
    assert colours_of_numbers(whole, 3).shape == (1, 2, 3)
    wrong = [
        (np.zeros((2, 2, 2)), "an array of shape"),
        (np.zeros(4), "an array of shape"),
        (np.zeros((0, 4)), "4 × 0 pixels"),
        (np.array([[-1]]), "pixels from -1"),
        (np.array([[256]]), "to 256"),
        (np.array([[np.nan]]), "pixels from nan"),
        (np.array([[0.0, 0.7]]), "fractions up to 0.7"),
        (np.array([["a"]]), "an array of <U1"),
    ]
    for array, problem in wrong:
        with pytest.raises(DataError, match=problem):
            colours_of_numbers(array, 1)
