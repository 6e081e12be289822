"""Batches made ahead: in order, all of them, never far ahead, and errors arrive."""

import threading
import time
from collections.abc import Iterator

import pytest

from regard.data.prefetch import DEPTH, prefetched


@pytest.mark.parametrize("workers", [0, 1, 2, 5])
def test_the_order_is_that_of_the_places(workers: int) -> None:
    """The first ones take longest, so later ones are ready before."""

    def make(place: int) -> int:
        time.sleep(0.02 / (place + 1))
        return place * place

    assert list(prefetched(make, iter(range(20)), workers)) == [(i, i * i) for i in range(20)]


def test_two_are_really_made_at_once() -> None:
    together = threading.Barrier(2, timeout=10)

    def make(place: int) -> int:
        return together.wait()  # passes only if two wait for each other

    assert len(list(prefetched(make, iter(range(4)), 2))) == 4


@pytest.mark.parametrize("workers", [0, 2])
def test_it_takes_no_more_places_than_it_needs(workers: int) -> None:
    taken = 0

    def places() -> Iterator[int]:
        nonlocal taken
        while True:
            taken += 1
            yield taken

    made = prefetched(lambda place: place, places(), workers)
    for _ in range(3):
        next(made)
    made.close()  # type: ignore[attr-defined]
    assert taken == 3 + DEPTH * workers


def test_an_error_comes_at_its_place() -> None:
    def make(place: int) -> int:
        if place == 2:
            raise ValueError("broken pair")
        return place

    made = prefetched(make, iter(range(9)), 2)
    assert [next(made), next(made)] == [(0, 0), (1, 1)]
    with pytest.raises(ValueError, match="broken pair"):
        next(made)
