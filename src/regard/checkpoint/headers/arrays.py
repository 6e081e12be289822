"""NumPy's .npy and .npz: a short text header in front of each array, read as text."""

import os
import re
import struct
from pathlib import Path

from regard.checkpoint.headers.archive import open_archive
from regard.checkpoint.headers.contents import Contents
from regard.errors import shown
from regard.untrusted import opened

MAGIC = b"\x93NUMPY"
MAX_TEXT_HEADER = 10_000
HEADER = re.compile(
    r"\{'descr': (?P<descr>'[^']{1,20}'|\[.{0,5000}\]), 'fortran_order': (True|False), "
    r"'shape': \((?P<shape>[0-9, ]{0,300})\),? *\} *\n?"
)


def look_npy(path: Path) -> Contents:
    """The one array of a .npy file."""
    contents = Contents("npy (NumPy array)", path)
    with opened(path) as file:
        start, size = file.read(12 + MAX_TEXT_HEADER), os.fstat(file.fileno()).st_size
    _take(contents, path.stem, start, size)
    return contents


def look_npz(path: Path) -> Contents:
    """The arrays of a .npz file, which is a zip archive of .npy files."""
    contents = Contents("npz (NumPy arrays)", path)
    with open_archive(path, contents) as archive:
        if archive is None:
            return contents
        for name, member in archive.members.items():
            if not name.endswith(".npy"):
                contents.find("note", f"member {shown(name)} is no array")
                continue
            start = archive.start(name, 12 + MAX_TEXT_HEADER)
            if start is not None:
                _take(contents, name.removesuffix(".npy"), start, member.file_size)
    return contents


def _take(contents: Contents, name: str, start: bytes, size: int) -> None:
    """Read one header and compare it with the bytes that follow."""
    wide = start[6:7] > b"\1"  # version 2 on: a longer length field
    if not start.startswith(MAGIC) or len(start) < 12:
        contents.find("broken", f"{shown(name)} is not a whole NumPy array")
        return
    length = struct.unpack("<I", start[8:12])[0] if wide else struct.unpack("<H", start[8:10])[0]
    if length > MAX_TEXT_HEADER:
        contents.find("unsafe", f"{shown(name)}: its header claims {length:,} bytes")
        return
    first = 12 if wide else 10
    text = start[first : first + length].decode("latin-1")
    match = HEADER.fullmatch(text)
    if match is None:
        contents.find("broken", f"{shown(name)}: its header is not one that NumPy writes")
        return
    numbers = re.findall(r"[0-9]+", match["shape"])
    descr = match["descr"].strip("'")
    if len(numbers) > 64 or any(len(number) > 18 for number in numbers):
        contents.find("broken", f"{shown(name)}: its shape is not one that a file can have")
        return
    if not contents.hold(name, descr, tuple(int(number) for number in numbers)):
        return
    if descr.startswith("[") or not descr[-1:].isdigit():
        if "O" in descr:
            contents.find("unsafe", f"{shown(name)} holds Python objects: reading it runs a pickle")
        return
    bytes_each = int(re.findall(r"[0-9]+", descr)[-1]) * (4 if "U" in descr else 1)
    room = size - length - first
    if contents.tensors[-1].count * bytes_each != room:
        contents.find("broken", f"{shown(name)}: {room:,} bytes do not fit its shape")
