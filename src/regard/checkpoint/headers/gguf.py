"""GGUF, llama.cpp's format: key-value pairs, then the tensors' names, shapes and kinds."""

import struct
from pathlib import Path
from typing import BinaryIO

from regard.checkpoint.headers.contents import MAX_TENSORS, Contents, told
from regard.errors import shown
from regard.untrusted import opened

MAGIC = b"GGUF"
MAX_HEADER = 16 * 1024 * 1024  # bytes of a text in it
FIXED = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q",
         11: "<q", 12: "<d"}  # fmt: skip
TEXT, ARRAY = 8, 9
KINDS = {0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 9: "Q8_1",
         10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K", 15: "Q8_K", 24: "I8",
         25: "I16", 26: "I32", 27: "I64", 28: "F64", 30: "BF16"}  # fmt: skip


class _Broken(Exception):
    """The header cannot be followed any further."""


class _Reader:
    """Reads numbers and texts, never beyond the file and never more than MAX_HEADER at once."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._size, self._steps = file, size, 0

    def number(self, form: str) -> int:
        width = struct.calcsize(form)
        data = self._file.read(width)
        if len(data) < width:
            raise _Broken("cut off inside its header")
        value: int = struct.unpack(form, data)[0]
        return value

    def text(self) -> str:
        length = self.number("<Q")
        if length > MAX_HEADER or length > self._size:
            raise _Broken(f"a text in its header claims {length:,} bytes")
        data = self._file.read(length)
        if len(data) < length:
            raise _Broken("cut off inside its header")
        return data.decode("utf-8", "replace")

    def value(self, kind: int, depth: int = 0) -> str:
        """A value as a short text; an array is passed over."""
        self._steps += 1
        if self._steps > 1_000_000:
            raise _Broken("its header holds more than a million values")
        if kind == TEXT:
            return told(self.text())
        if kind in FIXED:
            return str(self.number(FIXED[kind]))
        if kind != ARRAY or depth > 1:
            raise _Broken(f"a value of unknown kind {kind}")
        item, count = self.number("<I"), self.number("<Q")
        if item in FIXED:
            width = count * struct.calcsize(FIXED[item])
            if width > self._size - self._file.tell():
                raise _Broken(f"a list in its header claims {count:,} values")
            self._file.seek(width, 1)
        else:
            for _ in range(count):
                self.value(item, depth + 1)
        return f"{count:,} values"


def look_gguf(path: Path) -> Contents:
    """Metadata and tensors of the header."""
    contents = Contents("gguf (llama.cpp)", path)
    with opened(path) as file:
        reader = _Reader(file, path.stat().st_size)
        try:
            _take(contents, file, reader)
        except _Broken as problem:
            contents.find("broken", str(problem))
    return contents


def _take(contents: Contents, file: BinaryIO, reader: _Reader) -> None:
    file.seek(4)
    version = reader.number("<I")
    contents.writer["format"] = f"GGUF {version}"
    if version not in (2, 3):
        raise _Broken(f"GGUF version {version}; 2 and 3 are known")
    tensors, pairs = reader.number("<Q"), reader.number("<Q")
    if tensors > MAX_TENSORS or pairs > MAX_TENSORS:
        raise _Broken(f"its header claims {tensors:,} tensors and {pairs:,} keys")
    for _ in range(pairs):
        key = reader.text()
        value = reader.value(reader.number("<I"))
        if key.startswith("general.") and len(contents.writer) < 50:
            contents.writer[told(key)] = value
    for _ in range(tensors):
        name, rank = reader.text(), reader.number("<I")
        if rank > 8:
            raise _Broken(f"{shown(name)} claims {rank} axes")
        shape = tuple(reader.number("<Q") for _ in range(rank))[::-1]  # the fastest axis is first
        kind = reader.number("<I")
        reader.number("<Q")
        if max(shape, default=0) >= 2**63:
            raise _Broken(f"{shown(name)} claims an axis of {max(shape):,}")
        if not contents.hold(name, KINDS.get(kind, f"kind {kind}"), shape):
            return
