"""A lock between processes: a file that one of them holds, free again when that one ends anyhow.

    flock     Linux, macOS
    SQLite    elsewhere: an exclusive transaction, which is a lock of the system in its own words

The file stays when the lock is given up: who deletes it could delete it under another's hands.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

PATIENCE = 0.05  # seconds between two tries


class Taken(Exception):
    """Another process holds the lock."""


def can_flock() -> bool:
    """Whether the system has flock; Windows has not."""
    return find_spec("fcntl") is not None


@contextmanager
def held(path: Path, wait: bool = False) -> Iterator[None]:
    """Hold the lock of that name inside; if another has it, `Taken`, or wait for it."""
    take = _flock if can_flock() else _transaction
    while (give_up := take(path)) is None:
        if not wait:
            raise Taken(f"{path}: held by another process")
        time.sleep(PATIENCE)  # and not in the C library: Ctrl-C must be heard
    try:
        yield
    finally:
        give_up()


def _flock(path: Path) -> Callable[[], None] | None:
    """How to give the lock up again; None if another has it."""
    import fcntl

    file = path.open("ab")  # a file of that name that somebody else wrote keeps its content
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException as error:
        file.close()
        if isinstance(error, BlockingIOError):
            return None
        raise
    return file.close


def _transaction(path: Path) -> Callable[[], None] | None:
    """The same as a database without content, whose transaction is never written."""
    path.touch()  # says in the usual words if that may not be
    database = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        database.execute("PRAGMA journal_mode = MEMORY")  # no second file beside it
        database.execute("BEGIN EXCLUSIVE")
    except BaseException as error:
        database.close()
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            return None
        raise
    return database.close
