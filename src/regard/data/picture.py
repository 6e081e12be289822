"""One picture, read carefully. In: a file, its bytes, an image of Pillow, numbers. Out: colours.

    colours    (height, width, channels) whole numbers from 0 to 255; 1 channel is grey, 3 are RGB

What a file says is small until it is decoded, so its size is asked before. Only formats of pixels
are opened: a drawing (EPS) would be run as a program. Of an animation the first picture is taken,
what is transparent lies on white, 16 bits of grey become 8, and a photograph that a camera wrote
lying on its side is turned.
"""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError, MisuseError
from regard.untrusted import opened

if TYPE_CHECKING:
    from PIL.Image import Image

Colours = NDArray[np.uint8]
MAX_PIXELS = 80_000_000  # of a file that is opened: above a camera's, below a bomb's
CHANNELS = {1: "L", 3: "RGB"}
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
WHITE = 255
SIXTEEN_BITS = 65_535


def read_picture(source: Path | bytes, channels: int) -> Colours:
    """The colours of a file, or of the bytes of one; a DataError says why there are none."""
    pillow = _pillow()
    if channels not in CHANNELS:
        raise MisuseError("see", f"this model reads {channels} channels, files have 1 or 3")
    where = str(source) if isinstance(source, Path) else "picture"
    try:
        with (
            io.BytesIO(source) if isinstance(source, bytes) else opened(source) as stream,
            pillow.open(stream, formats=FORMATS) as image,
        ):
            check_size(image.width, image.height, where)
            return colours_of_image(image, channels, where)
    except (DataError, MisuseError, MemoryError):
        raise
    except FileNotFoundError:
        raise DataError(where, "no such file") from None
    except Exception as error:  # decoders of damaged files raise anything
        reason = str(error)[:200] or type(error).__name__
        raise DataError(where, f"not an image that Pillow can read: {reason}") from None


def check_size(width: int, height: int, where: str) -> None:
    """Refuse a size that would exhaust the memory, before anything of it is decoded."""
    if not 0 < width * height <= MAX_PIXELS:
        problem = f"{width} × {height} pixels"
        expected = f"at least one, and at most {MAX_PIXELS:,} in all"
        raise DataError(where, problem, expected=expected, advice="make it smaller")


def colours_of_image(image: "Image", channels: int, where: str = "picture") -> Colours:
    """Those of an image of Pillow, whatever its mode."""
    from PIL import ImageOps

    upright = ImageOps.exif_transpose(image)
    if upright.mode == "F":
        raise DataError(where, "pixels of floating point", expected="whole numbers: 8 or 16 bits")
    if upright.mode.startswith("I"):
        upright = _eight_bits(upright, where)
    if upright.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in upright.info:
        over = upright.convert("RGBA")
        upright = _pillow().new("RGBA", over.size, "white")
        upright.alpha_composite(over)
    colours: Colours = np.asarray(upright.convert(CHANNELS[channels]), np.uint8)
    return colours.reshape(upright.height, upright.width, channels)


def _eight_bits(image: "Image", where: str) -> "Image":
    """Grey of 16 bits, which Pillow would cut off at 255."""
    grey = np.asarray(image).astype(np.int64)
    most = int(grey.max())
    if int(grey.min()) < 0 or most > SIXTEEN_BITS:
        raise DataError(where, f"pixels up to {most}", expected=f"0 to {SIXTEEN_BITS}")
    is_wide = image.mode != "I" or most > WHITE
    narrow: Image = _pillow().fromarray((grey // 257 if is_wide else grey).astype(np.uint8))
    return narrow


def colours_of_numbers(
    numbers: NDArray[Any], channels: int, where: str = "picture", white: float = WHITE
) -> Colours:
    """(height, width) or (height, width, 1 or 3) numbers from 0 to `white`, in so many channels."""
    shape = numbers.shape
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] not in CHANNELS):
        expected = "(height, width), or (height, width, channels) with 1 or 3 channels"
        raise DataError(where, f"an array of shape {shape}", expected=expected)
    if channels not in CHANNELS:
        raise MisuseError("see", f"this model reads {channels} channels, pictures have 1 or 3")
    check_size(shape[1], shape[0], where)
    if numbers.dtype.kind not in "buif":
        raise DataError(where, f"an array of {numbers.dtype}", expected="numbers")
    least, most = float(numbers.min()), float(numbers.max())
    if not 0 <= least <= most <= white:
        problem = f"pixels from {least:g} to {most:g}"
        advice = "in a recipe see.white says how white is written"
        raise DataError(where, problem, expected=f"0 to {white:g}", advice=advice)
    if numbers.dtype.kind == "f" and white == WHITE and 0 < most <= 1:
        advice = "multiply by 255 (in a recipe: see.white = 1)"
        raise DataError(where, f"fractions up to {most:g}", expected="0 to 255", advice=advice)
    whole = numbers if white == WHITE and numbers.dtype == np.uint8 else _scaled(numbers, white)
    return in_channels(whole.reshape(*shape[:2], -1), channels)


def _scaled(numbers: NDArray[Any], white: float) -> Colours:
    scaled: Colours = np.rint(numbers.astype(np.float64) * (WHITE / white)).astype(np.uint8)
    return scaled


def in_channels(colours: Colours, channels: int) -> Colours:
    """Grey as three equal colours, or colours as grey."""
    if colours.shape[2] == channels:
        return colours
    if channels == 3:
        return np.repeat(colours, 3, axis=2)
    grey: Colours = np.asarray(_pillow().fromarray(colours).convert("L"), np.uint8)
    return grey[:, :, None]


def _pillow() -> Any:
    """Pillow's module Image, an optional extra."""
    try:
        from PIL import Image
    except ImportError:
        raise MisuseError("see", "images need Pillow", advice="install `regard[images]`") from None
    return Image
