"""GGUF, llama.cpp's format: key-value pairs, then the tensors' names, shapes, kinds and places.

    "GGUF", version, how many tensors, how many pairs
    name, kind, value                        of each pair: a number, a text, or a list of them
    name, axes (the fastest first), kind, offset      of each tensor
    padding, then the tensors, each where its offset says

Nothing is allocated because a number of the file says so: a text or a list must lie within the
file, and the whole header within MAX_HEADER. Numbers of kinds that are no plain ones lie in blocks
along a row; `KINDS` says how many make a block, and how many bytes it takes.
"""

import math
import os
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from regard.checkpoint.headers.contents import MAX_TENSORS, Contents, told
from regard.errors import CheckpointError, shown
from regard.untrusted import opened

MAGIC = b"GGUF"
MAX_TEXT = 16 * 1024 * 1024  # bytes of a text
MAX_HEADER = 256 * 1024 * 1024
MAX_VALUES = 4_000_000  # of all lists
MAX_AXES = 4
MAX_TOLD = 60  # keys
# kind of a value → how it is written
FIXED = {0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "<u1",
         10: "<u8", 11: "<i8", 12: "<f8"}  # fmt: skip
TRUTH, TEXT, LIST = 7, 8, 9


class Kind(NamedTuple):
    """How the numbers of a tensor are kept."""

    name: str
    block: int  # numbers
    bytes: int  # of a block


KINDS = {
    number: Kind(name, block, size)
    for number, name, block, size in (
        (0, "F32", 1, 4), (1, "F16", 1, 2), (2, "Q4_0", 32, 18), (3, "Q4_1", 32, 20),
        (6, "Q5_0", 32, 22), (7, "Q5_1", 32, 24), (8, "Q8_0", 32, 34), (9, "Q8_1", 32, 40),
        (10, "Q2_K", 256, 84), (11, "Q3_K", 256, 110), (12, "Q4_K", 256, 144),
        (13, "Q5_K", 256, 176), (14, "Q6_K", 256, 210), (15, "Q8_K", 256, 292), (24, "I8", 1, 1),
        (25, "I16", 1, 2), (26, "I32", 1, 4), (27, "I64", 1, 8), (28, "F64", 1, 8),
        (30, "BF16", 1, 2),
    )
}  # fmt: skip


class Extent(NamedTuple):
    """Where a tensor lies in the file, and what it is."""

    kind: str
    shape: tuple[int, ...]
    start: int
    size: int  # bytes; 0 of a kind that nobody here knows


@dataclass
class GgufHeader:
    """Everything before the numbers."""

    values: dict[str, Any] = field(default_factory=dict)  # a list of numbers is an array
    extents: dict[str, Extent] = field(default_factory=dict)


class _Broken(Exception):
    """The header cannot be followed any further."""


