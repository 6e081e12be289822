"""Scenes in good order: where the things lie follows from the caption, but for one choice of a few.

A caption says how many and beside what, and leaves the places open. Here things of a group lie in a
row in the middle, the groups one above the other; which rows they take is the choice. Of three
groups the two that lie beside each other have half a picture each:

    two red circles above a blue square     a red ring above three blue squares and a green cross
        . . O O . .                             . . . o . . .
        . . . . . .                             ■ ■ +
        . . . ■ . .                               ■

What lies below is the same from bottom to top, what lies beside each other is the same turned.
"""

from regard.data.scenes.drawing import CELLS, SPAN, Thing
from regard.data.scenes.making import Scene
from regard.data.scenes.statement import Relation, Statement

# The rows of a single group, or those of the upper and of the lower ones.
ONE = (3, 1, 5, 0)
TWO = ((1, 5), (0, 4), (2, 6), (1, 4))
THREE = ((0, 3), (1, 4), (0, 4), (1, 3))
WAYS = len(TWO)
MIDDLE, LAST = CELLS // 2, CELLS - SPAN
Corner = tuple[int, int]  # the cell of a thing's upper left corner


def laid_out(statement: Statement, way: int) -> Scene:
    """The scene of a statement in this way, from 0."""
    counts = [group.count for group in statement.groups]
    cells = [[_turned(cell, statement.relation) for cell in some] for some in _rows(counts, way)]
    things = [
        Thing(group.shape, group.colour, *cell)
        for group, some in zip(statement.groups, cells, strict=True)
        for cell in some
    ]
    return Scene(tuple(sorted(things, key=lambda one: (one.row, one.column))), statement)


def _rows(counts: list[int], way: int) -> list[list[Corner]]:
    """The cells of each group, the first one above the others."""
    if len(counts) == 1:
        return [_centred(counts[0], ONE[way])]
    if len(counts) == 2:
        return [_centred(count, row) for count, row in zip(counts, TWO[way], strict=True)]
    upper, lower = THREE[way]
    left = [(lower + SPAN * (n // 2), MIDDLE - SPAN - SPAN * (n % 2)) for n in range(counts[1])]
    right = [(lower + SPAN * (n // 2), MIDDLE + SPAN * (n % 2)) for n in range(counts[2])]
    return [_centred(counts[0], upper), left, right]


def _centred(count: int, row: int) -> list[Corner]:
    return [(row, MIDDLE - count + SPAN * n) for n in range(count)]


def _turned(cell: Corner, relation: Relation | None) -> Corner:
    row, column = cell
    if relation in ("below", "right of"):
        row = LAST - row
    return (column, row) if relation in ("left of", "right of") else (row, column)
