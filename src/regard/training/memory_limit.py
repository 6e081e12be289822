"""A limit on this process's own memory, so that running out is an error, not the end of it.

Without a limit Linux promises memory that it does not have, and ends a process, often this one,
when the promise is called in. RLIMIT_DATA counts what a process writes to and shares with nobody:
close to what it uses, unlike the address space, most of which are libraries and mapped files. Above
the limit an allocation fails, and torch and Python say so. A process that is started under a limit
has the same one: workers (training/worker_process.py) are told nothing.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from regard.processor.machine import sizes_in

Result = TypeVar("Result")

MEGABYTE = 1_000_000
SPARE = 80 * MEGABYTE  # for what is imported and kept besides steps
PROGRAM = 300 * MEGABYTE  # Python and torch (measured)
LEAST = 128  # tokens: a smaller batch would not help either
KEPT_FREE = 0.05  # share of the free memory that is left to others
_WORDS = (  # of errors that are plain RuntimeErrors
    "can't allocate memory",
    "Cannot allocate memory",  # the system's own words
    "not enough memory",
    "out of memory",
    "bad_alloc",
    "could not create a memory",
    "can't start new thread",  # its stack found no room
)
_STATUS, _FREE = Path("/proc/self/status"), Path("/proc/meminfo")
_GROUPS = (  # limit and use of a container: version 2, version 1
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory did not suffice."""
    text = str(error)
    return isinstance(error, MemoryError) or any(words in text for words in _WORDS)


def free_memory() -> int | None:
    """Bytes that can still be had on this machine or in this container; None: not known here."""
    kept = sizes_in(_FREE)
    free = [kept["MemAvailable"]] if "MemAvailable" in kept else []
    for limit, used in _GROUPS:
        try:
            free.append(int(limit.read_text()) - int(used.read_text()))
        except (OSError, ValueError):  # no container, or one without a limit ("max")
            continue
    return max(0, min(free)) if free else None


def used_memory() -> int | None:
    """Bytes that this process holds now; None: not known here."""
    return sizes_in(_STATUS).get("VmRSS")


def peak_memory() -> int | None:
    """The most bytes that it has held."""
    return sizes_in(_STATUS).get("VmHWM")


def peak_of_children() -> int:
    """The most bytes that one of the processes held that it has started and that have ended."""
    if os.name != "posix":
        return 0
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit


def room(megabytes: int | None, processes: int = 1) -> int | None:
    """How many bytes more may be taken: up to `megabytes` in all, else what is free.

    Processes that are still to be started take their programs from it.
    """
    free, used = free_memory(), used_memory()
    more = PROGRAM * (processes - 1)
    if megabytes is None:
        return None if free is None else max(0, int(free * (1 - KEPT_FREE)) - more)
    return None if used is None else max(0, megabytes * MEGABYTE - used - more)


@contextmanager
def memory_limit(megabytes: int | None, spare: int = 0, processes: int = 1) -> Iterator[bool]:
    """Within this block allocations beyond `room` fail; False where the system has no such limit.

    Each of several processes may take its share of it. What this one was promised and does not use
    counts as taken, but `spare` bytes it can always have. An existing stricter limit stays.
    """
    more, status = room(megabytes, processes), sizes_in(_STATUS)
    data, anonymous = status.get("VmData"), status.get("RssAnon")
    if os.name != "posix" or more is None or data is None or anonymous is None:
        yield False
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [limit for limit in before if limit != resource.RLIM_INFINITY]
    limit = data + max(spare, more // processes - (data - anonymous))
    resource.setrlimit(resource.RLIMIT_DATA, (min([limit, *limits]), before[1]))
    try:
        yield True
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def in_less_memory(compute: Callable[[int], Result], token_budget: int) -> Result:
    """What `compute` makes of the budget; of half of it where memory is too small, and so on."""
    while True:
        try:
            return compute(token_budget)
        except (MemoryError, RuntimeError) as error:
            if token_budget < LEAST or not is_out_of_memory(error):
                raise
        token_budget //= 2
