"""Reading files that strangers wrote: at once, bounded, strict, and never out of their folder.

    member(folder, name)            the path of a file of a folder, or of nothing else
    opened(path)                    an ordinary file, open; a pipe or a device is an OSError
    read_small_file(path, limit)    its bytes, at most `limit` of them
    strict_json(data, where)        no key twice, no NaN, no number without end, no deep nesting,
                                    no half of a character
    read_json(path, limit)          the three together, for a file that holds an object

Whatever lies in a folder is opened by `opened`, for a pipe in place of a file would wait for ever,
and /dev/zero has no end. Each refusal is a CheckpointError that names the file. What a file says is
shown by `shown`: short, and without the control characters that would speak to a terminal.
"""

import errno
import json
import math
import os
import stat
from collections.abc import Collection, Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any

from regard.errors import CheckpointError, RegardError, shown

MAX_PARTS = 400_000  # commas and brackets of a JSON text: each may cost 150 bytes of memory
MAX_DEPTH = 32
ESCAPED_SURROGATE = rb"\ud"  # how JSON spells one; in UTF-8 itself none can stand
MAX_DIGITS = 19  # as many as a 64-bit number has
KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def member(folder: Path, name: object) -> Path:
    """The path of the file `name` of a folder; a name or a link that leads elsewhere is refused.

    One link may leave: the hub's cache keeps `snapshots/<revision>/<file>` as links into `blobs`.
    """
    if not isinstance(name, str) or not _is_plain(name):
        raise CheckpointError(folder, f"{shown(name)} is not a plain file name")
    path = folder / name
    try:
        home, target = folder.resolve(strict=True), path.resolve(strict=True)
    except (OSError, RuntimeError):  # RuntimeError: links in a circle
        raise CheckpointError(path, "no such file") from None
    if not target.is_relative_to(home) and target.parent not in _blobs(home):
        problem = f"a link that leads out of the folder, to {shown(str(target))}"
        raise CheckpointError(path, problem, advice="copy the file itself into the folder")
    return path


def _is_plain(name: str) -> bool:
    return (
        0 < len(name) <= 255
        and name not in (".", "..")
        and name.isprintable()
        and not set(name) & set("/\\:")
    )


def _blobs(home: Path) -> Iterator[Path]:
    """The folder of blobs that a snapshot of the hub's cache, or a folder in it, links into."""
    for inner in (home, *home.parents[:2]):
        if inner.parent.name == "snapshots":
            yield inner.parent.parent / "blobs"


def opened(path: Path, follow: bool = True) -> BufferedReader:
    """A file, open for reading; an OSError says why not, for example that it is a pipe.

    It is looked at before it is opened, which may itself do something to a device, and opened
    without waiting: what is there may change in between. `follow`: through a link.
    """
    _insist_on_file(os.stat(path, follow_symlinks=follow), path)
    file = open(path, "rb", opener=_at_once if follow else _at_once_here)  # noqa: SIM115
    try:
        _insist_on_file(os.fstat(file.fileno()), path)
    except BaseException:
        file.close()
        raise
    return file


def _insist_on_file(status: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = next((name for is_kind, name in KINDS if is_kind(status.st_mode)), "a link")
        raise OSError(errno.EINVAL, f"{kind}, not an ordinary file", str(path))


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | vars(os).get("O_NONBLOCK", 0))  # Windows has no such word


def _at_once_here(path: str, flags: int) -> int:
    return _at_once(path, flags | vars(os).get("O_NOFOLLOW", 0))


def file_size(path: Path) -> int:
    """The size of an ordinary file: a pipe or a device is refused, since it may have no end."""
    try:
        status = path.stat()
        _insist_on_file(status, path)
    except (OSError, ValueError) as error:
        raise CheckpointError(path, f"cannot be read: {_reason(error)}") from None
    return status.st_size


def read_small_file(path: Path, limit: int, refusal: type[RegardError] = CheckpointError) -> bytes:
    """The content of a file that has no reason to be larger than `limit` bytes."""
    try:
        with opened(path) as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(size + 1) if size <= limit else b""
    except (OSError, ValueError) as error:  # ValueError: a NUL in its name
        raise refusal(path, f"cannot be read: {_reason(error)}") from None
    if size > limit:
        raise refusal(path, f"{size} bytes", expected=f"at most {limit} for a file of this kind")
    if len(data) > limit:
        raise refusal(path, f"grew beyond {limit} bytes while it was read")
    return data


def read_json(
    path: Path,
    limit: int,
    parts: int = MAX_PARTS,
    constants: bool = False,
    surrogates: bool = False,
) -> dict[str, Any]:
    """The object that a small JSON file holds."""
    value = strict_json(read_small_file(path, limit), str(path), parts, constants, surrogates)
    if not isinstance(value, dict):
        raise CheckpointError(path, got=type(value), expected="a JSON object")
    return value


def strict_json(
    data: bytes,
    where: str,
    parts: int = MAX_PARTS,
    constants: bool = False,
    surrogates: bool = False,
    refusal: type[RegardError] = CheckpointError,
) -> Any:
    """The value of a JSON text, which may not hold what only an attack or an accident holds.

    `constants`: NaN and Infinity may stand in it, as Python writes them.
    `surrogates`: so may halves of characters, Python's way to spell a name that is no UTF-8.
    The parts are counted before anything is parsed: `[[],[],…` takes 20 times its own size.
    """
    count = sum(data.count(mark) for mark in (b",", b"[", b"{"))
    if count > parts:
        raise refusal(where, f"not valid JSON for regard: {count} parts, at most {parts}")
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_no_key_twice,
            parse_constant=float if constants else _no_constant,
            parse_int=_bounded_int,
            parse_float=_finite_float,
        )
        if not surrogates and ESCAPED_SURROGATE in data.lower():
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise refusal(where, "not valid JSON for regard: nested too deep") from None
    except UnicodeEncodeError:  # JSON can spell "\ud800", which is no text: no tokenizer takes it
        problem = "not valid JSON for regard: a lone surrogate, half of a character"
        raise refusal(where, problem) from None
    except ValueError as error:
        raise refusal(where, f"not valid JSON: {str(error)[:200]}") from None
    if _deeper_than(value, MAX_DEPTH):
        raise refusal(where, "not valid JSON for regard: nested too deep")
    return value


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a name stands in it twice")
    return result


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _bounded_int(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def _finite_float(text: str) -> float:
    value = float(text) if len(text) <= 64 else math.inf
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:40]} is out of range")
    return value


def _deeper_than(value: Any, limit: int) -> bool:
    """Whether lists and objects lie in one another more than `limit` times."""
    level: list[Any] = [value]
    for _ in range(limit + 1):
        level = [inner for outer in level for inner in _nested(outer)]
        if not level:
            return False
    return True


def _nested(value: Any) -> Collection[Any]:
    if isinstance(value, dict):
        return [inner for inner in value.values() if isinstance(inner, dict | list)]
    if isinstance(value, list):
        return [inner for inner in value if isinstance(inner, dict | list)]
    return ()


def _reason(error: Exception) -> str:
    return error.strerror or "unknown" if isinstance(error, OSError) else str(error)
