"""A data set, whole and checked, into the cache: from its public address, or from a folder.

A file gets its name only after its checksum is right, so half of one is never taken for all of it.
"""

import gzip
import hashlib
from pathlib import Path
from urllib.parse import urlsplit

from regard import atomic
from regard.datasets.fetch import PAUSE, TIMEOUT, fetch, forget
from regard.datasets.find import cached_data, find
from regard.datasets.make import content, unpacked
from regard.datasets.table import DataFile, DataSet
from regard.draw.terminal.progress import WorkProgress, progress_bar
from regard.errors import DataError, MisuseError
from regard.printable import Say


def obtain(
    dataset: DataSet,
    say: Say,
    *,
    origin: Path | None = None,
    mirror: str = "",
    timeout: float = TIMEOUT,
    pause: float = PAUSE,
) -> Path:
    """The folder of the set, every file in it checked; what is not here yet is fetched.

    `origin` is a folder to take the files from; `mirror` an address to ask in place of the public
    ones, of which host and path follow it.
    """
    if dataset.is_made:
        raise MisuseError(dataset.name, "part of the package, there is nothing to fetch")
    if origin is not None:
        return _from_folder(dataset, origin, say)
    folder = cached_data() / dataset.folder
    here = find(dataset)
    if here is not None and here != folder:  # not ours: what is wrong is said, not repaired
        for file in dataset.files:
            _insist(file, _read(here / file.name), str(here / file.name))
        return here
    _remove_damaged(dataset, folder, say)
    if find(dataset) is None and not dataset.base:
        raise MisuseError(dataset.name, f"no public address to fetch it from: {dataset.note}")
    for address in dict.fromkeys(dataset.address(file) for file in dataset.files):
        files = [file for file in dataset.files if dataset.address(file) == address]
        # An earlier call that was cut off may have placed some.
        if not all((folder / file.name).is_file() for file in files):
            _fetched(dataset, files, _on(mirror, address), folder, timeout, pause)
            for file in files:
                say(f"  {file.name}: {_size_and_check(folder / file.name, file)}")
    return folder


def _remove_damaged(dataset: DataSet, folder: Path, say: Say) -> None:
    """What is in the cache and is not as the table says is fetched again."""
    for file in dataset.files:
        path = folder / file.name
        try:
            if path.is_file():
                _insist(file, _read(path), str(path))
        except DataError:
            say(f"  {file.name}: damaged, removed")
            path.unlink()


def _read(path: Path) -> bytes:
    return unpacked(path, is_packed=path.suffix == ".gz")


def _fetched(
    dataset: DataSet,
    files: list[DataFile],
    address: str,
    folder: Path,
    timeout: float,
    pause: float,
) -> None:
    """The files that are made of what lies at one address."""
    name = urlsplit(address).path.rpartition("/")[2]
    key = hashlib.sha256(address.encode("utf-8")).hexdigest()[:12]  # two sets may have one name
    part = cached_data() / ".partial" / f"{key}-{name}"
    with progress_bar(f"{dataset.name}: {name}", None) as bar:
        fetch(address, part, _Bytes(bar), timeout=timeout, pause=pause)
    try:
        contents = [(file, content(dataset, file, part)) for file in files]
        for file, data in contents:
            _insist(file, data, address)
    except DataError:
        forget(part)  # a wrong beginning is nothing to go on from
        raise
    for file, data in contents:
        _place(folder / file.name, data)
    forget(part)


class _Bytes:
    """Tells a progress bar, which counts up, how many bytes are here."""

    def __init__(self, bar: WorkProgress) -> None:
        self._bar, self._told = bar, 0

    def __call__(self, have: int, total: int | None) -> None:
        if total is not None:
            self._bar.expect(total)
        self._bar.advance(have - self._told)
        self._told = have


def _from_folder(dataset: DataSet, origin: Path, say: Say) -> Path:
    """The files as they are, or what lies at their address, out of a folder of the reader's."""
    if not origin.is_dir():
        expected = f"one with the files of {dataset.name}"
        raise MisuseError(origin, "no such folder", expected=expected)
    places = {file: _lies_at(dataset, file, origin) for file in dataset.files}
    missing = [file.name for file, path in places.items() if path is None]
    if missing:
        raise DataError(
            f"{origin}: {', '.join(missing)} of {dataset.name} "
            f"{'is' if len(missing) == 1 else 'are'} not in it; expected "
            f"{', '.join(file.name for file in dataset.files)}"
        )
    contents = []
    for file, path in places.items():
        assert path is not None
        is_whole = path.name == file.name
        data = _read(path) if is_whole else content(dataset, file, path)
        _insist(file, data, str(path))
        contents.append((file, data))
    folder = cached_data() / dataset.folder
    for file, data in contents:
        _place(folder / file.name, data)
        say(f"  {file.name}: {_size_and_check(folder / file.name, file)}")
    return folder


def _lies_at(dataset: DataSet, file: DataFile, origin: Path) -> Path | None:
    """The file itself, or else its download, in the folder or in the set's own folder in it."""
    download = dataset.address(file).rpartition("/")[2]
    places = [
        folder / name
        for name in (file.name, download)
        for folder in (origin, origin / dataset.folder)
        if name
    ]
    return next((path for path in places if path.is_file()), None)


def _insist(file: DataFile, data: bytes, where: str) -> None:
    """The bytes must be those of the table; of a set that changes, there must be some."""
    if not data:
        raise DataError(where, f"{file.name} is empty", expected="a file of the set")
    digest = hashlib.sha256(data).hexdigest()
    if file.sha256 and digest != file.sha256:
        raise DataError(
            f"{where}: {file.name} holds {len(data):,} bytes with SHA-256 {digest[:16]}…, "
            f"expected {file.bytes:,} with {file.sha256[:16]}…: damaged, or "
            "another version. Take it from elsewhere, or from a folder with --from FOLDER"
        )


def _place(path: Path, data: bytes) -> None:
    packed = path.suffix == ".gz"
    atomic.write_bytes(path, gzip.compress(data, mtime=0) if packed else data)


def _size_and_check(path: Path, file: DataFile) -> str:
    checked = "checksum right" if file.sha256 else "no fixed checksum"
    return f"{path.stat().st_size:,} bytes, {checked}"


def _on(mirror: str, address: str) -> str:
    """The address on a mirror: its host becomes the first folder there."""
    if not mirror:
        return address
    parts = urlsplit(address)
    return f"{mirror.rstrip('/')}/{parts.netloc}{parts.path}"
