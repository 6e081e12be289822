"""A safetensors file: 8 bytes of length, a JSON header, then numbers; no code can hide in it."""

import json
import struct
from pathlib import Path
from typing import Any

from regard.checkpoint.headers.held import MAX_HEADER, Contents, shown

BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "I16": 16, "U16": 16, "F16": 16,
    "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "F64": 64, "I64": 64, "U64": 64,
}  # fmt: skip


def look_safetensors(path: Path) -> Contents:
    """Tensors and metadata of the header, and whether they fit the file."""
    found = Contents("safetensors")
    size = path.stat().st_size
    with path.open("rb") as file:
        length = struct.unpack("<Q", file.read(8).ljust(8, b"\0"))[0]
        if length > MAX_HEADER:
            found.find("broken", f"its header claims {length:,} bytes; the limit is {MAX_HEADER:,}")
            return found
        if length > size - 8:
            found.find(
                "broken", f"cut off: its header claims {length:,} bytes, the file has {size:,}"
            )
            return found
        text = file.read(length)
    repeated: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(items)
        if len(result) != len(items):
            repeated.append("")
        return result

    try:
        header = json.loads(text, object_pairs_hook=pairs)
    except (ValueError, RecursionError) as error:
        found.find("broken", f"its header is not JSON: {shown(str(error))}")
        return found
    if repeated:
        found.find("unsafe", "a name stands in the header twice: readers may differ in which wins")
    if not isinstance(header, dict):
        found.find("broken", "its header is JSON, but not an object")
        return found
    metadata = header.pop("__metadata__", {})
    if isinstance(metadata, dict):
        found.writer = {shown(str(k)): shown(str(v)) for k, v in list(metadata.items())[:50]}
    _take(found, header, size - 8 - length)
    return found


def _take(found: Contents, header: dict[str, Any], room: int) -> None:
    """The entries of the header; each must describe its own part of the `room` bytes."""
    spans: list[tuple[int, int, str]] = []
    for name, entry in header.items():
        fields = entry if isinstance(entry, dict) else {}
        dtype, shape = fields.get("dtype"), _whole(fields.get("shape"))
        span = _whole(fields.get("data_offsets"))
        if not isinstance(dtype, str) or shape is None or span is None or len(span) != 2:
            found.find("broken", f"{shown(name)!r} has no proper description")
            continue
        if not found.hold(name, dtype, shape):
            return
        spans.append((span[0], span[1], name))
        bits = BITS.get(dtype)
        if bits is None:
            found.find("note", f"{shown(name)!r} has dtype {shown(dtype)}, which regard reads not")
        elif (span[1] - span[0]) * 8 != found.tensors[-1].count * bits:
            found.find("broken", f"{shown(name)!r}: shape and place in the file do not agree")
    end = 0
    for first, last, name in sorted(spans):
        if first != end:
            what = "overlaps the tensor before" if first < end else "has a hole before it"
            found.find("broken", f"{shown(name)!r} {what}")
            return
        end = last
    if end > room:
        found.find("broken", f"cut off: the tensors take {end:,} bytes, the file has {room:,}")
    elif end < room:
        found.find("unsafe", f"{room - end:,} bytes follow the last tensor: hidden content?")


def _whole(value: object) -> tuple[int, ...] | None:
    """The few whole numbers from 0 on that a list holds; None if it is no such list."""
    if not isinstance(value, list) or len(value) > 16:
        return None
    numbers = tuple(n for n in value if type(n) is int and 0 <= n < 2**63)
    return numbers if len(numbers) == len(value) else None
