"""Pickled weights (.bin, .pt), read only when the caller allows it, and as plain tensors only.

A pickle is a program. Before anything runs it, its instructions are walked through as data: only
those that describe a dictionary of tensors may occur, in the form that torch.save writes. This
gives the same header as a safetensors file has (name, dtype, shape), checked against the storages
in the archive. The numbers then come from `torch.load(weights_only=True)`, with no fallback.
"""

import math
import pickletools
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.checkpoint.archive import Archive, open_archive
from regard.checkpoint.guard import MAX_AXES, MAX_NAME, Header, Stored, check_unchanged
from regard.errors import CheckpointError
from regard.untrusted import shown

MAX_PICKLE = 1024 * 1024  # of instructions: enough for 5000 tensors in one file
MAX_STEPS = 300_000  # a tensor takes about 30
MOST_USES = 4  # tensors may share a storage: tied embeddings do, two or four of them
STORAGES = {
    "torch DoubleStorage": torch.float64,
    "torch FloatStorage": torch.float32,
    "torch HalfStorage": torch.float16,
    "torch BFloat16Storage": torch.bfloat16,
    "torch LongStorage": torch.int64,
    "torch IntStorage": torch.int32,
    "torch ByteStorage": torch.uint8,
    "torch BoolStorage": torch.bool,
}


@dataclass(frozen=True)
class Named:
    """Something of a library that the pickle names; it is compared, never looked up."""

    name: str


@dataclass(frozen=True)
class Storage:
    """Numbers of one dtype in the archive's member data/<key>."""

    dtype: torch.dtype
    key: str
    count: int


@dataclass(frozen=True)
class Outline:
    """A tensor: which numbers of a storage it shows, and in which shape."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def stored(self) -> Stored:
        count = math.prod(self.shape)
        return Stored(self.storage.dtype, self.shape, 0, count * self.storage.dtype.itemsize)


def read_header(path: Path) -> Header:
    """The tensors that a pickled file describes, found to lie within their storages."""
    with open_archive(path) as archive:
        if archive.size("byteorder") is not None and archive.read("byteorder", 16) != b"little":
            raise CheckpointError(f"{path}: the numbers are not in little-endian order")
        try:
            outlines = _outlines(archive.read("data.pkl", MAX_PICKLE))
        except _Refused as refusal:
            raise CheckpointError(
                f"{path}: its pickle {refusal}; only a dictionary of plain tensors is read"
            ) from None
        for name, outline in outlines.items():
            _check_outline(f"{path}: tensor {shown(name)}", outline, archive)
    _check_sharing(path, outlines)
    return {name: outline.stored for name, outline in outlines.items()}


def read_numbers(
    path: Path, header: Header, names: Collection[str]
) -> Iterator[tuple[str, Tensor]]:
    """The tensors of these names; the file is mapped, so they take no memory until copied."""
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:  # whatever torch objects to ends here: there is no second try
        reason = str(error).partition("\n")[0][:200]
        raise CheckpointError(f"{path}: torch refuses it: {reason}") from None
    for name in names:
        tensor = loaded[name].detach()
        check_unchanged(path, name, tensor, header[name])
        yield name, tensor


def _check_outline(where: str, outline: Outline, archive: Archive) -> None:
    """A tensor shows no more numbers than its storage has, and the storage is in the archive."""
    storage, shape, strides = outline.storage, outline.shape, outline.strides
    size = archive.size(f"data/{storage.key}")
    if size is None or storage.count * storage.dtype.itemsize != size:
        raise CheckpointError(
            f"{where}: a storage of {storage.count} numbers, the archive holds {size} bytes of it"
        )
    if len(shape) != len(strides) or len(shape) > MAX_AXES:
        raise CheckpointError(f"{where}: {len(shape)} axes with {len(strides)} strides")
    sizes = (outline.offset, *shape, *strides)
    if not all(type(size) is int and 0 <= size <= storage.count for size in sizes):
        raise CheckpointError(f"{where}: shape {str(shape)[:60]} does not fit its storage")
    count = math.prod(shape)
    last = outline.offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    if count > storage.count or (count and last >= storage.count):
        raise CheckpointError(
            f"{where}: shape {str(shape)[:60]} claims more numbers than the {storage.count} of its "
            "storage"
        )


def _check_sharing(path: Path, outlines: dict[str, Outline]) -> None:
    """Tensors that share a storage may not multiply it: the file must hold what it unfolds to."""
    used: dict[str, int] = {}
    for outline in outlines.values():
        key = outline.storage.key
        used[key] = used.get(key, 0) + math.prod(outline.shape)
        if used[key] > MOST_USES * outline.storage.count:
            raise CheckpointError(
                f"{path}: storage {key} is used more than {MOST_USES} times over by its tensors"
            )


class _Refused(Exception):
    """Why a pickle is not one of plain tensors."""


def _outlines(data: bytes) -> dict[str, Outline]:
    """The dictionary of tensors that a pickle describes."""
    machine = _Machine()
    try:
        for count, (instruction, argument, _) in enumerate(pickletools.genops(data)):
            if count > MAX_STEPS:
                raise _Refused(f"has more than {MAX_STEPS} instructions")
            step = STEPS.get(instruction.name)
            if step is None:
                raise _Refused(f"uses the instruction {instruction.name}")
            step(machine, argument)
        found = machine.stack.pop()
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise _Refused(f"is damaged ({type(error).__name__})") from None
    if not isinstance(found, dict):
        raise _Refused(f"holds {type(found).__name__.lower()}")
    for name, outline in found.items():
        if not isinstance(outline, Outline):
            raise _Refused(f"holds {type(outline).__name__.lower()} under {shown(name)}")
        if not 0 < len(name) <= MAX_NAME:
            raise _Refused(f"has a name of {len(name)} letters")
    return found


class _Machine:
    """The stack and the memo of a pickle; every step only moves descriptions about."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def pop_to_mark(self) -> list[Any]:
        start = self.marks.pop()
        items = self.stack[start:]
        del self.stack[start:]
        return items

    def pop(self, count: int) -> list[Any]:
        if count > len(self.stack):
            raise IndexError(count)
        items = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return items

    def name(self, argument: str) -> None:
        known = (*STORAGES, *CALLS)
        if argument not in known:
            raise _Refused(f"asks for {shown(argument.replace(' ', '.'))}")
        self.stack.append(Named(argument))

    def call(self) -> None:
        what, arguments = self.pop(2)
        if not isinstance(what, Named) or what.name not in CALLS:
            raise _Refused(f"calls {type(what).__name__.lower()}")
        self.stack.append(CALLS[what.name](*arguments))

    def persistent(self) -> None:
        kind, named, key, _, count = self.stack.pop()
        if kind != "storage" or not isinstance(key, str) or type(count) is not int:
            raise _Refused("refers to something outside that is no storage")
        self.stack.append(Storage(STORAGES[named.name], key, count))

    def set_items(self, pairs: list[Any]) -> None:
        target = self.stack[-1]
        if not isinstance(target, dict) or len(pairs) % 2:
            raise _Refused("sets items of something that is no dictionary")
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            if not isinstance(key, str) or key in target:
                raise _Refused(f"has the key {shown(key)} twice or not as a text")
            target[key] = value

    def attributes(self) -> None:
        """The versions of modules, which a state dict carries along; they change no number."""
        (state,) = self.pop(1)
        plain = isinstance(state, dict) and set(state) == {"_metadata"}
        if not plain or not isinstance(self.stack[-1], dict):
            raise _Refused("sets attributes")


