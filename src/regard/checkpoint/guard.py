"""What a careful loader checks before it believes a file of weights.

Order: size of the header, header as strict JSON (no key twice), names equal to the expected set,
shapes and dtype equal to those of the model built from the validated spec; only then is anything
allocated. After loading, every number must be finite.
"""

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from regard.errors import CheckpointError

MAX_HEADER = 16 * 1024 * 1024
DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "U8": torch.uint8,
}


def read_header(path: Path) -> dict[str, dict[str, Any]]:
    """The tensors that a safetensors file declares: name → dtype, shape, data_offsets."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            prefix = file.read(8)
            length = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else 0
            if not 2 <= length <= min(MAX_HEADER, size - 8):
                raise CheckpointError(
                    f"{path}: not a whole safetensors file (header of {length} bytes, file of "
                    f"{size}); copy it again or choose another checkpoint"
                )
            header = json.loads(file.read(length), object_pairs_hook=_no_key_twice)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: header is not valid JSON: {error}") from None
    if not isinstance(header, dict):
        raise CheckpointError(f"{path}: header is {type(header).__name__}, expected an object")
    header.pop("__metadata__", None)
    for name, entry in header.items():
        if not isinstance(entry, dict) or entry.get("dtype") not in DTYPES:
            raise CheckpointError(f"{path}: tensor {name!r} has an unknown dtype or no description")
    return header


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a name stands in it twice")
    return result


def read_tensors(path: Path, expected: Mapping[str, Tensor] | None = None) -> dict[str, Tensor]:
    """The tensors of a file; with `expected`, only if names, shapes and dtypes agree with it."""
    header = read_header(path)
    if expected is not None:
        _compare(path, header, expected)
    try:
        tensors = load_file(path)
    except (SafetensorError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"{path}: not a valid safetensors file: {error}") from None
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise CheckpointError(
                f"{path}: {name} holds NaN or infinity; choose another checkpoint"
            )
    return tensors


def _compare(
    path: Path, header: Mapping[str, Mapping[str, Any]], expected: Mapping[str, Tensor]
) -> None:
    missing, surplus = sorted(set(expected) - set(header)), sorted(set(header) - set(expected))
    if missing or surplus:
        raise CheckpointError(
            f"{path}: weights do not belong to this spec: {len(missing)} missing "
            f"{missing[:3]}, {len(surplus)} unknown {surplus[:3]}"
        )
    for name, tensor in expected.items():
        shape = header[name].get("shape")
        if shape != list(tensor.shape):
            raise CheckpointError(
                f"{path}: {name} has shape {shape}, the spec expects {list(tensor.shape)}"
            )
        dtype = DTYPES[header[name]["dtype"]]
        if dtype != tensor.dtype:
            raise CheckpointError(f"{path}: {name} is {dtype}, the spec expects {tensor.dtype}")
