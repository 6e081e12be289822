"""Let freed memory be used again instead of giving it back to the system after every operation.

By default the C library asks the system for each large block and returns it when it is freed. A
training step makes and frees thousands of them; each new page of each block is first filled with
zeros by the kernel, which can cost more than the arithmetic that was asked for
(docs/decisions/0006-training-speed.md).
"""

import ctypes
from typing import Any

# Names of <malloc.h>.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8


def keep_freed_memory() -> bool:
    """For the rest of this process, blocks below 1 GB come from memory that it already has.

    False where the C library has no such switch (it is glibc's); nothing is changed then.
    """
    if (mallopt := _switch("mallopt")) is None:
        return False
    # One arena: a second one would keep its own stock of free blocks for each worker.
    wanted = {_MMAP_THRESHOLD: 1 << 30, _TRIM_THRESHOLD: 2**31 - 1, _ARENA_MAX: 1}
    return all([mallopt(name, value) == 1 for name, value in wanted.items()])


def give_freed_memory_back() -> None:
    """Let the system have what is free at the moment."""
    if (malloc_trim := _switch("malloc_trim")) is not None:
        malloc_trim(0)


def _switch(name: str) -> Any:
    """A function of the C library; None where it has none of that name."""
    try:
        return ctypes.CDLL(None)[name]
    except (AttributeError, OSError, TypeError):
        return None
