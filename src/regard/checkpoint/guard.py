"""What a careful loader checks before it believes a safetensors file.

    8 bytes   length of the header
    header    {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …}
    data      the numbers, tensor after tensor, without gap or overlap, to the end of the file

Order: size of the header, header as strict JSON (no name twice), every tensor's place (in bounds,
as long as dtype × shape says, no hole, no overlap), then names, shapes and dtypes equal to those of
the model that the validated spec describes; only then is anything allocated. After reading, every
number must be finite.
"""

import math
import struct
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from regard.errors import CheckpointError
from regard.untrusted import file_size, shown, strict_json

MAX_HEADER = 4 * 1024 * 1024  # 30,000 tensors
MAX_NAME = 512
MAX_AXES = 8
DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}


@dataclass(frozen=True)
class Stored:
    """What a header says of one tensor; its numbers are the bytes start … end of the data."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    start: int
    end: int

    @property
    def count(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)


Header = dict[str, Stored]


def read_header(path: Path) -> Header:
    """The tensors that a safetensors file declares, each found to lie where it says."""
    size = file_size(path)
    try:
        with path.open("rb") as file:
            prefix = file.read(8)
            length = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else 0
            if not 2 <= length <= min(MAX_HEADER, size - 8):
                raise CheckpointError(
                    f"{path}: not a whole safetensors file (header of {length} bytes, file of "
                    f"{size}); copy it again or choose another checkpoint"
                )
            data = file.read(length)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror}") from None
    declared = strict_json(data, f"{path}: header")
    if not isinstance(declared, dict):
        raise CheckpointError(f"{path}: header is {type(declared).__name__}, expected an object")
    _check_metadata(path, declared.pop("__metadata__", {}))
    room = size - 8 - length
    header = {name: _stored(path, name, entry, room) for name, entry in declared.items()}
    _check_places(path, header, room)
    return header


def _check_metadata(path: Path, metadata: Any) -> None:
    texts = isinstance(metadata, dict) and all(isinstance(v, str) for v in metadata.values())
    if not texts:
        raise CheckpointError(f"{path}: __metadata__ must hold texts only")


def _stored(path: Path, name: str, entry: Any, room: int) -> Stored:
    """One tensor of the header; `room` is the size of the data."""
    where = f"{path}: tensor {shown(name)}"
    if not 0 < len(name) <= MAX_NAME:
        raise CheckpointError(f"{where}: a name of {len(name)} letters, expected 1 to {MAX_NAME}")
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise CheckpointError(f"{where}: expected dtype, shape and data_offsets, nothing else")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        known = ", ".join(DTYPES)
        raise CheckpointError(f"{where}: unknown dtype {shown(dtype)}, expected one of {known}")
    if not _are_sizes(shape) or len(shape) > MAX_AXES or max(shape, default=0) > room:
        # [0, 2⁶²] has no numbers but an axis that no file can fill
        raise CheckpointError(f"{where}: shape {str(shape)[:60]} does not fit a file of this size")
    if not _are_sizes(offsets) or len(offsets) != 2 or not offsets[0] <= offsets[1] <= room:
        raise CheckpointError(
            f"{where}: data_offsets {str(offsets)[:60]} are not within the {room} bytes of data"
        )
    kind = DTYPES[dtype]
    stored = Stored(kind, tuple(shape), offsets[0], offsets[1])
    needed = stored.count * kind.itemsize
    if needed != stored.end - stored.start:
        raise CheckpointError(
            f"{where}: {dtype} of shape {shape} takes {needed} bytes, data_offsets give it "
            f"{stored.end - stored.start}"
        )
    return stored


def _are_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(size) is int and size >= 0 for size in value)


def _check_places(path: Path, header: Header, room: int) -> None:
    """The tensors fill the data from its first byte to its last, side by side."""
    end = 0
    for name, stored in sorted(header.items(), key=lambda pair: (pair[1].start, pair[1].end)):
        if stored.start != end:
            what = "overlaps another tensor" if stored.start < end else "leaves a hole before it"
            raise CheckpointError(f"{path}: tensor {shown(name)} {what}, at byte {stored.start}")
        end = stored.end
    if end != room:
        raise CheckpointError(
            f"{path}: {room - end} bytes after the last tensor belong to no tensor; "
            "copy the file again or choose another checkpoint"
        )


def read_numbers(
    path: Path, header: Header, names: Collection[str]
) -> Iterator[tuple[str, Tensor]]:
    """The tensors of these names, one after the other, so that one at a time takes memory."""
    try:
        with safe_open(path, framework="pt") as file:
            for name in names:
                tensor = file.get_tensor(name)
                check_unchanged(path, name, tensor, header[name])
                yield name, tensor
    except (SafetensorError, OSError, ValueError, RuntimeError) as error:
        if "Cannot allocate memory" in str(error):  # nothing is wrong with the file
            raise MemoryError(f"{path}: {error}") from None
        raise CheckpointError(f"{path}: not a valid safetensors file: {error}") from None


def check_unchanged(path: Path, name: str, tensor: Tensor, stored: Stored) -> None:
    """What was read is what the header promised: the file has not changed in between."""
    if tuple(tensor.shape) != stored.shape or tensor.dtype != stored.dtype:
        raise CheckpointError(f"{path}: tensor {shown(name)} changed while it was read")


def check_finite(path: Path, name: str, tensor: Tensor, hint: str = "") -> None:
    """Refuse NaN and infinity; the extremes show both, and take no memory."""
    if not tensor.is_floating_point() or not tensor.numel():
        return
    if not all(torch.isfinite(extreme) for extreme in torch.aminmax(tensor)):
        raise CheckpointError(
            f"{path}: {shown(name)} holds NaN or infinity; choose another checkpoint{hint}"
        )


def read_tensors(path: Path, expected: Mapping[str, Tensor] | None = None) -> dict[str, Tensor]:
    """The tensors of a file; with `expected`, only if names, shapes and dtypes agree with it."""
    header = read_header(path)
    if expected is not None:
        compare(path, header, expected)
    tensors = dict(read_numbers(path, header, header))
    for name, tensor in tensors.items():
        check_finite(path, name, tensor)
    return tensors


def compare(path: Path, header: Header, expected: Mapping[str, Tensor]) -> None:
    """Names, shapes and dtypes of a file are those of a spec."""
    missing, surplus = sorted(set(expected) - set(header)), sorted(set(header) - set(expected))
    if missing or surplus:
        raise CheckpointError(
            f"{path}: weights do not belong to this spec: {len(missing)} missing "
            f"{missing[:3]}, {len(surplus)} unknown {surplus[:3]}"
        )
    for name, tensor in expected.items():
        stored = header[name]
        if stored.shape != tuple(tensor.shape):
            raise CheckpointError(
                f"{path}: {name} has shape {list(stored.shape)}, the spec expects "
                f"{list(tensor.shape)}"
            )
        if stored.dtype != tensor.dtype:
            raise CheckpointError(
                f"{path}: {name} is {stored.dtype}, the spec expects {tensor.dtype}"
            )
