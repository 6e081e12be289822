"""How an image becomes the numbers a Vision Transformer reads: preprocessor_config.json.

resize to height × width (and cut out the middle)  →  × rescale_factor  →  (x - mean) / std
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.checkpoint.families.config import Config
from regard.checkpoint.files import read_config_file
from regard.errors import CheckpointError
from regard.model.spec import Spec

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


def read_preparation(folder: Path, spec: Spec) -> Preparation:
    """The preparation that the folder states; without the file, the usual one of the family."""
    side, half = spec.image_size, [0.5] * spec.channels
    path = folder / "preprocessor_config.json"
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
