"""The zip archive that torch.save writes, believed only where it is as torch writes it.

    root/data.pkl       the outline of the tensors, as a pickle
    root/data/0 …       the numbers of one storage each, stored, not compressed
    root/version …      a few words

Directory at the very end, every member stored as it is, side by side, no name twice. What is
compressed, encrypted, overlapping or of another name (TorchScript's code, for one) is refused, so
nothing in it can be larger than the file itself.
"""

import re
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from regard.errors import CheckpointError
from regard.untrusted import file_size, shown

MAX_MEMBERS = 20_000
MAX_DIRECTORY = 2 * 1024 * 1024
END, LOCATOR, END64 = (
    struct.Struct("<4s4H2LH"),
    struct.Struct("<4sLQL"),
    struct.Struct("<4sQ2H2L4Q"),
)
LOCAL = struct.Struct("<4s5H3L2H")
# What torch.save puts beside the numbers. TorchScript's constants.pkl and code/ are not among it.
MEMBER = re.compile(
    r"(data\.pkl|data/\d{1,20}|version|byteorder|\.format_version|\.storage_alignment"
    r"|\.data/serialization_id)"
)


class Archive:
    """An archive whose members have been checked; names are without the root folder."""

    def __init__(self, path: Path, file: BinaryIO, files: zipfile.ZipFile, start: int) -> None:
        self._path, self._file, self._files = path, file, files
        infos = files.infolist()
        root = infos[0].filename.partition("/")[0] if infos else ""
        self._members: dict[str, zipfile.ZipInfo] = {}
        for info in infos:
            name = info.filename.removeprefix(f"{root}/")
            # info.orig_filename: as it stands in the file, before zipfile cut it at a NUL
            if not MEMBER.fullmatch(name) or info.orig_filename != f"{root}/{name}":
                raise CheckpointError(
                    f"{path}: {shown(info.orig_filename)} is nothing that a file of tensors holds; "
                    "regard reads no TorchScript and no other archive"
                )
            if name in self._members:
                raise CheckpointError(f"{path}: {shown(name)} stands in the archive twice")
            self._members[name] = info
        self._check_places(start)

    def _check_places(self, start: int) -> None:
        """Members lie side by side before the directory at `start`, stored as they are."""
        end = 0
        for info in sorted(self._members.values(), key=lambda info: info.header_offset):
            where = f"{self._path}: {shown(info.filename)}"
            if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
                raise CheckpointError(
                    f"{where} is compressed; torch stores tensors as they are, so this is no file "
                    "of its making"
                )
            if info.flag_bits & 0x41:
                raise CheckpointError(f"{where} is encrypted")
            self._file.seek(info.header_offset)
            head = self._file.read(LOCAL.size)
            if len(head) < LOCAL.size or head[:4] != b"PK\x03\x04":
                raise CheckpointError(f"{where} has no header where the directory places it")
            fields = LOCAL.unpack(head)
            name = self._file.read(fields[9])
            if fields[3] != zipfile.ZIP_STORED or name != info.filename.encode():
                raise CheckpointError(f"{where} has a header that contradicts the directory")
            if info.header_offset < end:
                raise CheckpointError(f"{where} overlaps another part of the archive")
            end = info.header_offset + LOCAL.size + fields[9] + fields[10] + info.file_size
            if end > start:
                raise CheckpointError(f"{where} reaches beyond the end of the archive")

    def size(self, name: str) -> int | None:
        """How many bytes a member has; None where there is none."""
        info = self._members.get(name)
        return None if info is None else info.file_size

    def read(self, name: str, limit: int) -> bytes:
        """The content of a small member."""
        info = self._members.get(name)
        if info is None or info.file_size > limit:
            what = "is missing" if info is None else f"is larger than {limit} bytes"
            raise CheckpointError(f"{self._path}: {name} {what}; this is no file of tensors")
        return self._files.read(info)


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """The archive in a file, checked."""
    size = file_size(path)
    try:
        with path.open("rb") as file:
            start = _directory(path, file, size)
            with zipfile.ZipFile(file) as files:
                yield Archive(path, file, files, start)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, struct.error) as error:
        raise CheckpointError(f"{path}: not a whole archive: {error}") from None
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror or error}") from None


def _directory(path: Path, file: BinaryIO, size: int) -> int:
    """Where the directory starts, once it is known to be small and to end where the file ends."""
    if file.read(4) != b"PK\x03\x04":
        raise CheckpointError(
            f"{path}: not a zip archive of torch.save; formats older than torch 1.6 can run code "
            "and are not read: save it anew with torch or as safetensors where you trust it"
        )
    file.seek(max(0, size - END64.size - LOCATOR.size - END.size))
    tail = file.read()
    end = END.unpack(tail[-END.size :].rjust(END.size, b"\0"))
    entries, length, start, comment = end[4:8]
    limit = size - END.size
    far = tail[-END.size - LOCATOR.size : -END.size]
    if far[:4] == b"PK\x06\x07":  # the directory is described once more in 64 bits
        limit -= LOCATOR.size + END64.size
        record = END64.unpack(tail[: END64.size].rjust(END64.size, b"\0"))
        if LOCATOR.unpack(far)[2] != limit or record[0] != b"PK\x06\x06":
            raise CheckpointError(f"{path}: not a whole archive: its end contradicts itself")
        entries, length, start = record[7:10]
    if end[0] != b"PK\x05\x06" or comment or start + length != limit:
        raise CheckpointError(f"{path}: not a whole archive: no directory at its end")
    if entries > MAX_MEMBERS or length > MAX_DIRECTORY:
        raise CheckpointError(f"{path}: an archive of {entries} parts, at most {MAX_MEMBERS}")
    file.seek(0)
    return int(start)
