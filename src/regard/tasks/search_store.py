"""An index on disk: generations, of which a small manifest names the one that holds.

    INDEX/manifest.json          which generation; the model and its fingerprint; a checksum and the
                                 size of each file; last its own checksum
    INDEX/generation-000002/     vectors.npy codes.faiss words/ passages.npy texts.txt files.json
    INDEX/pending/               vectors of an update that was not finished, to go on from

An update writes a whole new generation beside the old one, makes it safe (fsync), and replaces the
manifest by a rename. Killed at any moment before, the old index answers; after, the new one. Only
then is the old generation removed. A process that has it open keeps its files; one that is just
opening it starts again with the new manifest.
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from regard import atomic, lock
from regard.careful import read_json
from regard.checksums import is_whole, sealed, sha256, states_its_own, unsealed
from regard.errors import CheckpointError, DamageError, MisuseError

FORMAT = "regard index 1"
MANIFEST = "manifest.json"
PENDING = "pending"
GENERATION = "generation-"
MAX_MANIFEST = 1 << 20
TRIES = 5


@dataclass(frozen=True)
class Manifest:
    """What an index says of itself."""

    format: str
    generation: str
    folder: str  # whose files these are
    model: str  # a folder or a name of the hub
    fingerprint: str  # of the model's weights, words and pooling
    width: int  # numbers of a vector
    tokens: int  # at most, of a passage
    suffixes: list[str]
    passages: int
    files: dict[str, list[Any]]  # name below the generation → size, SHA-256


def write_manifest(index: Path, manifest: Manifest) -> None:
    """Switch to a generation: the one moment in which an index changes."""
    text = json.dumps(sealed(asdict(manifest)), indent=1) + "\n"
    atomic.write_text(index / MANIFEST, text)


def read_manifest(index: Path) -> Manifest:
    """The manifest of an index, or an error that says what is there instead."""
    path = index / MANIFEST
    if not path.is_file():
        if not index.exists():
            raise MisuseError(f"{index}: no such index; make it with `regard index FOLDER`")
        what = "empty" if index.is_dir() and not any(index.iterdir()) else f"without {MANIFEST}"
        what = what if index.is_dir() else "a file"
        raise MisuseError(
            f"{index}: {what}, expected an index; make one with `regard index FOLDER`"
        )
    values = read_json(path, MAX_MANIFEST)
    if values.get("format") != FORMAT and str(values.get("format")).startswith("regard index"):
        raise CheckpointError(
            f"{path}: got {values['format']!r}, expected {FORMAT!r}; "
            "it was made by another version of regard: make it again with --rebuild"
        )
    plain = unsealed(values, path) if states_its_own(values) else {}
    if set(plain) != {field.name for field in fields(Manifest)}:
        raise damaged(path)
    return Manifest(**plain)


def damaged(path: Path) -> DamageError:
    """The error of a file that is not as it was written."""
    return DamageError(
        f"{path}: damaged, it differs from its checksum; copy the index again, or make it anew "
        "with `regard index … --rebuild`"
    )


def open_generation(index: Path, check: bool = True) -> tuple[Manifest, Path]:
    """The manifest and the folder of its generation, every file of it looked at.

    Of a large one it is remembered for a day that it was whole (checksums.py). `check=False`
    compares sizes only, which takes no time whatever the size of the index.
    """
    manifest = read_manifest(index)
    for _ in range(TRIES):
        folder = index / manifest.generation
        try:
            _check(folder, manifest, check)
        except (CheckpointError, OSError):
            newer = read_manifest(index)
            if newer == manifest:
                raise
            manifest = newer  # an update ended while we were reading
            continue
        return manifest, folder
    raise CheckpointError(f"{index}: changes all the time; wait until `regard index` has ended")


def _check(folder: Path, manifest: Manifest, check: bool) -> None:
    if set(manifest.files) != set(_names(folder)):
        raise CheckpointError(
            f"{folder}: damaged, its files are not those that the manifest names; copy the index "
            "again, or make it anew with `regard index … --rebuild`"
        )
    for name, (size, digest) in manifest.files.items():
        path = folder / name
        if path.stat().st_size != size or (check and not is_whole(path, digest)):
            raise damaged(path)


def _names(folder: Path) -> list[str]:
    paths = sorted(folder.rglob("*"))
    return [path.relative_to(folder).as_posix() for path in paths if path.is_file()]


def describe(folder: Path) -> dict[str, list[Any]]:
    """Size and checksum of each file of a generation."""
    return {
        name: [(folder / name).stat().st_size, sha256(folder / name)] for name in _names(folder)
    }


@contextmanager
def writing(index: Path) -> Iterator[None]:
    """Be the only one who changes an index, in a folder that is one or becomes one."""
    _insist_on_index(index)
    is_new = not index.exists()
    index.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            stack.enter_context(lock.held(index / ".lock"))
        except lock.Taken:
            raise MisuseError(f"{index}: another process is writing this index") from None
        atomic.sweep(index)
        try:
            yield
        except BaseException:
            if is_new and {path.name for path in index.iterdir()} == {".lock"}:
                # Nothing came of it. Windows keeps the lock's file, which is open.
                shutil.rmtree(index, ignore_errors=True)
            raise


def _insist_on_index(index: Path) -> None:
    """Refuse to write among files that are no index."""
    if index.exists() and not index.is_dir():
        raise MisuseError(f"{index}: is a file, expected the folder of an index, or a new one")
    ours = (MANIFEST, PENDING, ".lock", GENERATION, atomic.PREFIX)
    strange = [p.name for p in index.glob("*") if not p.name.startswith(ours)]
    if strange:
        raise MisuseError(
            f"{index}: holds {sorted(strange)[0]}, which is no part of an index; "
            "choose an empty or a new folder with --output"
        )


def next_generation(index: Path) -> str:
    """A name that none has had."""
    numbers = [path.name.removeprefix(GENERATION) for path in index.glob(f"{GENERATION}*")]
    return f"{GENERATION}{max((int(n) for n in numbers if n.isdigit()), default=0) + 1:06d}"


def remove_old(index: Path, current: str) -> None:
    """Remove what the manifest does not name, and what an unfinished update kept."""
    for path in index.glob(f"{GENERATION}*"):
        if path.name != current:
            with suppress(PermissionError):  # Windows: a reader has it open; the next update tries
                atomic.remove_folder(path)
    shutil.rmtree(index / PENDING, ignore_errors=True)
