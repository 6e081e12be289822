"""How an image becomes the numbers a Vision Transformer reads: preprocessor_config.json.

resize to height × width (and cut out the middle)  →  × rescale_factor  →  (x - mean) / std
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import CheckpointError
from regard.model.spec import Spec
from regard.untrusted import member, read_json

MAX_BYTES = 1024 * 1024
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
    side = spec.image_size
    path = folder / "preprocessor_config.json"
    values: Mapping[str, Any] = {}
    if path.is_file():
        values = read_json(member(folder, path.name), MAX_BYTES)
    size = values.get("size") or {"height": side, "width": side}
    size = {"height": size, "width": size} if isinstance(size, int) else size
    if not isinstance(size, Mapping):
        raise CheckpointError(f"{path}: size: got {size!r}, expected a number or an object")
    half = [0.5] * spec.channels
    normalised = values.get("do_normalize", True)
    rescaled = values.get("do_rescale", True)
    crop = values.get("crop_size", size) if values.get("do_center_crop") else None
    crop = {"height": crop, "width": crop} if isinstance(crop, int) else crop
    return Preparation(
        height=_pixels(size, "height", side, path),
        width=_pixels(size, "width", side, path),
        resize=bool(values.get("do_resize", True)),
        shortest=_pixels(size, "shortest_edge", side, path) if "shortest_edge" in size else None,
        crop=None
        if crop is None
        else (_pixels(crop, "height", side, path), _pixels(crop, "width", side, path)),
        method=_method(values.get("resample", 2), path),
        factor=_number(values.get("rescale_factor", 1 / 255), path) if rescaled else 1.0,
        mean=_numbers(values.get("image_mean", half), spec, path) if normalised else (0.0,),
        std=_numbers(values.get("image_std", half), spec, path) if normalised else (1.0,),
    )


def _pixels(values: Mapping[str, Any], key: str, default: int, path: Path) -> int:
    value = values.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 16_384:
        raise CheckpointError(f"{path}: {key}: got {value!r}, expected 1 to 16384 pixels")
    return value


def _method(value: Any, path: Path) -> int:
    if isinstance(value, bool) or value not in METHODS:
        raise CheckpointError(f"{path}: resample: got {value!r}, expected 0 to 5")
    return int(value)


def _number(value: Any, path: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise CheckpointError(f"{path}: got {value!r}, expected a number")
    return float(value)


def _numbers(value: Any, spec: Spec, path: Path) -> tuple[float, ...]:
    numbers = value if isinstance(value, list) else [value] * spec.channels
    if len(numbers) != spec.channels:
        raise CheckpointError(
            f"{path}: image_mean and image_std: got {len(numbers)} numbers, "
            f"expected {spec.channels}"
        )
    return tuple(_number(number, path) for number in numbers)
