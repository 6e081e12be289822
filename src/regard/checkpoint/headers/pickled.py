"""Files that torch.save wrote (.pt, .bin, .pth): a pickle, usually inside a zip archive.

    root/data.pkl       the outline of the tensors, as a pickle
    root/data/0 …       the numbers of one storage each, stored, not compressed
    root/version …      a few words

Unpickling may run any code. Here the pickle is followed on paper (opcodes.py), and what it would
make is compared with the storages of the archive: no tensor shows more numbers than there are.
"""

import io
import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.checkpoint.headers.archive import Archive, open_archive
from regard.checkpoint.headers.contents import MAX_AXES, Contents
from regard.checkpoint.headers.opcodes import ONLY, STORAGES, Call, NamedObject, ObjectPairs, follow
from regard.checkpoint.headers.safetensors import SIZES
from regard.errors import shown
from regard.untrusted import opened

MAX_PICKLE = 1024 * 1024  # of instructions: enough for 5000 tensors in one file
MOST_USES = 4  # tensors may share a storage: tied embeddings do, two or four of them
MAX_DEPTH = 6  # of dictionaries in one another
MAX_NODES = 400_000
OLD_TORCH = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # the number that torch.save began with
RUNS_CODE = "a pickle: opening it with an ordinary loader may run code"
# What torch.save puts beside the numbers. TorchScript's constants.pkl and code/ are not among it.
MEMBER = re.compile(
    r"(data\.pkl|data/\d{1,20}|version|byteorder|\.format_version|\.storage_alignment"
    r"|\.data/serialization_id)"
)


def look_torch_zip(path: Path, strict: bool = False) -> Contents:
    """A zip archive of torch.save; what else lies in it, as TorchScript's code, is named."""
    contents = Contents("torch.save archive", path, strict)
    contents.find("unsafe", RUNS_CODE, stops=False)
    with open_archive(path, contents) as archive:
        if archive is None:
            return contents
        root = f"{archive.root}/"
        for name in archive.members:
            if not name.startswith(root) or not MEMBER.fullmatch(name.removeprefix(root)):
                contents.find(
                    "unsafe",
                    f"{shown(name)} is nothing that a file of tensors holds; regard reads no "
                    "TorchScript and no other archive",
                )
        order = f"{root}byteorder"
        if archive.size(order) is not None and archive.read(order, 16) != b"little":
            contents.find("broken", "the numbers are not in little-endian order")
        data = archive.read(f"{root}data.pkl", MAX_PICKLE)
        if data is not None:
            _Outlines(contents, archive).take("", follow(io.BytesIO(data), contents))
    return contents


def look_pickle(path: Path, strict: bool = False) -> Contents:
    """A bare pickle; torch.save wrote four in a row (magic, version, system, weights) until 1.6."""
    contents = Contents("pickle", path, strict)
    contents.find("unsafe", RUNS_CODE)
    with opened(path) as file:
        data = io.BytesIO(file.read(MAX_PICKLE))
    if data.getvalue().startswith(OLD_TORCH):
        contents.kind = "torch.save file of before 1.6"
        for _ in range(3):
            follow(data, contents)
    _Outlines(contents, None).take("", follow(data, contents))
    return contents


