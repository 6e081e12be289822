"""Things → what is said of them: groups of equal things, and one relation between the groups.

    a group       things of one shape and colour: "three red circles"
    two groups    one lies above, below, left or right of the other, and only one of these is so
    three         one lies so of both others, which lie beside each other the other way:
                  "a red ring above two blue squares and a green cross"

A picture that is no such scene, or could be read in two ways, has no statement. Of two groups the
one whose colour comes first in `COLOURS` is named first; of the two others in three, the left one
or the upper one. So a picture has one statement, and one caption in each language.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal, get_args

from regard.data.scenes.drawing import COLOURS, SHAPES, SPAN, Thing

Relation = Literal["above", "below", "left of", "right of"]
RELATIONS: tuple[Relation, ...] = get_args(Relation)
MOST = 4  # things of a group
_PLACE = {name: place for names in (COLOURS, SHAPES) for place, name in enumerate(names)}
CellExtent = tuple[tuple[int, int], tuple[int, int]]  # of cells: first and end, down and across


@dataclass(frozen=True)
class Group:
    """So many equal things."""

    count: int
    colour: str
    shape: str


@dataclass(frozen=True)
class Statement:
    """What a caption says: a group, or a group with a relation to one or two others."""

    groups: tuple[Group, ...]  # as they are named
    relation: Relation | None = None

    @property
    def combination(self) -> frozenset[Group]:
        """The groups, wherever they lie."""
        return frozenset(self.groups)


def grouped(things: Iterable[Thing]) -> dict[Group, list[Thing]]:
    """Equal things together, in the order of colours and shapes."""
    kinds: dict[tuple[str, str], list[Thing]] = {}
    for thing in things:
        kinds.setdefault((thing.colour, thing.shape), []).append(thing)
    ordered = sorted(kinds, key=lambda kind: (_PLACE.get(kind[0], 0), _PLACE.get(kind[1], 0), kind))
    return {Group(len(kinds[kind]), *kind): kinds[kind] for kind in ordered}


def statement_of(things: Sequence[Thing]) -> Statement | None:
    """What these things show; None where nothing can be said, or not one thing only."""
    groups = grouped(things)
    names = tuple(groups)
    if not 1 <= len(names) <= 3 or any(group.count > MOST for group in names):
        return None
    if len(names) == 1:
        return Statement(names)
    extents = {name: _extent(those) for name, those in groups.items()}
    orders = [names] if len(names) == 2 else list(permutations(names))
    found = [
        Statement(order, relation)
        for order in orders
        for relation in RELATIONS
        if _is_so([extents[name] for name in order], relation)
    ]
    return found[0] if len(found) == 1 else None


def _extent(things: Sequence[Thing]) -> CellExtent:
    """The cells from the first to the last, downwards and across."""
    rows = [thing.row for thing in things]
    columns = [thing.column for thing in things]
    return (min(rows), max(rows) + SPAN), (min(columns), max(columns) + SPAN)


def _is_so(groups: Sequence[CellExtent], relation: Relation) -> bool:
    """Whether the first group lies so of the others, and not apart from them the other way too;
    of two others the left or upper is first."""
    along, across = (0, 1) if relation in ("above", "below") else (1, 0)
    first, *others = groups
    start = min(other[along][0] for other in others)
    end = max(other[along][1] for other in others)
    is_first = relation in ("above", "left of")
    if not (first[along][1] <= start if is_first else end <= first[along][0]):
        return False
    if first[across][1] <= min(other[across][0] for other in others):
        return False
    if max(other[across][1] for other in others) <= first[across][0]:
        return False
    return len(others) < 2 or others[0][across][1] <= others[1][across][0]
