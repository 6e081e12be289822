"""Writing that cannot be half done: temporary name, fsync, rename, fsync of the folder.

After a crash at any moment the old file is there, or the new one, never a mixture. A folder is
never there half; one that replaces another of its name may be absent for the moment between the
two renames. What a crash leaves behind begins with `.tmp-` and is removed by `sweep`.
"""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PREFIX = ".tmp-"


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
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
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
    temporary.mkdir()
    try:
        yield temporary
        for file in temporary.rglob("*"):
            if file.is_dir():
                sync_folder(file)
                continue
            with file.open("rb") as handle:
                os.fsync(handle.fileno())
        sync_folder(temporary)
        older = _doomed(path)  # of that name, for example from before a resume
        if replace and path.exists():
            path.rename(older)
        try:
            temporary.rename(path)
        except OSError:
            if replace or not path.is_dir():
                raise
            shutil.rmtree(temporary, ignore_errors=True)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    sync_folder(path.parent)
    shutil.rmtree(older, ignore_errors=True)


def remove_folder(path: Path) -> None:
    """Remove a folder so that no half-removed one is left under its name."""
    shutil.rmtree(path.rename(_doomed(path)), ignore_errors=True)


def _doomed(path: Path) -> Path:
    """The name under which a folder is removed."""
    return path.with_name(f"{PREFIX}removed-{path.name}-{os.getpid()}")


def sweep(folder: Path) -> None:
    """Remove what an earlier crash left in `folder`."""
    if folder.is_dir():
        for leftover in folder.glob(f"{PREFIX}*"):
            if leftover.is_dir():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """fsync a folder, so that a rename in it survives a power cut (where the system can)."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