def _rebuild(
    storage: Any, offset: Any, shape: Any, strides: Any, grad: Any, hooks: Any, *more: Any
) -> Outline:
    if not isinstance(storage, Storage) or hooks or any(more):
        raise _Refused("makes a tensor of something that is no storage")
    if not isinstance(shape, tuple) or not isinstance(strides, tuple):
        raise _Refused("makes a tensor without a shape")
    return Outline(storage, offset, shape, strides)


def _empty() -> dict[str, Any]:
    return {}


def _parameter(tensor: Any, grad: Any, hooks: Any) -> Outline:
    if not isinstance(tensor, Outline) or hooks:
        raise _Refused("makes a parameter of something that is no tensor")
    return tensor


# What a pickle may call, and what stands for the result.
CALLS: dict[str, Callable[..., Any]] = {
    "collections OrderedDict": _empty,
    "torch._utils _rebuild_tensor_v2": _rebuild,
    "torch._utils _rebuild_parameter": _parameter,
}


def _push(machine: _Machine, value: Any) -> None:
    machine.stack.append(value)


def _remember(machine: _Machine, place: int) -> None:
    machine.memo[place] = machine.stack[-1]


# The instructions that torch.save writes for a dictionary of tensors; every other one is refused.
STEPS: dict[str, Callable[[_Machine, Any], None]] = {
    "PROTO": lambda machine, argument: None,
    "STOP": lambda machine, argument: None,
    "GLOBAL": lambda machine, argument: machine.name(argument),
    "REDUCE": lambda machine, argument: machine.call(),
    "BINPERSID": lambda machine, argument: machine.persistent(),
    "BUILD": lambda machine, argument: machine.attributes(),
    "MARK": lambda machine, argument: machine.marks.append(len(machine.stack)),
    "TUPLE": lambda machine, argument: _push(machine, tuple(machine.pop_to_mark())),
    "TUPLE1": lambda machine, argument: _push(machine, tuple(machine.pop(1))),
    "TUPLE2": lambda machine, argument: _push(machine, tuple(machine.pop(2))),
    "TUPLE3": lambda machine, argument: _push(machine, tuple(machine.pop(3))),
    "EMPTY_TUPLE": lambda machine, argument: _push(machine, ()),
    "EMPTY_DICT": lambda machine, argument: _push(machine, {}),
    "SETITEM": lambda machine, argument: machine.set_items(machine.pop(2)),
    "SETITEMS": lambda machine, argument: machine.set_items(machine.pop_to_mark()),
    "BINUNICODE": _push,
    "BININT": _push,
    "BININT1": _push,
    "BININT2": _push,
    "LONG1": _push,
    "NONE": lambda machine, argument: _push(machine, None),
    "NEWTRUE": lambda machine, argument: _push(machine, True),
    "NEWFALSE": lambda machine, argument: _push(machine, False),
    "BINPUT": _remember,
    "LONG_BINPUT": _remember,
    "BINGET": lambda machine, argument: _push(machine, machine.memo[argument]),
    "LONG_BINGET": lambda machine, argument: _push(machine, machine.memo[argument]),
}
