"""Scenes in good order: whatever the counts and the relation, the reader reads what was meant."""

from itertools import product

import pytest

from regard.data.scenes.drawing import Thing
from regard.data.scenes.layouts import WAYS, laid_out
from regard.data.scenes.making import KINDS
from regard.data.scenes.reading import read_scene
from regard.data.scenes.statement import RELATIONS, Group, Relation, Statement

PAIRS = [(counts, relation) for counts in product(range(1, 5), repeat=2) for relation in RELATIONS]
TRIPLES = [
    (counts, relation) for counts in product(range(1, 4), repeat=3) for relation in RELATIONS
]
SINGLE = [((count,), None) for count in range(1, 5)]


@pytest.mark.parametrize("way", range(WAYS))
def test_every_pattern_shows_what_it_should(way: int) -> None:
    for counts, relation in (*SINGLE, *PAIRS, *TRIPLES):
        groups = tuple(Group(n, *kind) for n, kind in zip(counts, KINDS[5:], strict=False))
        statement = Statement(groups, relation)
        reading = read_scene(laid_out(statement, way).picture)
        assert reading.statement == statement, (counts, relation)


@pytest.mark.parametrize(
    ("relation", "circles", "square"),
    [
        ("above", [(1, 2), (1, 4)], (5, 3)),
        ("below", [(5, 2), (5, 4)], (1, 3)),
        ("left of", [(2, 1), (4, 1)], (3, 5)),
        ("right of", [(2, 5), (4, 5)], (3, 1)),
    ],
)
def test_the_example(
    relation: Relation, circles: list[tuple[int, int]], square: tuple[int, int]
) -> None:
    """By hand: a picture has 8 × 8 cells, a thing takes 2 × 2."""
    said = Statement((Group(2, "red", "circle"), Group(1, "blue", "square")), relation)
    wanted = {Thing("circle", "red", *cell) for cell in circles} | {
        Thing("square", "blue", *square)
    }
    assert set(laid_out(said, 0).things) == wanted


def test_the_ways_differ() -> None:
    for counts, relation in (*SINGLE, *PAIRS, *TRIPLES):
        groups = tuple(Group(n, *kind) for n, kind in zip(counts, KINDS, strict=False))
        scenes = {laid_out(Statement(groups, relation), way).things for way in range(WAYS)}
        assert len(scenes) == WAYS
