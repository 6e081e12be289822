"""Zip archives (.pt, .bin, .npz): the directory is looked at before `zipfile` may read it.

Directory at the very end, members side by side, no name twice, nothing that unpacks to much more
than the file; for torch.save also every member stored as it is, so that nothing in the archive can
be larger than the file itself.
"""

import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from regard.checkpoint.headers.contents import Contents
from regard.errors import shown
from regard.untrusted import opened

MAX_MEMBERS = 20_000
MAX_DIRECTORY = 2 * 1024 * 1024
RATIO = 20  # an archive that claims to grow more than this is a bomb
FIRST = b"PK\x03\x04"
END, LOCATOR, END64 = (
    struct.Struct("<4s4H2LH"),
    struct.Struct("<4sLQL"),
    struct.Struct("<4sQ2H2L4Q"),
)
LOCAL = struct.Struct("<4s5H3L2H")
ERRORS = (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, OSError, RuntimeError)


class Archive:
    """The members of an archive by name."""

    def __init__(self, contents: Contents, files: zipfile.ZipFile) -> None:
        self._contents, self._files = contents, files
        self.members = {info.filename: info for info in files.infolist()}
        self.root = next(iter(self.members), "").partition("/")[0]

    def size(self, name: str) -> int | None:
        """How many bytes a member has; None where there is none."""
        info = self.members.get(name)
        return None if info is None else info.file_size

    def read(self, name: str, limit: int) -> bytes | None:
        """The content of a small member; None after a finding."""
        size, short = self.size(name), name.removeprefix(f"{self.root}/")
        if size is None or size > limit:
            what = "is missing" if size is None else f"is larger than {limit} bytes"
            self._contents.find("unsafe", f"{short} {what}; this is no file of tensors")
            return None
        return self.start(name, limit)

    def start(self, name: str, count: int) -> bytes | None:
        """The first bytes of a member, of which no more are unpacked; None after a finding."""
        try:
            with self._files.open(name) as file:
                return file.read(count)
        except (*ERRORS, zlib.error) as error:
            self._contents.find("broken", f"{shown(name)}: not a whole archive: {error}")
            return None


@contextmanager
def open_archive(path: Path, contents: Contents) -> Iterator[Archive | None]:
    """The archive in a file, looked at; None where its directory is not fit to be read."""
    with opened(path) as file:
        start = _directory(contents, file)
        if start is None:
            yield None
            return
        try:
            files = zipfile.ZipFile(file)
        except (*ERRORS, struct.error) as error:
            contents.find("broken", f"not a whole archive: {error}")
            yield None
            return
        with files:
            _check_names(contents, files.infolist())
            _check_places(contents, file, files.infolist(), start)
            yield Archive(contents, files)


def _directory(contents: Contents, file: BinaryIO) -> int | None:
    """Where the directory starts, once it is known to be small and to end where the file ends."""
    if file.read(4) != FIRST:
        contents.find(
            "broken",
            "not a zip archive of torch.save; formats older than torch 1.6 can run code and are "
            "not read: save it anew with torch or as safetensors where you trust it",
        )
        return None
    size = os.fstat(file.fileno()).st_size
    file.seek(max(0, size - END64.size - LOCATOR.size - END.size))
    tail = file.read(END64.size + LOCATOR.size + END.size)
    end = END.unpack(tail[-END.size :].rjust(END.size, b"\0"))
    entries, length, start, comment = end[4:8]
    limit = size - END.size
    far = tail[-END.size - LOCATOR.size : -END.size]
    if far[:4] == b"PK\x06\x07":  # the directory is described once more in 64 bits
        limit -= LOCATOR.size + END64.size
        record = END64.unpack(tail[: END64.size].rjust(END64.size, b"\0"))
        if LOCATOR.unpack(far)[2] != limit or record[0] != b"PK\x06\x06":
            contents.find("broken", "not a whole archive: its end contradicts itself")
            return None
        entries, length, start = record[7:10]
    if end[0] != b"PK\x05\x06" or comment or start + length != limit:
        contents.find("broken", "not a whole archive: no directory at its end")
        return None
    if entries > MAX_MEMBERS or length > MAX_DIRECTORY:
        contents.find("unsafe", f"an archive of {entries} parts, at most {MAX_MEMBERS}")
        return None
    file.seek(0)
    return int(start)


def _check_names(contents: Contents, members: list[zipfile.ZipInfo]) -> None:
    """No name twice or out of the folder, and no bomb."""
    seen: set[str] = set()
    for info in members:
        name = info.orig_filename  # as it stands in the file, before zipfile cut it at a NUL
        if info.filename in seen:
            contents.find("unsafe", f"{shown(info.filename)} stands in the archive twice")
        seen.add(info.filename)
        if name.startswith("/") or ".." in name.split("/") or set(name) & set("\\\0"):
            what = "points out of the folder, and is nothing that a file of tensors holds"
            contents.find("unsafe", f"{shown(name)} {what}")
    total, size = sum(info.file_size for info in members), contents.path.stat().st_size
    if total > RATIO * size + MAX_DIRECTORY:  # a loader finds the members that are compressed
        contents.find("unsafe", f"it claims to unpack to {total:,} bytes from {size:,}", False)


def _check_places(
    contents: Contents, file: BinaryIO, members: list[zipfile.ZipInfo], start: int
) -> None:
    """Members lie side by side before the directory at `start`, stored as they are."""
    end = 0
    for info in sorted(members, key=lambda info: info.header_offset):
        where = shown(info.filename)
        is_stored = info.compress_type == zipfile.ZIP_STORED
        if not is_stored or info.compress_size != info.file_size:
            text = f"{where} is compressed; torch stores tensors as they are"
            contents.find("note", text, stops=True)
        if info.flag_bits & 0x41:
            contents.find("broken", f"{where} is encrypted")
        file.seek(info.header_offset)
        head = file.read(LOCAL.size)
        if len(head) < LOCAL.size or head[:4] != FIRST:
            contents.find("broken", f"{where} has no header where the directory places it")
            return
        fields = LOCAL.unpack(head)
        if fields[3] != info.compress_type or file.read(fields[9]) != info.filename.encode():
            contents.find("unsafe", f"{where} has a header that contradicts the directory")
        if info.header_offset < end:
            contents.find("unsafe", f"{where} overlaps another part of the archive")
        end = info.header_offset + LOCAL.size + fields[9] + fields[10] + info.compress_size
        if end > start:
            contents.find("unsafe", f"{where} reaches beyond the end of the archive")
