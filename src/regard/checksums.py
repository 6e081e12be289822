"""Checksums: whether a file is what regard wrote, to the last bit.

    {…, "checksum": "…"}   an object that is written again and again states its own, so that no
                           crash can come between the two
    checksums.json         states those of the other files of a folder, and its own:
                           {"format": 1, "sha256": {"tokenizer.json": "…", …}, "checksum": "…"}

A folder that has a checksums.json has all of them: an object of which neither it nor the object
itself states one is damaged. A folder that has none was made by an earlier version, or a stranger.

A file is read whole whenever it is checked, up to LARGE. Of a larger one it is remembered for a
day, in the user's own cache folder, that it was whole while it had this place, size and these
times. What that cannot see is a disk that decays below the file system (docs/decisions/0011).
"""

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from regard import atomic
from regard.errors import CheckpointError, DamageError, shown
from regard.places import cache_folder
from regard.untrusted import file_size, opened, read_json

NAME = "checksums.json"
OWN = "checksum"
FORMAT = 1
MAX_BYTES = 4 * 1024 * 1024
LARGE = 64 * 1024 * 1024  # bytes: 50 ms with a processor that has instructions for SHA-256
HOLDS = 24 * 3600  # seconds that a check of a large file is remembered
SETTLED = 2 * 10**9  # nanoseconds: a clock may give two changes within them the same time
REMEMBERED = "checked"  # in the cache folder
COPY = "copy it again from where it is whole"


def sha256(path: Path) -> str:
    """The checksum of a file."""
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sealed(values: Mapping[str, Any]) -> dict[str, Any]:
    """An object for a JSON file, with the checksum of its values."""
    plain = {key: value for key, value in values.items() if key != OWN}
    return {**plain, OWN: _sum(plain)}


def states_its_own(values: Mapping[str, Any]) -> bool | None:
    """Whether an object has the checksum that it states; None where it states none."""
    if OWN not in values:
        return None
    return bool(values[OWN] == _sum({key: value for key, value in values.items() if key != OWN}))


def unsealed(values: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """What `sealed` was given, if it is whole; an object of an earlier version states nothing."""
    holds = states_its_own(values)
    if holds is None:
        stated = read_checksums(path.parent)
        holds = stated is None or path.name in stated
    if not holds:
        beside = f", and {path.parent / NAME}" if (path.parent / NAME).exists() else ""
        problem = "differs from its checksum: it was damaged or changed"
        advice = f'{COPY}; if you changed it on purpose, delete its line "{OWN}"{beside}'
        raise DamageError(path, problem, advice=advice)
    return {key: value for key, value in values.items() if key != OWN}


def _sum(values: Mapping[str, Any]) -> str:
    """Of the values, not of how they are written: line ends may change on the way."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def add_checksums(folder: Path, names: Iterable[str]) -> None:
    """State the checksums of these files of a folder, beside those that it states already."""
    stated = read_checksums(folder) or {}
    write_checksums(folder, stated | {name: sha256(folder / name) for name in names})


def write_checksums(folder: Path, sums: Mapping[str, str]) -> None:
    """State these and no others."""
    values = {"format": FORMAT, "sha256": dict(sorted(sums.items()))}
    atomic.write_json(folder / NAME, sealed(values))


def read_checksums(folder: Path) -> dict[str, str] | None:
    """Name → SHA-256 of what a folder states; None where it states nothing."""
    path = folder / NAME
    if not path.exists() and not path.is_symlink():  # a link to nowhere is not passed over
        return None
    try:
        values = read_json(path, MAX_BYTES)
    except CheckpointError as error:
        if os.access(path, os.R_OK):
            raise DamageError(f"{error}; it was damaged: {COPY}, or delete it") from None
        raise
    sums = values.get("sha256")
    if not states_its_own(values) or not isinstance(sums, dict):
        problem = "differs from its own checksum: it was damaged or changed"
        raise DamageError(path, problem, advice=f"{COPY}, or delete it to go on without checksums")
    if values.get("format") != FORMAT:
        raise CheckpointError(
            path, f"of format {shown(values.get('format'))}", expected=f"{FORMAT}"
        )
    return {str(name): str(digest) for name, digest in sums.items()}


def check(folder: Path, names: Iterable[str] | None = None) -> None:
    """Compare files of a folder, all that it states or these, with their checksums.

    One that the folder does not state is passed by.
    """
    stated = read_checksums(folder)
    if stated is None:
        return
    for name in stated if names is None else names:
        if name in stated:
            _check_one(folder, name, stated[name])


def _check_one(folder: Path, name: str, digest: str) -> None:
    path, parts = folder / name, PurePosixPath(name).parts
    if not parts or set(parts) & {"..", "/"} or set(name) & set("\\:"):
        raise CheckpointError(folder / NAME, f"{shown(name)} is not a file of this folder")
    if not path.exists():
        raise DamageError(path, f"is missing, though {NAME} states its checksum", advice=COPY)
    if not is_whole(path, digest):
        problem = "differs from its checksum: it was damaged or changed"
        advice = f"{COPY}; if you changed it on purpose, delete {folder / NAME}"
        raise DamageError(path, problem, advice=advice)


def is_whole(path: Path, digest: str) -> bool:
    """Whether a file has this SHA-256; of a large one, whether it had it today."""
    if file_size(path) <= LARGE:
        return _digest(path) == digest
    place = _place(path)
    if _recalled(place, _identity(path), digest):
        return True
    before = _identity(path)
    if _digest(path) != digest:
        return False
    newest = max(before["modified"], before["changed"])
    if _identity(path) == before and time.time_ns() - newest > SETTLED:
        _remember(place, {**before, "sha256": digest, "checked": time.time()})
    return True


def _digest(path: Path) -> str:
    try:
        return sha256(path)
    except OSError as error:
        raise CheckpointError(path, f"cannot be read: {error.strerror}") from None


def _identity(path: Path) -> dict[str, Any]:
    """What changes when a file does. The second time cannot be set by hand as the first can."""
    status = path.stat()
    return {
        "path": str(path.resolve()),
        "device": status.st_dev,
        "inode": status.st_ino,
        "size": status.st_size,
        "modified": status.st_mtime_ns,
        "changed": status.st_ctime_ns,
    }


def _place(path: Path) -> Path:
    name = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:32]
    return cache_folder() / REMEMBERED / f"{name}.json"


def _recalled(place: Path, identity: Mapping[str, Any], digest: str) -> bool:
    values = _memory(place)
    when = values.pop("checked", None)
    recent = isinstance(when, float) and 0 <= time.time() - when < HOLDS
    return recent and values == {**identity, "sha256": digest}


def _memory(place: Path) -> dict[str, Any]:
    with suppress(CheckpointError, OSError):
        if place.is_file():
            values = read_json(place, MAX_BYTES)
            if states_its_own(values):
                return unsealed(values, place)
    return {}


def _remember(place: Path, values: Mapping[str, Any]) -> None:
    """Where nothing can be written, the next command reads the file again."""
    with suppress(OSError):
        atomic.write_json(place, sealed(values))


def note_once(folder: Path, sentence: str) -> None:
    """Say that a folder was made without checksums; once, not with every command."""
    place = _place(folder / NAME)
    if _memory(place).get("noted") is not True:
        _remember(place, {"path": str(folder.resolve()), "noted": True})
        print(f"Note: {sentence}", file=sys.stderr)