@dataclass
class _Outlines:
    """Takes the tensors out of what a pickle would make."""

    contents: Contents
    archive: Archive | None

    def __post_init__(self) -> None:
        self._used: Counter[str] = Counter()  # key of a storage → numbers that tensors show of it
        self._nodes = MAX_NODES

    def take(self, name: str, value: Any, depth: int = 0) -> None:
        """A tensor, or a dictionary of them; of anything else it is said that it is there."""
        self._nodes -= 1
        if self._nodes < 0 or depth > MAX_DEPTH:
            return
        value = _without_parameter(value)
        pairs = _dictionary(value)
        if depth and _path(value).startswith("torch._utils._rebuild_tensor"):
            self._take_tensor(name, value.arguments)
        elif pairs is None or depth:
            kind = type(value).__name__.lower() if pairs is None else "a dictionary"
            under = f" under {shown(name)}" if name else ""
            self._find("note", f"holds {kind}{under}")
        seen: set[str] = set()
        for key, inner in pairs or _held_by(value):
            if not isinstance(key, str) or key in seen:
                self._find("note", f"has the key {shown(key)} twice or not as a text")
                continue
            seen.add(key)
            self.take(f"{name}.{key}" if name else key, inner, depth + 1)

    def _find(self, level: Any, what: str) -> None:
        self.contents.find(level, f"its pickle {what}; {ONLY}", stops=True)

    def _take_tensor(self, name: str, arguments: Any) -> None:
        """_rebuild_tensor_v2(storage, offset, shape, strides, gradient, hooks, …)."""
        where = f"tensor {shown(name)}:"
        many: list[Any] = [*arguments, None, None] if isinstance(arguments, tuple) else []
        storage, offset, shape, strides, _, *rest = many if len(many) >= 6 else [None] * 6
        if not all(_is_empty(part) for part in rest) or not isinstance(storage, Call):
            self._find("unsafe", "makes a tensor of something that is no storage")
            return
        place = storage.arguments if isinstance(storage.arguments, tuple) else ()
        kind, named, key, _, count = place[:5] if len(place) >= 5 else (None,) * 5
        dtype = STORAGES.get(named.path) if isinstance(named, NamedObject) else None
        if storage.what is not None or (kind, type(key), type(count)) != ("storage", str, int):
            self._find("unsafe", "refers to something outside that is no storage")
            return
        if not isinstance(shape, tuple) or not isinstance(strides, tuple):
            self._find("unsafe", "makes a tensor without a shape")
            return
        size = self.archive.size(f"{self.archive.root}/data/{key}") if self.archive else None
        if self.archive and (size is None or size != count * SIZES.get(str(dtype), -1)):
            have = f"the archive holds {size} bytes of it"
            self.contents.find("broken", f"{where} a storage of {count} numbers, {have}")
        if len(shape) != len(strides) or len(shape) > MAX_AXES:
            text = f"{where} {len(shape)} axes with {len(strides)} strides"
            self.contents.find("broken", text)
            return
        if not all(type(n) is int and 0 <= n <= max(1, count) for n in (offset, *shape, *strides)):
            text = f"{where} shape {str(shape)[:60]} does not fit its storage of {count} numbers"
            self.contents.find("unsafe", text)
            return
        total = math.prod(shape)
        last = offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
        if total > count or (total and last >= count):
            text = f"{where} shape {str(shape)[:60]} claims more numbers than the {count} of its"
            self.contents.find("unsafe", f"{text} storage")
        self._used[key] += total
        if self._used[key] > MOST_USES * count:
            text = f"storage {shown(key)} is used more than {MOST_USES} times over by its tensors"
            self.contents.find("unsafe", text)
        self.contents.hold(name, dtype or "?", shape)


def _path(value: Any) -> str:
    return (
        value.what.path if isinstance(value, Call) and isinstance(value.what, NamedObject) else ""
    )


def _without_parameter(value: Any) -> Any:
    """The tensor in a parameter that has no hooks."""
    if _path(value) == "torch._utils._rebuild_parameter" and isinstance(value.arguments, tuple):
        tensor, *_, hooks = value.arguments if len(value.arguments) == 3 else (None, value)
        return tensor if _is_empty(hooks) else value
    return value


def _dictionary(value: Any) -> list[tuple[Any, Any]] | None:
    """The pairs of a plain or an ordered dictionary."""
    if isinstance(value, ObjectPairs):
        return value.items
    ordered = _path(value) == "collections.OrderedDict" and value.arguments == ()
    return value.put.items if ordered else None


def _held_by(value: Any) -> list[tuple[str, Any]]:
    """What a call, a tuple or a list holds that may hold tensors."""
    if isinstance(value, Call):
        if value.what is None or _path(value).startswith("torch._utils._rebuild_tensor"):
            return []
        return [("arguments", value.arguments), *value.put.items]
    many = value[:1000] if isinstance(value, tuple | list) else ()
    return [(str(i), part) for i, part in enumerate(many) if isinstance(part, Call | ObjectPairs)]


def _is_empty(value: Any) -> bool:
    return value is None or value is False or value == () or _dictionary(value) == []