class _Reader:
    """Reads numbers, texts and lists, never beyond the file and never more than is allowed."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._size, self._values = file, size, 0
        self.place = 0

    def take(self, count: int) -> bytes:
        """So many bytes."""
        self.place += count
        if self.place > MAX_HEADER:
            raise _Broken(f"its header has more than {MAX_HEADER:,} bytes")
        data = self._file.read(count) if self.place <= self._size else b""
        if len(data) < count:
            raise _Broken("cut off inside its header")
        return data

    def number(self, form: str) -> int:
        value: int = struct.unpack(form, self.take(struct.calcsize(form)))[0]
        return value

    def text(self) -> str:
        length = self.number("<Q")
        if length > MAX_TEXT or length > self._size:
            raise _Broken(f"a text in its header claims {length:,} bytes")
        try:
            return self.take(length).decode("utf-8")
        except UnicodeDecodeError as error:
            raise _Broken(f"a text in its header is not UTF-8: {error.reason}") from None

    def value(self) -> Any:
        """A number, a text, or a list of one of them."""
        kind = self.number("<I")
        if kind != LIST:
            return self._plain(kind)
        item, count = self.number("<I"), self.number("<Q")
        least = np.dtype(FIXED[item]).itemsize if item in FIXED else 8  # bytes of one
        self._values += min(count, MAX_VALUES + 1)
        if self._values > MAX_VALUES or count * least > self._size - self.place:
            raise _Broken(f"a list in its header claims {count:,} values")
        if item == TEXT:
            return [self.text() for _ in range(count)]
        if item not in FIXED:
            raise _Broken(f"a list of unknown kind {item}")
        return np.frombuffer(self.take(count * least), FIXED[item])

    def _plain(self, kind: int) -> Any:
        if kind == TEXT:
            return self.text()
        if kind not in FIXED:
            raise _Broken(f"a value of unknown kind {kind}")
        form = np.dtype(FIXED[kind])
        value = np.frombuffer(self.take(form.itemsize), form)[0].item()
        return bool(value) if kind == TRUTH else value


def look_gguf(path: Path, strict: bool = False) -> Contents:
    """Metadata and tensors of the header."""
    contents = Contents("gguf (llama.cpp)", path, strict)
    _walk(contents)
    return contents


def read_gguf(path: Path) -> GgufHeader:
    """What a loader reads: a whole header, each tensor inside the file, or an error."""
    try:
        return _walk(Contents("gguf (llama.cpp)", path, strict=True))
    except OSError as error:
        raise CheckpointError(path, f"cannot be read: {error.strerror or error}") from None


def _walk(contents: Contents) -> GgufHeader:
    header = GgufHeader()
    with opened(contents.path) as file:
        size = os.fstat(file.fileno()).st_size
        try:
            _take(contents, header, _Reader(file, size), size)
        except _Broken as problem:
            contents.find("broken", str(problem))
    _tell(contents, header)
    return header


def _take(contents: Contents, header: GgufHeader, reader: _Reader, size: int) -> None:
    if reader.take(len(MAGIC)) != MAGIC:
        raise _Broken("no GGUF file: it does not begin with these letters")
    version = reader.number("<I")
    contents.writer["format"] = f"GGUF {version}"
    if version not in (2, 3):
        raise _Broken(f"GGUF version {version}; 2 and 3 are known")
    tensors, pairs = reader.number("<Q"), reader.number("<Q")
    if tensors > MAX_TENSORS or pairs > MAX_TENSORS:
        raise _Broken(f"its header claims {tensors:,} tensors and {pairs:,} keys")
    for _ in range(pairs):
        key = reader.text()
        if key in header.values:
            raise _Broken(f"the key {shown(key)} stands in its header twice")
        header.values[key] = reader.value()
    held = [_tensor(contents, reader) for _ in range(tensors)]
    _place(contents, header, held, reader.place, size)


class _Told(NamedTuple):
    """A tensor as the header tells of it."""

    name: str
    kind: int
    shape: tuple[int, ...]
    offset: int


def _tensor(contents: Contents, reader: _Reader) -> _Told:
    name, rank = reader.text(), reader.number("<I")
    if rank > MAX_AXES:
        raise _Broken(f"{shown(name)} claims {rank} axes")
    shape = tuple(reader.number("<Q") for _ in range(rank))[::-1]
    kind, offset = reader.number("<I"), reader.number("<Q")
    if max(shape, default=0) >= 2**63:
        raise _Broken(f"{shown(name)} claims an axis of {max(shape):,}")
    contents.hold(name, KINDS[kind].name if kind in KINDS else f"kind {kind}", shape)
    return _Told(name, kind, shape, offset)


def _place(contents: Contents, header: GgufHeader, held: list[_Told], end: int, size: int) -> None:
    """Where each tensor lies: inside the file, at a multiple of the alignment, alone."""
    step = header.values.get("general.alignment", 32)
    if not isinstance(step, int) or not 0 < step <= 1 << 20 or step & (step - 1):
        raise _Broken(f"general.alignment is {shown(step)}, expected a power of two")
    begin = -(-end // step) * step
    for name, number, shape, offset in held:
        kind = KINDS.get(number)
        if name in header.extents:
            raise _Broken(f"tensor {shown(name)} stands in it twice")
        if kind is None:
            contents.find("note", f"{shown(name)} is of kind {number}, which regard does not know")
            header.extents[name] = Extent(f"kind {number}", shape, begin + offset, 0)
            continue
        if (shape[-1] if shape else 1) % kind.block:
            whole = f"{kind.name} keeps {kind.block} numbers together"
            raise _Broken(f"{shown(name)} has rows of {shape[-1]}; {whole}")
        bytes_ = math.prod(shape) // kind.block * kind.bytes
        if offset % step:
            raise _Broken(f"{shown(name)} begins at {offset:,}, expected a multiple of {step}")
        if begin + offset + bytes_ > size:
            ends = f"claims bytes {begin + offset:,} to {begin + offset + bytes_:,}"
            raise _Broken(f"{shown(name)} {ends}, the file has {size:,}; copy it again")
        header.extents[name] = Extent(kind.name, shape, begin + offset, bytes_)
    ordered = sorted(header.extents.items(), key=lambda item: item[1].start)
    for (one, before), (other, after) in zip(ordered, ordered[1:], strict=False):
        if before.start + before.size > after.start:
            raise _Broken(f"{shown(one)} and {shown(other)} lie on the same bytes")


def _tell(contents: Contents, header: GgufHeader) -> None:
    """Who wrote it and of what shape it is, for a reader; the text of a template is code."""
    for key, value in header.values.items():
        if len(contents.writer) >= MAX_TOLD:
            return
        if key.endswith("chat_template") and isinstance(value, str):
            value = f"{len(value):,} characters of code, which is never run"
        is_list = isinstance(value, list | np.ndarray)
        contents.writer[told(key)] = f"{len(value):,} values" if is_list else told(str(value))
