"""NumPy's .npy and .npz: a short text header in front of each array, read as text."""

import re
import struct
import zipfile
from pathlib import Path
from typing import IO

from regard.checkpoint.headers.archive import open_archive
from regard.checkpoint.headers.held import Contents, shown

MAGIC = b"\x93NUMPY"
MAX_TEXT_HEADER = 10_000
HEADER = re.compile(
    r"\{'descr': (?P<descr>'[^']{1,20}'|\[.{0,5000}\]), 'fortran_order': (True|False), "
    r"'shape': \((?P<shape>[0-9, ]{0,300})\),? *\} *\n?"
)


def look_npy(path: Path) -> Contents:
    """The one array of a .npy file."""
    found = Contents("npy (NumPy array)")
    with path.open("rb") as file:
        _take(found, path.stem, file, path.stat().st_size)
    return found


def look_npz(path: Path) -> Contents:
    """The arrays of a .npz file, which is a zip archive of .npy files."""
    found = Contents("npz (NumPy arrays)")
    archive = open_archive(path, found)
    if archive is None:
        return found
    with archive:
        for member in archive.infolist():
            if not member.filename.endswith(".npy"):
                found.find("note", f"member {shown(member.filename)!r} is no array")
                continue
            try:
                with archive.open(member) as file:
                    _take(found, member.filename.removesuffix(".npy"), file, member.file_size)
            except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError):
                found.find("broken", f"member {shown(member.filename)!r} cannot be opened")
    return found


def _take(found: Contents, name: str, file: IO[bytes], size: int) -> None:
    """Read one header and compare it with the bytes that follow."""
    start = file.read(12)
    wide = start[6:7] > b"\1"  # version 2 on: a longer length field
    if not start.startswith(MAGIC) or len(start) < 12:
        found.find("broken", f"{shown(name)!r} is not a whole NumPy array")
        return
    length = struct.unpack("<I", start[8:12])[0] if wide else struct.unpack("<H", start[8:10])[0]
    if length > MAX_TEXT_HEADER:
        found.find("unsafe", f"{shown(name)!r}: its header claims {length:,} bytes")
        return
    text = ((b"" if wide else start[10:]) + file.read(max(0, length - (0 if wide else 2)))).decode(
        "latin-1"
    )
    match = HEADER.fullmatch(text)
    if match is None:
        found.find("broken", f"{shown(name)!r}: its header is not one that NumPy writes")
        return
    numbers = re.findall(r"[0-9]+", match["shape"])
    descr = match["descr"].strip("'")
    if len(numbers) > 64 or any(len(number) > 18 for number in numbers):
        found.find("broken", f"{shown(name)!r}: its shape is not one that a file can have")
        return
    if not found.hold(name, descr, tuple(int(number) for number in numbers)):
        return
    if descr.startswith("[") or not descr[-1:].isdigit():
        if "O" in descr:
            found.find("unsafe", f"{shown(name)!r} holds Python objects: reading it runs a pickle")
        return
    bytes_each = int(re.findall(r"[0-9]+", descr)[-1]) * (4 if "U" in descr else 1)
    room = size - length - (12 if wide else 10)
    if found.tensors[-1].count * bytes_each != room:
        found.find("broken", f"{shown(name)!r}: {room:,} bytes do not fit its shape")
