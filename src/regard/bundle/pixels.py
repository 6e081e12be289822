"""How an image becomes the numbers a Vision Transformer reads: preprocessor_config.json.

resize to height × width (and cut out the middle)  →  × rescale_factor  →  (x - mean) / std
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.atomic import write_json
from regard.checkpoint.families.config import Config
from regard.checkpoint.files import read_config_file
from regard.data.picture import Colours, check_size
from regard.errors import CheckpointError
from regard.model.spec import Spec

if TYPE_CHECKING:
    from PIL.Image import Image

NAME = "preprocessor_config.json"
PIXELS = range(1, 16_385)  # of a side
METHODS = range(6)  # Pillow's numbers of its ways to resize; 2 is bilinear


@dataclass(frozen=True)
class Preparation:
    """How pixels are prepared; the defaults are those of the Vision Transformer."""

    height: int
    width: int
    resize: bool = True
    shortest: int | None = None  # resize the shorter side to this instead of both
    crop: tuple[int, int] | None = None  # then cut the middle out: height, width
    method: int = 2
    factor: float = 1 / 255
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)

    def fitted(self, colours: Colours, where: str = "picture") -> Colours:
        """(height, width, channels) as large as the model looks at; still whole numbers."""
        if self.resize:
            colours = self._resized(colours, where)
        if self.crop is None or self.crop == colours.shape[:2]:
            return colours
        height, width = self.crop
        left, top = (colours.shape[1] - width) // 2, (colours.shape[0] - height) // 2
        box = (left, top, left + width, top + height)
        cut: Colours = np.asarray(as_image(colours).crop(box), np.uint8)
        return cut.reshape(height, width, -1)

    def _resized(self, colours: Colours, where: str) -> Colours:
        width, height = self.width, self.height
        if self.shortest is not None:
            ratio = self.shortest / min(colours.shape[:2])
            width, height = (max(1, int(side * ratio)) for side in colours.shape[1::-1])
            check_size(width, height, f"{where}, its shorter side made {self.shortest} pixels")
        if (height, width) == colours.shape[:2]:
            return colours
        image = as_image(colours).resize((width, height), self.method)
        return np.asarray(image, np.uint8).reshape(height, width, -1)

    def numbers(self, colours: Colours) -> NDArray[np.float32]:
        """(B, height, width, channels) → (B, channels, height, width), as the model reads them."""
        mean, std = np.array(self.mean, np.float32), np.array(self.std, np.float32)
        prepared = (colours.astype(np.float32) * np.float32(self.factor) - mean) / std
        return np.ascontiguousarray(prepared.transpose(0, 3, 1, 2))

    def write(self, folder: Path) -> None:
        """As transformers' ViTImageProcessor has it."""
        values = {
            "image_processor_type": "ViTImageProcessor",
            "do_resize": self.resize,
            "size": {"height": self.height, "width": self.width},
            "resample": self.method,
            "do_rescale": True,
            "rescale_factor": self.factor,
            "do_normalize": True,
            "image_mean": list(self.mean),
            "image_std": list(self.std),
        }
        write_json(folder / NAME, values)


def as_image(colours: Colours) -> "Image":
    """As Pillow has it."""
    from PIL import Image  # an extra

    return Image.fromarray(colours[:, :, 0] if colours.shape[2] == 1 else colours)


def read_preparation(folder: Path, spec: Spec) -> Preparation:
    """The preparation that the folder states; without the file, the usual one of the family."""
    side, half = spec.image_size, [0.5] * spec.channels
    path = folder / NAME
    values = read_config_file(folder, path.name) if path.is_file() else {}
    config = Config(values, str(path))
    stated = values.get("size") or side
    size, crop = _sides(stated, f"{path}: size"), None
    if values.get("do_center_crop"):
        middle = _sides(values.get("crop_size") or stated, f"{path}: crop_size")
        crop = (middle.number("height", side, PIXELS), middle.number("width", side, PIXELS))
    normalised = values.get("do_normalize", True)
    rescaled = values.get("do_rescale", True)
    return Preparation(
        height=size.number("height", side, PIXELS),
        width=size.number("width", side, PIXELS),
        resize=bool(values.get("do_resize", True)),
        shortest=size.number("shortest_edge", side, PIXELS) if size.has("shortest_edge") else None,
        crop=crop,
        method=config.number("resample", 2, METHODS),
        factor=config.real("rescale_factor", 1 / 255) if rescaled else 1.0,
        mean=_numbers(values.get("image_mean", half), spec, path) if normalised else (0.0,),
        std=_numbers(values.get("image_std", half), spec, path) if normalised else (1.0,),
    )


def _sides(value: Any, where: str) -> Config:
    """Height and width, or one number for both."""
    sides = {"height": value, "width": value} if isinstance(value, int) else value
    if not isinstance(sides, Mapping):
        raise CheckpointError(where, got=value, expected="a number or an object")
    return Config(sides, where)


def _numbers(value: Any, spec: Spec, path: Path) -> tuple[float, ...]:
    numbers = value if isinstance(value, list) else [value] * spec.channels
    if len(numbers) != spec.channels or not all(type(n) in (int, float) for n in numbers):
        expected = f"{spec.channels} numbers each"
        raise CheckpointError(f"{path}: image_mean and image_std", got=value, expected=expected)
    return tuple(map(float, numbers))
