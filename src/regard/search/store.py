"""An index on disk: generations, of which a small manifest names the one that holds.

    INDEX/manifest.json          which generation; the model and its fingerprint; a checksum and the
                                 size of each file; what else regard wrote; last its own checksum
    INDEX/generation-000002/     vectors.npy codes.faiss words/ passages.npy texts.txt files.json
    INDEX/pending/               vectors of an update that was not finished, to go on from

An update writes a whole new generation beside the old one, makes it safe (fsync), and replaces the
manifest by a rename. Killed at any moment before, the old index answers; after, the new one. Only
then is the old generation removed. A process that has it open keeps its files; one that is just
opening it starts again with the new manifest.

A name is written down in the manifest before anything is written under it, and only names that are
written down are ever removed: a folder that is not empty and has no manifest is somebody else's,
and so is a name in an index that its manifest does not know.
"""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, get_origin

from regard import atomic, lock
from regard.atomic import is_left_of
from regard.checksums import is_whole, sealed, sha256, states_its_own, unsealed
from regard.errors import CheckpointError, DamageError, MisuseError, shown
from regard.untrusted import opened, read_json

KIND = "regard index"
FORMAT = f"{KIND} 1"
MANIFEST = "manifest.json"
MAKES_ONE = "`regard index FOLDER --output INDEX`"
PENDING = "pending"
GENERATION = "generation-"
LOCK = ".lock"
OURS = re.compile(rf"{GENERATION}[0-9]{{6,18}}|{PENDING}")  # what a manifest may name
MAX_MANIFEST = 1 << 20
TRIES = 5


@dataclass(frozen=True)
class Manifest:
    """What an index says of itself."""

    format: str
    generation: str  # "": the first one is not finished
    folder: str  # whose files these are
    model: str  # a folder or a name of the hub
    fingerprint: str  # of the model's weights, words and pooling
    width: int  # numbers of a vector
    tokens: int  # at most, of a passage
    suffixes: list[str]
    passages: int
    files: dict[str, list[Any]]  # name below the generation → size, SHA-256
    written: list[str]  # every name beside the manifest that is regard's, to be removed one day


def write_manifest(index: Path, manifest: Manifest) -> None:
    """Switch to a generation: the one moment in which an index changes."""
    text = json.dumps(sealed(asdict(manifest)), indent=1) + "\n"
    atomic.write_text(index / MANIFEST, text)


def read_manifest(index: Path) -> Manifest:
    """The manifest of an index, or an error that says what is there instead."""
    path = index / MANIFEST
    if not path.exists():
        if not index.exists():
            raise MisuseError(index, "no such index", advice=f"make it with {MAKES_ONE}")
        what = "empty" if index.is_dir() and not any(index.iterdir()) else f"without {MANIFEST}"
        what = what if index.is_dir() else "a file"
        raise MisuseError(index, what, expected="an index", advice=f"make one with {MAKES_ONE}")
    values = read_json(path, MAX_MANIFEST)
    if not str(values.get("format")).startswith(KIND):
        problem = f"not of an index, or damaged: got the format {shown(values.get('format'))}"
        advice = "choose another folder, or copy the index again"
        raise CheckpointError(path, problem, expected=repr(FORMAT), advice=advice)
    if values["format"] != FORMAT:
        advice = "it was made by another version of regard: make it again with --rebuild"
        raise CheckpointError(path, got=values["format"], expected=repr(FORMAT), advice=advice)
    plain = unsealed(values, path) if states_its_own(values) else {}
    # The first indexes did not write their names down: these are the ones that they had.
    plain.setdefault("written", [plain.get("generation"), PENDING])
    if not _is_whole(plain):
        raise damaged(path)
    return Manifest(**plain)


def _is_whole(values: dict[str, Any]) -> bool:
    """Whether every field is there, of its type, and names nothing outside of the index."""
    kinds: dict[str, Any] = {f.name: f.type for f in fields(Manifest)}
    if values.keys() != kinds.keys() or not all(
        isinstance(values[name], get_origin(kind) or kind) for name, kind in kinds.items()
    ):
        return False
    names = [*values["written"], *filter(None, [values["generation"]])]
    numbers = [values[name] for name in ("width", "tokens", "passages")]
    return (
        all(isinstance(name, str) and OURS.fullmatch(name) for name in names)
        and all(type(number) is int and number >= 0 for number in numbers)
        and all(_is_about(about) for about in values["files"].values())
        and all(isinstance(suffix, str) for suffix in values["suffixes"])
    )


def _is_about(value: Any) -> bool:
    return isinstance(value, list) and [type(part) for part in value] == [int, str]


