"""Things → pixels. A picture is 8 × 8 cells of 6 × 6 pixels, and a thing covers 2 × 2 of them.

So every cell of a picture is white, or one of the four quarters of a shape in a colour: with 6
shapes and 6 colours there are at most 145 different ones (`CELL` is a patch size that meets them).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from regard.data.picture import Colours

CELL = 6  # pixels of a side
CELLS = 8  # of a side of the picture
SIDE = CELL * CELLS
SPAN = 2  # cells of a side of a thing
INK = 5  # pixels from the middle of a shape to its edge
WHITE = 255

SHAPES = ("circle", "square", "triangle", "diamond", "cross", "ring")
PALETTE = {
    "red": (214, 40, 40),
    "yellow": (245, 190, 30),
    "green": (40, 150, 70),
    "blue": (40, 90, 215),
    "purple": (150, 60, 180),
    "black": (35, 35, 35),
}
COLOURS = tuple(PALETTE)
Box = tuple[int, int, int, int]  # left, top, right, bottom; the last two are outside


@dataclass(frozen=True, order=True)
class Thing:
    """One shape, and the cell of its upper left corner."""

    shape: str  # one of SHAPES; of grids the name of what is in a picture (grids.py)
    colour: str  # one of COLOURS; of grids ""
    row: int
    column: int

    @property
    def box(self) -> Box:
        """Where it lies, in pixels."""
        left, top = self.column * CELL, self.row * CELL
        return left, top, left + SPAN * CELL, top + SPAN * CELL


@cache
def ink(shape: str) -> NDArray[np.bool_]:
    """Which of 11 × 11 pixels a shape colours."""
    y, x = np.mgrid[-INK : INK + 1, -INK : INK + 1]
    far = x**2 + y**2
    inked: dict[str, NDArray[np.bool_]] = {
        "circle": far <= 28,
        "square": np.maximum(abs(x), abs(y)) < INK,
        "triangle": 2 * abs(x) <= y + INK,
        "diamond": abs(x) + abs(y) <= INK,
        "cross": np.minimum(abs(x), abs(y)) <= 1,
        "ring": (far <= 28) & (far > 8),
    }
    return inked[shape]


def draw(things: Iterable[Thing]) -> Colours:
    """The picture of these things on white, (48, 48, 3)."""
    picture = np.full((SIDE, SIDE, 3), WHITE, np.uint8)
    for thing in things:
        left, top, _, _ = thing.box
        inked = ink(thing.shape)
        height, width = inked.shape
        picture[top : top + height, left : left + width][inked] = PALETTE[thing.colour]
    return picture
