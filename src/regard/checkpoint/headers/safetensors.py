"""A safetensors file: no code can hide in it.

    8 bytes   length of the header
    header    {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …}
    data      the numbers, tensor after tensor, without gap or overlap, to the end of the file

Order: size of the header, header as strict JSON (no name twice), every tensor's place (in bounds,
as long as dtype × shape says, no hole, no overlap).
"""

import math
import os
import struct
from pathlib import Path
from typing import Any

from regard.checkpoint.headers.contents import MAX_AXES, Contents, told
from regard.errors import CheckpointError, shown
from regard.untrusted import opened, strict_json

MAX_HEADER = 4 * 1024 * 1024  # 30,000 tensors
# bytes of a number of each dtype that regard reads, and of those that it only knows
READ = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "U8": 1, "BOOL": 1}
SIZES = READ | {"I8": 1, "F8_E5M2": 1, "F8_E4M3": 1, "I16": 2, "U16": 2, "U32": 4, "U64": 8}


def look_safetensors(path: Path, strict: bool = False) -> Contents:
    """Tensors and metadata of the header, and whether they fit the file."""
    contents = Contents("safetensors", path, strict)
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        prefix = file.read(8)
        length = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else 0
        if not 2 <= length <= min(MAX_HEADER, size - 8):
            contents.find(
                "broken",
                f"not a whole safetensors file (header of {length} bytes, file of {size}); copy it "
                "again or choose another checkpoint",
            )
            return contents
        data = file.read(length)
    try:
        declared = strict_json(data, "header")
    except CheckpointError as error:
        contents.find("broken", str(error))
        return contents
    if not isinstance(declared, dict):
        contents.find("broken", f"header is {type(declared).__name__}, expected an object")
        return contents
    _take_metadata(contents, declared.pop("__metadata__", {}))
    room = size - 8 - length
    places = [_take(contents, name, entry, room) for name, entry in declared.items()]
    _check_places(contents, sorted(place for place in places if place), room)
    return contents


def _take_metadata(contents: Contents, metadata: Any) -> None:
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        contents.find("broken", "__metadata__ must hold texts only")
    else:
        contents.writer = {told(k): told(v) for k, v in list(metadata.items())[:50]}


def _take(contents: Contents, name: str, entry: Any, room: int) -> tuple[int, int, str] | None:
    """One tensor of the header and its place; `room` is the size of the data."""
    where = f"tensor {shown(name)}:"
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        contents.find("broken", f"{where} expected dtype, shape and data_offsets, nothing else")
        return None
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in READ:
        text = f"{where} unknown dtype {shown(dtype)}, expected one of {', '.join(READ)}"
        contents.find("note", text, stops=True)
    if not _are_sizes(shape) or len(shape) > MAX_AXES or max(shape, default=0) > room:
        # [0, 2⁶²] has no numbers but an axis that no file can fill
        contents.find("broken", f"{where} shape {str(shape)[:60]} does not fit a file of this size")
        return None
    if not _are_sizes(offsets) or len(offsets) != 2 or not offsets[0] <= offsets[1] <= room:
        text = f"{where} data_offsets {str(offsets)[:60]} are not within the {room} bytes of data"
        contents.find("broken", text)
        return None
    start, end = offsets
    needed = math.prod(shape) * SIZES.get(str(dtype), 0)
    if str(dtype) in SIZES and needed != end - start:
        contents.find(
            "broken",
            f"{where} {dtype} of shape {shape} takes {needed} bytes, data_offsets give it "
            f"{end - start}",
        )
    contents.hold(name, told(str(dtype)), tuple(shape))
    return start, end, name


def _are_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(size) is int and size >= 0 for size in value)


def _check_places(contents: Contents, places: list[tuple[int, int, str]], room: int) -> None:
    """The tensors fill the data from its first byte to its last, side by side."""
    filled = 0
    for start, end, name in places:
        if start != filled:
            what = "overlaps another tensor" if start < filled else "leaves a hole before it"
            contents.find("broken", f"tensor {shown(name)} {what}, at byte {start}")
            return
        filled = end
    if filled != room:
        contents.find(
            "unsafe",
            f"{room - filled} bytes after the last tensor belong to no tensor; copy the file again "
            "or choose another checkpoint",
        )
