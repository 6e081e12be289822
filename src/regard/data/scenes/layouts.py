"""Where the things of a scene lie, out of a few ways: a caption says how many, not where.

A layout has the places of each group's things. It follows from the counts and the relation and its
number, whatever shapes and colours the groups have: "three red circles above a blue square" lies as
"three green rings above a black cross" does. So which of the layouts it is cannot be known from a
caption, and nothing else is left open.
"""

import random
from functools import cache

from regard.data.scenes.drawing import Thing
from regard.data.scenes.making import KINDS, Scene, placed
from regard.data.scenes.statement import Group, Relation, Statement, grouped

Cells = tuple[tuple[tuple[int, int], ...], ...]  # of each group the cells of its things


@cache
def layout(counts: tuple[int, ...], relation: Relation | None, number: int) -> Cells:
    """One of the ways in which groups of so many things can lie so."""
    groups = tuple(Group(n, *kind) for n, kind in zip(counts, KINDS, strict=False))
    chance = random.Random(f"layout {counts} {relation} {number}")
    things = None
    while things is None:
        things = placed(Statement(groups, relation), chance)
    found = grouped(things)
    return tuple(tuple((thing.row, thing.column) for thing in found[group]) for group in groups)


def laid_out(statement: Statement, number: int) -> Scene:
    """The scene of a statement in the layout of this number."""
    counts = tuple(group.count for group in statement.groups)
    cells = layout(counts, statement.relation, number)
    things = [
        Thing(group.shape, group.colour, row, column)
        for group, places in zip(statement.groups, cells, strict=True)
        for row, column in places
    ]
    return Scene(tuple(sorted(things, key=lambda one: (one.row, one.column))), statement)
