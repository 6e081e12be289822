"""A lock between processes: a file that one of them holds, free again when that one ends anyhow.

    flock     Linux, macOS
    SQLite    elsewhere: an exclusive transaction, which is a lock of the system in its own words

The file stays when the lock is given up: who deletes it could delete it under another's hands. A
holder that takes the whole folder away again says so (`discard`); whoever had opened the file by
then holds a lock that nobody else can meet, notices, and tries again.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

PATIENCE = 0.05  # seconds between two tries
TRIES = 3  # before it counts as taken: who only looks whether it is held has it for a moment


class Taken(Exception):
    """Another process holds the lock."""


@dataclass
class HeldLock:
    """A lock that this process has."""

    discard: bool = False  # whether its file goes with it


def can_flock() -> bool:
    """Whether the system has flock; Windows has not."""
    return find_spec("fcntl") is not None


@contextmanager
def held(path: Path, wait: bool = False) -> Iterator[HeldLock]:
    """Hold the lock of that name inside; if another has it, `Taken`, or wait for it."""
    take = _flock if can_flock() else _transaction
    tries = 1
    while (give_up := take(path)) is None:
        if not wait and tries == TRIES:
            raise Taken(f"{path}: held by another process")
        tries += 1
        time.sleep(PATIENCE)  # and not in the C library: Ctrl-C must be heard
    mine = HeldLock()
    try:
        yield mine
    finally:
        if mine.discard and can_flock():  # while nobody else can have it
            _unlink(path)
        give_up()
        if mine.discard and not can_flock():  # Windows deletes no file that anybody has open
            _unlink(path)


def _unlink(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def _flock(path: Path) -> Callable[[], None] | None:
    """How to give the lock up again; None if another has it."""
    import fcntl

    while True:
        # A file of that name that somebody else wrote keeps its content; a pipe is not waited for,
        # and a link makes no file elsewhere.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW
        file = os.fdopen(os.open(path, flags, 0o666), "ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                    return file.close
        except BaseException as error:
            file.close()
            if isinstance(error, BlockingIOError):
                return None
            raise
        file.close()  # it was discarded between opening and locking: another may have a new one


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
