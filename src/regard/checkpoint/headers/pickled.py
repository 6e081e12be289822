"""Files that torch.save wrote (.pt, .bin, .pth): a pickle, usually inside a zip archive.

Unpickling may run any code. Here the pickle is only read as a list of steps (opcodes.py).
"""

import io
import zipfile
from pathlib import Path
from typing import Any

from regard.checkpoint.headers.archive import open_archive
from regard.checkpoint.headers.held import MAX_HEADER, Contents, shown
from regard.checkpoint.headers.opcodes import Call, Named, Pairs, follow

# What a plain file of weights asks to import; everything else is named as unsafe.
PLAIN = {
    "collections.OrderedDict",
    "torch._utils._rebuild_tensor",
    "torch._utils._rebuild_tensor_v2",
    "torch._utils._rebuild_parameter",
    "torch.Size",
    "torch.storage.UntypedStorage",
    "torch.storage._load_from_bytes",
}
STORAGES = {
    "DoubleStorage": "F64", "FloatStorage": "F32", "HalfStorage": "F16", "BFloat16Storage": "BF16",
    "LongStorage": "I64", "IntStorage": "I32", "ShortStorage": "I16", "CharStorage": "I8",
    "ByteStorage": "U8", "BoolStorage": "BOOL", "UntypedStorage": "bytes",
}  # fmt: skip
OLD_TORCH = 0x1950A86A20F9469CFC6C  # the number that torch.save began with
MAX_DEPTH = 6
MAX_NODES = 400_000


def look_torch_zip(path: Path) -> Contents:
    """A zip archive of torch.save; TorchScript is named, for it holds code."""
    found = Contents("torch.save archive")
    found.find("unsafe", "a pickle: opening it with an ordinary loader may run code")
    archive = open_archive(path, found)
    if archive is None:
        return found
    with archive:
        names = archive.namelist()
        if any("/code/" in f"/{name}" or name.endswith("constants.pkl") for name in names):
            found.find("unsafe", "TorchScript: the archive holds a program beside the weights")
        if sum(member.file_size for member in archive.infolist()) > path.stat().st_size:
            found.find("unsafe", "its members claim to be larger than the whole file")
        pickles = [name for name in names if name.split("/")[-1] == "data.pkl"]
        if len(pickles) != 1:
            found.find("broken", f"{len(pickles)} members named data.pkl, expected one")
        for name in pickles[:1]:
            try:
                with archive.open(name) as member:
                    data = member.read(MAX_HEADER + 1)
            except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError):
                found.find("broken", "data.pkl cannot be read from the archive")
                return found
            if len(data) > MAX_HEADER:
                found.find("unsafe", f"its pickle is larger than {MAX_HEADER:,} bytes")
                return found
            _take(found, io.BytesIO(data))
    return found


def look_pickle(path: Path) -> Contents:
    """A bare pickle; torch.save wrote four in a row (magic, version, system, weights) until 1.6."""
    found = Contents("pickle")
    found.find("unsafe", "a pickle: opening it with an ordinary loader may run code")
    with path.open("rb") as file:
        data = io.BytesIO(file.read(MAX_HEADER))
    first = follow(data)
    if isinstance(first.value, int) and first.value == OLD_TORCH:
        found.kind = "torch.save file of before 1.6"
        follow(data)
        follow(data)
        _take(found, data)
    else:
        data.seek(0)
        _take(found, data)
    return found


def _take(found: Contents, data: io.BytesIO) -> None:
    """The names that the pickle would import, and the tensors that it would make."""
    followed = follow(data)
    if followed.problem:
        found.find("broken", f"its pickle cannot be followed: {followed.problem}")
    foreign = [named.path for named in followed.named if not _is_plain(named)]
    for path in sorted(foreign)[:20]:
        found.find("unsafe", f"its pickle asks to import {shown(path)}")
    if len(foreign) > 20:
        found.find("unsafe", f"its pickle asks to import {len(foreign) - 20} more names")
    _tensors(found, "", followed.value, 0, [MAX_NODES])


def _is_plain(named: Named) -> bool:
    return named.path in PLAIN or (named.module == "torch" and named.name in STORAGES)


def _tensors(found: Contents, name: str, value: Any, depth: int, nodes: list[int]) -> None:
    """Walk through dictionaries to the tensors in them; `nodes` counts down."""
    nodes[0] -= 1
    if nodes[0] < 0 or depth > MAX_DEPTH:
        return
    if isinstance(value, Call):
        path = value.what.path if isinstance(value.what, Named) else ""
        arguments = value.arguments
        if path.startswith("torch._utils._rebuild_tensor") and isinstance(arguments, tuple):
            _tensor(found, name, arguments)
        else:  # a parameter around a tensor, an ordered dictionary
            _tensors(found, name, arguments, depth + 1, nodes)
            _tensors(found, name, value.put, depth + 1, nodes)
    elif isinstance(value, Pairs):
        for key, item in value.items:
            if isinstance(item, Call | Pairs):
                last = key[:200] if isinstance(key, str) else "?"
                inner = f"{name}.{last}" if name else last
                _tensors(found, inner[:400], item, depth + 1, nodes)
    elif isinstance(value, tuple | list):
        for item in value[:1000]:
            if isinstance(item, Call | Pairs):
                _tensors(found, name, item, depth + 1, nodes)


def _tensor(found: Contents, name: str, arguments: tuple[Any, ...]) -> None:
    """_rebuild_tensor_v2(storage, offset, size, stride, …): what the storage and size say."""
    storage = arguments[0].arguments if arguments and isinstance(arguments[0], Call) else ()
    kinds = [part.name for part in storage if isinstance(part, Named)] if storage else []
    dtype = STORAGES.get(kinds[0], shown(kinds[0])) if kinds else "?"
    shape = arguments[2] if len(arguments) > 2 else None
    if not isinstance(shape, tuple) or not all(type(n) is int and 0 <= n < 2**63 for n in shape):
        found.find("broken", f"{shown(name)!r} has no proper shape")
        return
    if not found.hold(name, dtype, shape):
        return
    most = storage[4] if isinstance(storage, tuple) and len(storage) > 4 else None
    if type(most) is int and found.tensors[-1].count > most:
        found.find(
            "unsafe",
            f"{shown(name)!r} claims {found.tensors[-1].count:,} numbers and stores {most:,}",
        )
