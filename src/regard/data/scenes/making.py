"""Chance → scenes, each part the same every time, and no combination of groups in two parts.

With n = SHA-256 of the groups of a scene (counts, colours, shapes, wherever they lie) mod 100:

    valid   n < 4        test   4 ≤ n < 12        train   the rest

So "two red circles and a blue square", if it is asked for in the test, was never drawn in training,
whichever lay above. `scenes("train", n)` are the first n of an endless row.
"""

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal, get_args

from regard.data.picture import Colours
from regard.data.scenes.drawing import CELLS, COLOURS, SHAPES, SPAN, Thing, draw
from regard.data.scenes.statement import (
    MOST,
    RELATIONS,
    Group,
    Statement,
    grouped,
    statement_of,
)

ScenePart = Literal["train", "valid", "test"]
PARTS: tuple[ScenePart, ...] = get_args(ScenePart)
SIZES: dict[ScenePart, int] = {"train": 40_000, "valid": 1_000, "test": 2_000}
VALID, TEST = 4, 12  # of a hundred combinations
HOW_MANY = (1, 2, 2, 2, 2, 2, 3, 3, 3, 3)  # groups of a scene
MOST_OF_THREE = 3  # things of each of three groups
TRIES = 40  # to find room for the things
KINDS = [(colour, shape) for colour in COLOURS for shape in SHAPES]
Region = tuple[range, range]  # rows and columns of cells


@dataclass(frozen=True)
class Scene:
    """Things, and what they show."""

    things: tuple[Thing, ...]
    statement: Statement

    @property
    def picture(self) -> Colours:
        """(48, 48, 3) whole numbers."""
        return draw(self.things)

    def meant(self) -> list[list[Thing]]:
        """For each group, as they are named, its things."""
        found = grouped(self.things)
        return [found[group] for group in self.statement.groups]


def part_of(statement: Statement) -> ScenePart:
    """Where scenes of these groups belong."""
    groups = sorted(f"{g.count} {g.colour} {g.shape}" for g in statement.combination)
    digest = hashlib.sha256(", ".join(groups).encode()).hexdigest()
    n = int(digest, 16) % 100
    return "valid" if n < VALID else "test" if n < TEST else "train"


def scenes(part: ScenePart, count: int | None = None) -> Iterator[Scene]:
    """The first `count` of a part; None: as many as it usually has."""
    return islice(_endless(part), SIZES[part] if count is None else count)


def _endless(part: ScenePart) -> Iterator[Scene]:
    chance = random.Random(f"scenes {part}")
    while True:
        wanted = _some_statement(chance)
        if part_of(wanted) == part and (things := placed(wanted, chance)):
            yield Scene(things, wanted)


def _some_statement(chance: random.Random) -> Statement:
    """Any, with groups of different kinds, in the order in which they are named."""
    how_many = chance.choice(HOW_MANY)
    kinds = chance.sample(KINDS, how_many)
    if how_many == 2:
        kinds.sort(key=KINDS.index)
    most = MOST if how_many < 3 else MOST_OF_THREE
    groups = tuple(Group(chance.randint(1, most), *kind) for kind in kinds)
    return Statement(groups, chance.choice(RELATIONS) if how_many > 1 else None)


def placed(wanted: Statement, chance: random.Random) -> tuple[Thing, ...] | None:
    """Things of which this can be said and nothing else; None where no room was found."""
    for _ in range(TRIES):
        things = list[Thing]()
        for group, region in zip(wanted.groups, _regions(wanted, chance), strict=True):
            things += _in_region(group, region, chance)
        if len(things) == sum(g.count for g in wanted.groups) and statement_of(things) == wanted:
            return tuple(sorted(things, key=lambda thing: (thing.row, thing.column)))
    return None


def _regions(wanted: Statement, chance: random.Random) -> list[Region]:
    """A part of the picture for each group."""
    whole = range(CELLS)
    if wanted.relation is None:
        return [(whole, whole)]
    first, rest = _cut(chance)
    if wanted.relation in ("below", "right of"):
        first, rest = rest, first
    others = [whole] if len(wanted.groups) == 2 else list(_cut(chance))
    regions = [(first, whole), *((rest, other) for other in others)]
    upright = wanted.relation in ("above", "below")
    return [region if upright else (region[1], region[0]) for region in regions]


def _cut(chance: random.Random) -> tuple[range, range]:
    place = chance.randint(SPAN, CELLS - SPAN)
    return range(place), range(place, CELLS)


def _in_region(group: Group, region: Region, chance: random.Random) -> Iterator[Thing]:
    """As many of its things as find room, without touching one another's cells."""
    rows, columns = (range(cells.start, cells.stop - SPAN + 1) for cells in region)
    free = [(row, column) for row in rows for column in columns]
    for _ in range(group.count):
        if not free:
            return
        row, column = chance.choice(free)
        yield Thing(group.shape, group.colour, row, column)
        free = [(r, c) for r, c in free if abs(r - row) >= SPAN or abs(c - column) >= SPAN]
