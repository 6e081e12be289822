"""Pixels → things, by looking alone: what was drawn, where, and what could not be read.

Each pixel has the nearest colour of the palette, or is white. Pixels of a colour that touch are a
patch of ink; a patch is the thing whose shape it covers best, if they are alike enough (the share
that both have of what either has), and something unread otherwise. What is too small to be a thing
is dust. Nothing is guessed: a reading with something unread has no statement.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from regard.data.picture import Colours
from regard.data.scenes.drawing import (
    CELL,
    CELLS,
    COLOURS,
    INK,
    PALETTE,
    SHAPES,
    SIDE,
    SPAN,
    WHITE,
    Box,
    Thing,
    ink,
)
from regard.data.scenes.statement import Statement, statement_of
from regard.errors import DataError

ALIKE = 0.8  # of the pixels that a patch of ink or a shape has, both must have so many
DUST = 8  # pixels; fewer are no thing
NEAR = 100.0  # distance in RGB to a colour, beyond which a pixel is none
Spot = tuple[int, int]  # row, column of a pixel


@dataclass(frozen=True)
class ReadThing:
    """One thing that was found, the pixels it lies in, and how alike it is to its shape."""

    thing: Thing
    box: Box
    alike: float


@dataclass(frozen=True)
class SceneReading:
    """What a picture shows; `unread` are patches of ink that are no shape, `dust` stray pixels."""

    found: tuple[ReadThing, ...]
    unread: tuple[Box, ...] = ()
    dust: int = 0

    @property
    def things(self) -> tuple[Thing, ...]:
        """From the top, each row from the left."""
        return tuple(read.thing for read in self.found)

    @property
    def statement(self) -> Statement | None:
        """What can be said of it; None if anything is unread, or nothing can be said."""
        return None if self.unread else statement_of(self.things)


def read_scene(picture: Colours) -> SceneReading:
    """What is in a picture of (48, 48, 3)."""
    if picture.shape != (SIDE, SIDE, 3):
        expected = f"one of {(SIDE, SIDE, 3)}"
        raise DataError("scene", got=f"an array of {picture.shape}", expected=expected)
    names = _names(picture)
    found, unread, dust = list[ReadThing](), list[Box](), 0
    for number, colour in enumerate(COLOURS, start=1):
        for spots in _patches(names == number):
            read = None if len(spots) < DUST else _named(spots, colour)
            if len(spots) < DUST:
                dust += len(spots)
            elif read is None:
                unread.append(_box(spots))
            else:
                found.append(read)
    found.sort(key=lambda read: (read.thing.row, read.thing.column, read.thing))
    return SceneReading(tuple(found), tuple(sorted(unread)), dust + int((names < 0).sum()))


def _names(picture: Colours) -> NDArray[np.int64]:
    """0 for white, then the number of a colour from 1; -1 where a pixel is like none."""
    colours = np.array([(WHITE,) * 3, *PALETTE.values()], np.float64)
    inked = (picture != WHITE).any(axis=2)
    far = np.linalg.norm(picture[inked][:, None].astype(np.float64) - colours, axis=2)
    names = np.zeros(inked.shape, np.int64)
    names[inked] = np.where(far.min(axis=1) <= NEAR, far.argmin(axis=1), -1)
    return names


def _patches(mask: NDArray[np.bool_]) -> Iterator[list[Spot]]:
    """Pixels that touch by their sides, together."""
    left = {(int(row), int(column)) for row, column in np.argwhere(mask)}
    while left:
        patch = list[Spot]()
        edge = [left.pop()]
        while edge:
            row, column = edge.pop()
            patch.append((row, column))
            for spot in (
                (row - 1, column),
                (row + 1, column),
                (row, column - 1),
                (row, column + 1),
            ):
                if spot in left:
                    left.remove(spot)
                    edge.append(spot)
        yield patch


def _box(spots: list[Spot]) -> Box:
    rows, columns = zip(*spots, strict=True)
    return min(columns), min(rows), max(columns) + 1, max(rows) + 1


def _named(spots: list[Spot], colour: str) -> ReadThing | None:
    """The thing that these pixels are most alike; None if they are like none."""
    box = left, top, right, bottom = _box(spots)
    if max(right - left, bottom - top) > 2 * INK + 1:
        return None
    alike, shape, row, column = _most_alike(frozenset((r - top, c - left) for r, c in spots))
    if alike < ALIKE:
        return None
    cells = (min(max(round(p / CELL), 0), CELLS - SPAN) for p in (top - row, left - column))
    return ReadThing(Thing(shape, colour, *cells), box, alike)


@lru_cache(maxsize=4096)
def _most_alike(patch: frozenset[Spot]) -> tuple[float, str, int, int]:
    """How alike ink is to a shape, which one, and where in the shape's own pixels it begins."""
    best: tuple[float, str, int, int] = (0.0, SHAPES[0], 0, 0)
    for shape in SHAPES:
        shaped = {(int(row), int(column)) for row, column in np.argwhere(ink(shape))}
        first_row, first_column = (min(places) for places in zip(*shaped, strict=True))
        # A shape begins where its ink begins, or a pixel beside it where its edge is worn.
        for row in range(first_row - 1, first_row + 2):
            for column in range(first_column - 1, first_column + 2):
                moved = {(r - row, c - column) for r, c in shaped}
                alike = len(patch & moved) / len(patch | moved)
                if alike > best[0]:
                    best = (alike, shape, row, column)
    return best
