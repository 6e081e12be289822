"""One thing that changes in a folder: bits, a name, a kind of file, a value of its JSON."""

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard.checkpoint.training_state import MANIFEST, OWN, _digest, _json
from regard.checksums import NAME, sealed, sha256
from regard.checksums import OWN as CHECKSUM

OUTSIDE = "outside"
VALUES: list[Any] = [
    None, True, -1, 0, 2**31, 2**63 - 1, 2**64, 1e308, 1e-320, "", "x", [], {}, [[]], {"a": 1},
    "../../outside", "/dev/zero", "\x1b[2J\x1b]0;title\x07", "\x9b31m", "a\nb", "\u202e", "\x00",
    "x" * 100_000, [0] * 1000, "\ud800",
]  # fmt: skip


@dataclass(frozen=True)
class Change:
    """What was done to which file; a sealed change has the right checksums everywhere."""

    name: str
    how: str
    can_be_sealed: bool = False
    is_sealed: bool = False

    def __str__(self) -> str:
        return f"{self.name} ({self.how}{', sealed' * self.is_sealed})"


def files_of(folder: Path) -> list[str]:
    """Every file below, and every folder."""
    return [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*"))]


def flip(folder: Path, name: str, chance: random.Random) -> Change | None:
    data = _data(folder / name)
    if not data:
        return None
    for _ in range(chance.choice((1, 1, 1, 8))):
        place = chance.randrange(min(len(data), chance.choice((64, 512, len(data)))))
        data[place] ^= 1 << chance.randrange(8)
    (folder / name).write_bytes(data)
    return Change(name, "bits flipped", True)


def cut(folder: Path, name: str, chance: random.Random) -> Change | None:
    data = _data(folder / name)
    if not data:
        return None
    end = chance.choice((0, 1, len(data) // 2, len(data) - 1, chance.randrange(len(data))))
    (folder / name).write_bytes(data[:end])
    return Change(name, f"cut at {end}", True)


def grow(folder: Path, name: str, chance: random.Random) -> Change | None:
    data = _data(folder / name)
    if data is None:
        return None
    more = chance.choice((b"\0" * 9, b"\xff\xfe", b"{}", b"\n", os.urandom(64)))
    (folder / name).write_bytes(data + more)
    return Change(name, f"{more[:2]!r} added", True)


def delete(folder: Path, name: str, chance: random.Random) -> Change:
    _remove(folder / name)
    return Change(name, "deleted")


def swap(folder: Path, name: str, chance: random.Random) -> Change | None:
    other = chance.choice(files_of(folder))
    one, two = folder / name, folder / other
    if not one.is_file() or not two.is_file() or one == two:
        return None
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    return Change(name, f"swapped with {other}") if first != second else None


def pipe(folder: Path, name: str, chance: random.Random) -> Change:
    _remove(folder / name)
    os.mkfifo(folder / name)
    return Change(name, "a named pipe")


def directory(folder: Path, name: str, chance: random.Random) -> Change | None:
    if (folder / name).is_dir():
        _remove(folder / name)
        (folder / name).write_bytes(b"a file")
        return Change(name, "a file")
    _remove(folder / name)
    (folder / name).mkdir()
    return Change(name, "a folder")


def link(folder: Path, name: str, chance: random.Random) -> Change:
    # Whatever a command does through a link, it does it in a folder of the fuzzer's own.
    beside = [str(folder.parent.parent / OUTSIDE / place) for place in ("file", "nothing", "tree")]
    target = chance.choice(("/dev/zero", "/dev/full", "/dev/null", Path(name).name, *beside))
    _remove(folder / name)
    (folder / name).symlink_to(target)
    return Change(name, f"a link to {Path(target).name}")


def unreadable_json(folder: Path, name: str, chance: random.Random) -> Change | None:
    if Path(name).suffix not in (".json", ".jsonl", ".txt", ".md") or (folder / name).is_dir():
        return None
    texts = {
        "100,000 brackets": b"[" * 100_000,
        "100,000 objects": b'{"a":' * 100_000,
        "a million lists": b"[" + b"[]," * 10**6 + b"[]]",
        "a long number": b'{"step": ' + b"9" * 5000 + b"}",
        "a long text": b'{"a": "' + b"x" * (1 << 24) + b'"}',
        "no UTF-8": b'{"a": "\xff\xfe"}',
        "NaN": b'{"a": NaN}',
        "a name twice": b'{"a": 1, "a": 2}',
        "a list": b"[1, 2]",
        "a text": b'"text"',
        "nothing": b"",
        "an object": b"{}",
        "two": b"{} {}",
    }
    how = chance.choice([*texts])
    (folder / name).write_bytes(texts[how])
    return Change(name, how, True)


def json_value(folder: Path, name: str, chance: random.Random) -> Change | None:
    """Another value, one more or one less, anywhere in a JSON file or in a line of one."""
    path = folder / name
    if path.suffix not in (".json", ".jsonl") or not path.is_file():
        return None
    lines = path.read_text("utf-8").splitlines()
    if path.suffix == ".json":
        lines = ["".join(lines)]
    number = chance.randrange(len(lines))
    value = json.loads(lines[number])
    places = list(_places(value))
    if not places:
        return None
    owner, key = chance.choice(places)
    kind = chance.choice(("changed", "changed", "changed", "deleted", "added"))
    new = chance.choice(VALUES)
    if kind == "deleted":
        del owner[key]
    elif kind == "added":
        if isinstance(owner, dict):
            owner["added"] = new
        else:
            owner.append(new)
    else:
        owner[key] = new
    lines[number] = json.dumps(value)
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return Change(name, f"{key!r} {kind}: {str(new)[:20]!r}", True)


def long_number(folder: Path, name: str, chance: random.Random) -> Change | None:
    """5,000 digits where a number stands."""
    path = folder / name
    if path.suffix not in (".json", ".jsonl") or not path.is_file():
        return None
    parts = path.read_text("utf-8").split(": ")
    places = [i for i, part in enumerate(parts) if part[:1].isdigit()]
    if not places:
        return None
    place = chance.choice(places)
    parts[place] = "9" * chance.choice((30, 400, 5000)) + parts[place].lstrip("0123456789.e-")
    path.write_text(": ".join(parts), "utf-8")
    return Change(name, "a long number")


MUTATIONS: tuple[Callable[[Path, str, random.Random], Change | None], ...] = (
    flip, cut, grow, delete, swap, pipe, directory, link, unreadable_json, json_value, json_value,
    json_value, json_value, long_number,
)  # fmt: skip


def seal_again(folder: Path, change: Change) -> Change:
    """State the checksums that the files have now, wherever they are stated."""
    path = folder / change.name
    _seal_own(path)
    for sums in sorted(folder.rglob("*.json"), key=lambda file: -len(file.parts)):
        stated = _object(sums)
        if stated is None or sums == path:
            continue
        if sums.name == NAME:
            for name in stated.get("sha256", {}):
                if (sums.parent / name).is_file():
                    stated["sha256"][name] = sha256(sums.parent / name)
            sums.write_text(json.dumps(sealed(stated)), "utf-8")
        elif sums.name == MANIFEST and OWN in stated:  # of a checkpoint
            for name in stated["sha256"]:
                if (sums.parent / name).is_file():
                    stated["sha256"][name] = sha256(sums.parent / name)
            plain = {key: value for key, value in stated.items() if key != OWN}
            sums.write_bytes(_json({**plain, OWN: _digest(plain)}))
        elif sums.name == MANIFEST:  # of an index
            for name in stated["files"]:
                file = sums.parent / stated["generation"] / name
                if file.is_file():
                    stated["files"][name] = [file.stat().st_size, sha256(file)]
            sums.write_text(json.dumps(sealed(stated)), "utf-8")
        elif sums.name == "model.json" and (folder / "model.safetensors").is_file():
            stated["sha256"] = sha256(folder / "model.safetensors")
            sums.write_text(json.dumps(sealed(stated)), "utf-8")
        elif sums.name == "run.json" and change.name == "log.jsonl":
            from regard.runs.log import log_checksum

            stated["log_sha256"] = log_checksum(path)
            sums.write_text(json.dumps(sealed(stated)), "utf-8")
    return replace(change, is_sealed=True)


def _seal_own(path: Path) -> None:
    values = _object(path)
    if values is None:
        return
    if OWN in values and path.name == MANIFEST:
        plain = {key: value for key, value in values.items() if key != OWN}
        path.write_bytes(_json({**plain, OWN: _digest(plain)}))
    elif CHECKSUM in values:
        path.write_text(json.dumps(sealed(values)), "utf-8")


def _object(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_text("utf-8")) if path.is_file() else None
    except (ValueError, RecursionError, OSError):
        return None
    return value if isinstance(value, dict) else None


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, inner in list(items):
        yield value, key
        yield from _places(inner)


def _data(path: Path) -> bytearray | None:
    return bytearray(path.read_bytes()) if path.is_file() else None


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
