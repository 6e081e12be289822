"""Writing that cannot be half done: temporary name, fsync, rename, fsync of the folder.

After a crash at any moment the old file is there, or the new one, never a mixture. A folder is
never there half; one that replaces another of its name may be absent for the moment between the
two renames. What a crash leaves behind begins with `.tmp-` and is removed by `sweep`.
"""

import errno
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PREFIX = ".tmp-"
FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))  # disk, limit, quota
WAITS = (0.01, 0.03, 0.1, 0.3, 1.0)  # seconds before a refused rename is tried again


def write_bytes(path: Path, content: bytes) -> None:
    """Replace the file at `path` by `content`, whole or not at all."""
    with new_file(path) as file:
        file.write(content)


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A temporary file to fill, which becomes `path` when the block ends without an error."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{PREFIX}{path.name}-{os.getpid()}")
    try:
        with named_when_full(path, temporary):
            with temporary.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            rename(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_text(path: Path, content: str) -> None:
    """`write_bytes` of UTF-8 text."""
    write_bytes(path, content.encode("utf-8"))


@contextmanager
def new_folder(path: Path, *, replace: bool = True) -> Iterator[Path]:
    """A temporary folder to fill, which becomes `path` when the block ends without an error.

    With `replace=False` one that another process made meanwhile stays, and ours is thrown away.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{PREFIX}{path.name}-{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        with named_when_full(path, temporary):
            temporary.mkdir()
            yield temporary
            for file in temporary.rglob("*"):
                if file.is_dir():
                    sync_folder(file)
                    continue
                sync_file(file)
            sync_folder(temporary)
        older = _doomed(path)  # of that name, for example from before a resume
        if replace and path.exists():
            rename(path, older)
        try:
            rename(temporary, path)
        except OSError:
            if replace or not path.is_dir():
                raise
            shutil.rmtree(temporary, ignore_errors=True)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    sync_folder(path.parent)
    _remove(older)


@contextmanager
def named_when_full(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Inside, no room on the disk is an error that names `path`; the system does not say for what.

    A file in the folder `temporary` is named as it would be called in the end.
    """
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            told = str(error.filename or "")
            if temporary is not None and told.startswith(str(temporary)):
                error.filename = str(path) + told.removeprefix(str(temporary))
            elif not told.startswith(str(path)):
                error.filename = str(path)
            if error.filename2 is not None:
                del error.filename2
        raise


def remove_folder(path: Path) -> None:
    """Remove a folder so that no half-removed one is left under its name."""
    doomed = _doomed(path)
    rename(path, doomed)
    _remove(doomed)


def _doomed(path: Path) -> Path:
    """The name under which a folder is removed."""
    return path.with_name(f"{PREFIX}removed-{path.name}-{os.getpid()}")


def sweep(folder: Path) -> None:
    """Remove what an earlier crash left in `folder`."""
    if folder.is_dir():
        for leftover in folder.glob(f"{PREFIX}*"):
            _remove(leftover)


def _remove(path: Path) -> None:
    """A folder with all that is in it, a file, or a link and not what it leads to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def rename(old: Path, new: Path) -> None:
    """Give a file or folder its new name, in place of a file that had it.

    Windows refuses while anybody has one of them open, a virus scanner for example: try again.
    """
    for seconds in WAITS if is_refused_while_open() else ():
        try:
            old.replace(new)
        except PermissionError:
            time.sleep(seconds)
        else:
            return
    old.replace(new)


def sync_file(path: Path) -> None:
    """fsync a file that was written by others; Windows wants it open for writing."""
    with path.open("r+b" if is_refused_while_open() else "rb") as handle:
        os.fsync(handle.fileno())


def sync_folder(folder: Path) -> None:
    """fsync a folder, so that a rename in it survives a power cut (where the system can)."""
    if can_sync_folders():
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def can_sync_folders() -> bool:
    """Whether a folder can be opened and synced; on Windows it cannot."""
    return os.name == "posix"


def is_refused_while_open() -> bool:
    """Whether the system treats an open file as Windows does."""
    return os.name == "nt"