def damaged(path: Path) -> DamageError:
    """The error of a file that is not as it was written."""
    advice = "copy the index again, or make it anew with `regard index … --rebuild`"
    return DamageError(path, "damaged, it differs from its checksum", advice=advice)


def open_generation(index: Path, check: bool = True) -> tuple[Manifest, Path]:
    """The manifest and the folder of its generation, every file of it looked at.

    Of a large one it is remembered for a day that it was whole (checksums.py). `check=False`
    compares sizes only, which takes no time whatever the size of the index.
    """
    manifest = read_manifest(index)
    if not manifest.generation:
        advice = f"go on with `regard index {manifest.folder} --output {index}`"
        raise MisuseError(index, "its first making was stopped", advice=advice)
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
    problem = "changes all the time"
    raise CheckpointError(index, problem, advice="wait until `regard index` has ended")


def _check(folder: Path, manifest: Manifest, check: bool) -> None:
    if folder.is_symlink() or set(manifest.files) != set(_names(folder)):
        problem = "damaged, its files are not those that the manifest names"
        advice = "copy the index again, or make it anew with `regard index … --rebuild`"
        raise CheckpointError(folder, problem, advice=advice)
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


@dataclass(frozen=True)
class StoredIndex:
    """What lies in the folder of an index."""

    manifest: Manifest | None  # None: there is none, or a damaged one that is to be made anew
    written: list[str]  # names that are regard's


@contextmanager
def writing(index: Path, rebuild: bool = False) -> Iterator[StoredIndex]:
    """Be the only one who changes an index, in a folder that is one or becomes one."""
    if index.exists() and not index.is_dir():
        raise MisuseError(index, "is a file", expected="the folder of an index, or a new one")
    _look(index, rebuild)  # before a lock is put there
    is_new = not index.exists()
    index.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            stack.enter_context(lock.held(index / LOCK))
        except lock.Taken:
            raise MisuseError(index, "another process is writing this index") from None
        stored = _look(index, rebuild)
        atomic.sweep(index, [MANIFEST, *stored.written])
        try:
            yield stored
        except BaseException:
            if is_new and {path.name for path in index.iterdir()} == {LOCK}:
                # Nothing came of it. Windows keeps the lock's file, which is open.
                shutil.rmtree(index, ignore_errors=True)
            raise


def _look(index: Path, rebuild: bool) -> StoredIndex:
    """What is there, if all of it is an index; else an error that names the first stranger."""
    stored = StoredIndex(None, [])
    if (index / MANIFEST).exists():
        try:
            manifest = read_manifest(index)
            stored = StoredIndex(manifest, manifest.written)
        except CheckpointError:
            if not rebuild or not (index / MANIFEST).is_file():
                raise
            # Of a damaged one, the names can still be read; of somebody else's manifest, none.
            with opened(index / MANIFEST) as file:
                content = file.read(MAX_MANIFEST).decode("utf-8", "replace")
            if KIND not in content:
                raise
            stored = StoredIndex(None, re.findall(f'"({OURS.pattern})"', content))
    ours = [MANIFEST, *stored.written]
    for path in sorted(index.glob("*")):
        if path.name not in (LOCK, *ours) and not is_left_of(path.name, ours):
            problem = f"holds {path.name}, which is no part of an index"
            advice = "choose an empty or a new folder with --output"
            raise MisuseError(index, problem, advice=advice)
    return stored


def next_generation(index: Path) -> str:
    """A name that none has had."""
    numbers = [path.name.removeprefix(GENERATION) for path in index.glob(f"{GENERATION}*")]
    return f"{GENERATION}{max((int(n) for n in numbers if n.isdigit()), default=0) + 1:06d}"


def write_down(index: Path, manifest: Manifest, *names: str) -> list[str]:
    """Name what will be written, so that a later update knows it for its own; all such names."""
    written = [*dict.fromkeys([*manifest.written, *names])]
    write_manifest(index, replace(manifest, written=written))
    return written


def remove_old(index: Path, manifest: Manifest) -> None:
    """Remove what the manifest names and does not need: old generations, what was kept meanwhile.

    What cannot be removed stays written down.
    """
    old = [name for name in manifest.written if name != manifest.generation]
    for name in old:
        if (index / name).is_dir():
            with suppress(PermissionError):  # Windows: a reader has it open; the next update tries
                atomic.remove_folder(index / name)
    if old:
        there = [path.name for path in index.iterdir()]
        stay = [n for n in manifest.written if any(p == n or is_left_of(p, [n]) for p in there)]
        write_manifest(index, replace(manifest, written=stay))
