"""Small pictures to learn from: bars and squares, as files, arrays and tables."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

LABELS = ("across", "down", "square")
SIDE = 12


def draw(label: str, chance: np.random.Generator, side: int = SIDE) -> NDArray[np.uint8]:
    """Grey: a bright bar across or down, or a square, anywhere, on a dark ground with noise."""
    picture = chance.integers(0, 40, (side, side)).astype(np.uint8)
    top, left = chance.integers(1, side - 4, 2)
    if label == "across":
        picture[top : top + 2, 1:-1] = 230
    elif label == "down":
        picture[1:-1, left : left + 2] = 230
    else:
        picture[top : top + 4, left : left + 4] = 230
    return picture


def pictures(count: int, seed: int = 1) -> tuple[NDArray[np.uint8], list[str]]:
    """So many, with their labels."""
    chance = np.random.default_rng(seed)
    labels = [LABELS[i % 3] for i in range(count)]
    return np.stack([draw(label, chance) for label in labels]), labels


def write_folder(folder: Path, count: int, seed: int = 1, colour: bool = False) -> Path:
    """A folder for each label."""
    for number, (picture, label) in enumerate(zip(*pictures(count, seed), strict=True)):
        (folder / label).mkdir(parents=True, exist_ok=True)
        pixels = np.stack([picture] * 3, axis=2) if colour else picture
        Image.fromarray(pixels).save(folder / label / f"{number:03}.png")
    return folder


def idx(numbers: NDArray[np.uint8] | Sequence[int]) -> bytes:
    """A file in IDX."""
    array = np.asarray(numbers, np.uint8)
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()
