"""Pictures with labels → grids of 2 × 2 of them, with captions: "two bags above a shirt".

What is where follows a scene's rules (statement.py): a grid shows one to three kinds of things, and
one thing can be said of it. Which pictures it is made of, chance says.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regard.data.picture import WHITE, Colours
from regard.data.scenes.drawing import CELL, SPAN, Box, Thing
from regard.data.scenes.statement import Statement, grouped, statement_of

SIDES = 2  # cells of a side
EMPTY = 0.25  # how often a cell is
PLACES = [(row, column) for row in range(SIDES) for column in range(SIDES)]


@dataclass(frozen=True, eq=False)
class PictureGrid:
    """A picture of several, and what is said of it."""

    picture: Colours
    statement: Statement
    boxes: tuple[tuple[Box, ...], ...]  # of each group, as they are named


def grids(
    pictures: Mapping[str, Sequence[Colours]], count: int, seed: str, ground: int = WHITE
) -> Iterator[PictureGrid]:
    """So many; `pictures` are those of each name, all of one size; `ground` is an empty cell's."""
    chance = random.Random(seed)
    names = sorted(pictures)
    shape = pictures[names[0]][0].shape
    side = shape[0]
    for _ in range(count):
        statement, things = _some(names, chance)
        whole = np.full((SIDES * side, SIDES * side, shape[2]), ground, np.uint8)
        for thing in things:
            left, top, right, bottom = _box(thing, side)
            whole[top:bottom, left:right] = chance.choice(pictures[thing.shape])
        meant = grouped(things)
        boxes = (tuple(_box(t, side) for t in meant[group]) for group in statement.groups)
        yield PictureGrid(whole, statement, tuple(boxes))


def _some(names: Sequence[str], chance: random.Random) -> tuple[Statement, list[Thing]]:
    """Kinds of things in some of the cells, of which one thing can be said."""
    while True:
        kinds = chance.sample(names, chance.randint(1, 3))
        things = [
            Thing(chance.choice(kinds), "", row * SPAN, column * SPAN)
            for row, column in PLACES
            if chance.random() >= EMPTY
        ]
        if things and (statement := statement_of(things)):
            return statement, things


def _box(thing: Thing, side: int) -> Box:
    """Where a thing's picture lies, in pixels; things know cells of scenes."""
    span = SPAN * CELL
    left, top, _, _ = thing.box
    left, top = left // span * side, top // span * side
    return left, top, left + side, top + side
