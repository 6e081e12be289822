"""Batches made ahead of time by threads, so that a step does not wait for its batch.

The order is the one of the places, whoever is ready first, and a place travels with its batch: what
was made but not yet used is no part of where a run stands.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Where = TypeVar("Where")
Made = TypeVar("Made")

DEPTH = 2  # batches that wait for each thread


def prefetched(
    make: Callable[[Where], Made], places: Iterator[Where], workers: int
) -> Iterator[tuple[Where, Made]]:
    """Each place and what `make` makes of it; `workers` threads make the next ones (0: none)."""
    if workers == 0:
        for place in places:
            yield place, make(place)
        return
    waiting: deque[tuple[Where, Future[Made]]] = deque()
    with ThreadPoolExecutor(workers, "load") as pool:
        for place in places:
            waiting.append((place, pool.submit(make, place)))
            if len(waiting) > DEPTH * workers:
                first, future = waiting.popleft()
                yield first, future.result()
        for first, future in waiting:
            yield first, future.result()
