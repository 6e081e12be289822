"""Writing that cannot be half done: temporary name, fsync, rename, fsync of the folder.

After a crash at any moment the old file is there, or the new one, never a mixture. A folder is
never there half; one that replaces another of its name may be absent for the moment between the
two renames. What a crash leaves behind begins with `.tmp-` and is removed by `sweep`.

Only files are replaced. A link stays, and what it leads to is replaced; a device, a pipe or an open
descriptor (/dev/null, /dev/stdout, `>(command)`) is written to. When there is no room, the error
names the file that was asked for.
"""

import errno
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

PREFIX = ".tmp-"
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # the disk, a quota, a limit
WAITS = (0.01, 0.03, 0.1, 0.3, 1.0)  # seconds before a refused rename is tried again
PROBE = 1 << 20  # bytes that show whether there is room
MOST_LINKS = 40  # that lead to one another: as many as Linux follows


def write_bytes(path: Path, content: bytes) -> None:
    """Replace the file at `path` by `content`, whole or not at all."""
    with new_file(path) as file:
        file.write(content)


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A temporary file to fill, which becomes `path` when the block ends without an error.

    What is no file, a device or a pipe, stays and gets the whole content at the end.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    place = _followed(path)
    if isinstance(place, int) or (place.exists() and not place.is_file()):
        with named_when_full(path), tempfile.TemporaryFile() as file:
            yield file
            file.seek(0)
            _pour(file, place)
        return
    temporary = place.with_name(f"{PREFIX}{place.name}-{os.getpid()}")
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        with named_when_full(path, temporary):
            with temporary.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            rename(temporary, place)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(place.parent)


def _followed(path: Path) -> Path | int:
    """Where a chain of links ends: a path, with something there or not, or an open descriptor.

    /dev/stdout is such a link too; what it leads to may be a file, but it is being written.
    """
    for _ in range(MOST_LINKS):
        folder = path.parent.resolve()
        if path.name.isdecimal() and str(folder) in ("/dev/fd", f"/proc/{os.getpid()}/fd"):
            return int(path.name)
        if not path.is_symlink():
            return path
        path = folder / path.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def _pour(content: BinaryIO, place: Path | int) -> None:
    """Write into what is no file; a named pipe waits for its reader, as in a shell."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()  # what was said before comes before
    with open(os.dup(place) if isinstance(place, int) else place, "wb") as opened:
        shutil.copyfileobj(content, opened)


@contextmanager
def named_when_full(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Inside, an error of writing names `path`, the one that a user knows.

    A file in the folder `temporary` is named as it would be called in the end.
    """
    try:
        yield
    except OSError as error:
        # Of a copy, the first name is the source.
        names = [str(name) for name in (error.filename2, error.filename) if name is not None]
        ours = [n for n in names if temporary is not None and n.startswith(str(temporary))]
        if ours:
            _name(error, str(path) + ours[0].removeprefix(str(temporary)))
        elif error.errno in (*FULL, errno.EROFS):
            inside = [name for name in names if name.startswith(str(path))]
            _name(error, inside[0] if inside else str(path))
        elif not names and error.errno is None and temporary is not None:
            raise _reason(error, path, temporary.parent) from None
        raise


def _name(error: OSError, name: str) -> None:
    error.filename = name
    if error.filename2 is not None:
        del error.filename2


def _reason(error: OSError, path: Path, folder: Path) -> OSError:
    """Why a library could not write; NumPy says how much it wrote, and not why that was not all."""
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as probe:
            probe.write(bytes(PROBE))
            probe.write(bytes(1))  # the first may have been written in part
    except OSError as refusal:
        return OSError(refusal.errno, refusal.strerror, str(path))
    return error


def write_text(path: Path, content: str) -> None:
    """`write_bytes` of UTF-8 text."""
    write_bytes(path, content.encode("utf-8"))


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """`write_text` of JSON for people: indented, letters as they are."""
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    try:
        write_text(path, text)
    except UnicodeEncodeError:  # a byte of a file's name that is not UTF-8, as Python hands it on
        write_text(path, json.dumps(value, indent=2) + "\n")


@contextmanager
def new_folder(path: Path, *, replace: bool = True) -> Iterator[Path]:
    """A temporary folder to fill, which becomes `path` when the block ends without an error.

    With `replace=False` one that another process made meanwhile stays, and ours is thrown away.
    """
    place = _followed(path)
    if isinstance(place, int) or (place.exists() and not place.is_dir()):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = place.with_name(f"{PREFIX}{place.name}-{os.getpid()}")
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
            older = _doomed(place)  # of that name, for example from before a resume
            if replace and place.exists():
                rename(place, older)
            try:
                rename(temporary, place)
            except OSError:
                if replace or not place.is_dir():
                    raise
                shutil.rmtree(temporary, ignore_errors=True)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    sync_folder(place.parent)
    _remove(older)


def remove_folder(path: Path) -> None:
    """Remove a folder so that no half-removed one is left under its name."""
    doomed = _doomed(path)
    rename(path, doomed)
    _remove(doomed)


def _doomed(path: Path) -> Path:
    """The name under which a folder is removed."""
    return path.with_name(f"{PREFIX}removed-{path.name}-{os.getpid()}")


def is_left_of(name: str, names: Collection[str]) -> bool:
    """Whether a crash while one of the `names` was written or removed has left this one."""
    middle, _, process = name.removeprefix(PREFIX).rpartition("-")
    is_ours = name.startswith(PREFIX) and process.isdecimal()
    return is_ours and (middle in names or middle.removeprefix("removed-") in names)


def sweep(folder: Path, names: Collection[str] | None = None) -> None:
    """Remove what an earlier crash left in `folder`; with `names`, of these only."""
    if folder.is_dir():
        for leftover in folder.glob(f"{PREFIX}*"):
            if names is None or is_left_of(leftover.name, names):
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
