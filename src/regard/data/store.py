"""Examples on disk. In: rows of named values, one at a time. Out: a folder that training maps.

    folder/text.npy            of a column of ids: those of all rows, one after the other
           text_offsets.npy    row i is text[offsets[i] : offsets[i + 1]]
           score.npy           of a column of numbers: one a row
           store.json          the kind of each column, counts, the SHA-256 of each file and its own

The folder is written under another name and renamed when complete: it is there whole or not at all.
Neither writing nor reading holds the corpus in memory; only the lengths of all rows are held
(4 bytes for each column of ids), because batches are planned by length.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from regard import atomic
from regard.checksums import sealed, sha256, states_its_own
from regard.config import build
from regard.errors import CheckpointError, DataError, RegardError
from regard.untrusted import file_size, read_json

StoredIds = NDArray[np.unsignedinteger[Any]]
ColumnLengths = NDArray[np.int32]
StoreRow = Mapping[str, Sequence[int] | NDArray[Any] | float]  # by the name of the column

_VERSION = 3  # 2: only ids of a source and a target; 1: store.json has no checksum of its own
_FLUSH = 1 << 16  # numbers kept before they are written
_MAX_FACTS = 1 << 16  # bytes of store.json
_CHUNK = 1 << 20  # offsets looked at together


@dataclass(frozen=True)
class ColumnKind:
    """What a column holds: whole numbers below a bound, or floats where it has none.

    `ragged`: any number of them a row, else one.
    """

    below: int | None
    ragged: bool = True

    @property
    def dtype(self) -> np.dtype[Any]:
        """The narrowest that holds them."""
        if self.below is None:
            return np.dtype("<f4")
        widths = {1 << 8: "u1", 1 << 16: "<u2", 1 << 32: "<u4", 1 << 62: "<i8"}
        return np.dtype(next(dtype for most, dtype in widths.items() if self.below <= most))


FLOAT = ColumnKind(None, ragged=False)
_OFFSETS = ColumnKind(1 << 62, ragged=False)


class Column:
    """Ids of each row: `column[i]` is a view of the file. `skip`: from which one of a row on."""

    def __init__(
        self, values: StoredIds, offsets: NDArray[np.int64], below: int, skip: int = 0
    ) -> None:
        self.values, self.below = values, below
        self._offsets, self._skip = offsets, skip
        self.lengths: ColumnLengths = _lengths(offsets, len(values)) - np.int32(skip)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, i: int) -> StoredIds:
        if not 0 <= i < len(self):
            raise IndexError(f"row {i} of {len(self)}")
        start, end = self._offsets[i : i + 2]
        return np.asarray(self.values[start + self._skip : end])

    def heads(self) -> StoredIds:
        """The first id of each row."""
        return np.asarray(self.values[self._offsets[:-1]])

    def tails(self) -> "Column":
        """All others."""
        return Column(self.values, self._offsets, self.below, self._skip + 1)


@dataclass(frozen=True, eq=False)
class Store:
    """Rows by number: `store["text"][i]` are ids, `store.numbers["score"][i]` is one number."""

    folder: Path
    kinds: Mapping[str, ColumnKind]
    columns: Mapping[str, Column]
    numbers: Mapping[str, NDArray[Any]]
    sha256: Mapping[str, str]  # of each file, without .npy

    @classmethod
    def open(cls, folder: Path) -> "Store":
        """Map a store that `write_store` wrote; sizes and order are checked, contents by `verify`.

        A folder that is absent, incomplete or of another make is a DataError.
        """
        try:
            facts = read_json(folder / "store.json", _MAX_FACTS)
            kinds = _stated_kinds(facts)
            arrays = {n: mapped(folder / f"{n}.npy") for n in _files(kinds)}
            _check_counts(facts, kinds, arrays)
            columns = {
                name: Column(arrays[name], arrays[f"{name}_offsets"], kind.below or 0)
                for name, kind in kinds.items()
                if kind.ragged
            }
        except (RegardError, AttributeError, KeyError, TypeError, ValueError) as error:
            raise _unusable(folder, f"{type(error).__name__}: {error}") from error
        numbers = {name: arrays[name] for name, kind in kinds.items() if not kind.ragged}
        return cls(folder, kinds, columns, numbers, facts["sha256"])

    def verify(self) -> None:
        """Read every file whole and compare its SHA-256; a DataError names one that differs."""
        for name, stated in self.sha256.items():
            if sha256(self.folder / f"{name}.npy") != stated:
                raise _unusable(self.folder, f"{name}.npy was changed after it was written")

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]


def write_store(folder: Path, kinds: Mapping[str, ColumnKind], rows: Iterable[StoreRow]) -> Store:
    """Write rows with a value for each kind to `folder` and open it; an older store is replaced."""
    assert any(kind.ragged for kind in kinds.values()), "rows are counted by a column of ids"
    try:
        with atomic.new_folder(folder) as temporary:
            facts = {
                "version": _VERSION,
                "columns": {name: asdict(kind) for name, kind in kinds.items()},
                "counts": _write_files(temporary, kinds, rows),
                "sha256": {name: sha256(temporary / f"{name}.npy") for name in _files(kinds)},
            }
            text = json.dumps(sealed(facts), indent=1)
            (temporary / "store.json").write_text(text, encoding="utf-8")
    except OSError as error:
        place = error.filename or folder
        raise DataError(place, f"cannot write the corpus as ids: {error.strerror}") from error
    return Store.open(folder)


def _files(kinds: Mapping[str, ColumnKind]) -> dict[str, ColumnKind]:
    """The files of these columns, without .npy, and what each holds."""
    offsets = {f"{n}_offsets": _OFFSETS for n, kind in kinds.items() if kind.ragged}
    return {**kinds, **offsets}


def _write_files(
    folder: Path, kinds: Mapping[str, ColumnKind], rows: Iterable[StoreRow]
) -> dict[str, int]:
    """Stream the rows into growing files; the length of each comes back."""
    with ExitStack() as stack:
        files = {
            name: stack.enter_context(_GrowingFile(folder / f"{name}.npy", kind))
            for name, kind in _files(kinds).items()
        }
        ragged = [(n, files[n], files[f"{n}_offsets"]) for n, kind in kinds.items() if kind.ragged]
        single = [(n, files[n]) for n, kind in kinds.items() if not kind.ragged]
        for _, _, offsets in ragged:
            offsets.extend([0])
        for row in rows:
            for name, values, offsets in ragged:
                values.extend(row[name])
                offsets.extend([values.length])
            for name, values in single:
                values.extend([row[name]])
        for each in files.values():
            each.finish()
        return {name: each.length for name, each in files.items()}


class _GrowingFile:
    """One .npy file that grows: its header is written again, with the final length, at the end."""

    def __init__(self, path: Path, kind: ColumnKind) -> None:
        self.length = 0
        self._kind = kind
        self._kept: list[Any] = []
        self._file = path.open("w+b")
        self._write_header()
        self._start = self._file.tell()

    def __enter__(self) -> "_GrowingFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def extend(self, numbers: Any) -> None:
        if isinstance(numbers, np.ndarray):  # many at once, as pixels come
            self._flush()
            self.length += len(numbers)
            self._write(numbers)
            return
        self._kept.extend(numbers)
        self.length += len(numbers)
        if len(self._kept) >= _FLUSH:
            self._flush()

    def finish(self) -> None:
        """Write what is kept and the final header."""
        self._flush()
        self._file.seek(0)
        self._write_header()
        assert self._file.tell() == self._start  # NumPy leaves room for the digits of any length

    def _flush(self) -> None:
        below = self._kind.below
        self._write(np.array(self._kept, dtype=np.float64 if below is None else np.int64))
        self._kept.clear()

    def _write(self, block: NDArray[Any]) -> None:
        below = self._kind.below
        if below is not None and (wrong := block[(block < 0) | (block >= below)]).size:
            raise DataError("store", f"got id {wrong[0]}", expected=f"ids from 0 to {below - 1}.")
        self._file.write(block.astype(self._kind.dtype).tobytes())

    def _write_header(self) -> None:
        descr = npy.dtype_to_descr(self._kind.dtype)
        header = {"descr": descr, "fortran_order": False, "shape": (self.length,)}
        npy.write_array_header_1_0(self._file, header)


def _stated_kinds(facts: dict[str, Any]) -> dict[str, ColumnKind]:
    """What store.json says of its columns; those of earlier versions are a source and a target."""
    version = facts["version"]
    if states_its_own(facts) is not (None if version == 1 else True):
        raise ValueError("store.json differs from its checksum: it was damaged or changed")
    if version in (1, 2):
        return dict.fromkeys(("source", "target"), ColumnKind(facts["vocabulary"]))
    if version != _VERSION:
        raise ValueError(f"version {version}, expected {_VERSION}")
    if not all(name.isidentifier() for name in facts["columns"]):
        raise ValueError("the name of a column is no name")
    return {name: build(ColumnKind, kind, name) for name, kind in facts["columns"].items()}


def _check_counts(
    facts: dict[str, Any], kinds: Mapping[str, ColumnKind], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Raise ValueError, TypeError or KeyError unless the files are what store.json says."""
    if set(facts["sha256"]) != set(arrays):
        raise ValueError("store.json lacks the sums of the files")
    for name, kind in _files(kinds).items():
        array = arrays[name]
        # earlier versions had no narrower one than 16 bits
        expected = (kind.dtype, np.dtype("<u2")) if facts["version"] < 3 else (kind.dtype,)
        if array.dtype not in expected or array.shape != (facts["counts"][name],):
            raise ValueError(f"{name}.npy is {array.dtype}{array.shape}, not as store.json counts")
    rows = {
        len(arrays[f"{n}_offsets"]) - 1 if k.ragged else len(arrays[n]) for n, k in kinds.items()
    }
    if len(rows) != 1:
        raise ValueError("the columns do not hold the same number of rows")
    if min(rows) < 0:
        raise ValueError("there are no offsets")


def _lengths(offsets: NDArray[np.int64], total: int) -> ColumnLengths:
    """The length of each row, after checking that offsets rise from 0 to the end."""
    lengths = np.empty(len(offsets) - 1, dtype=np.int32)
    for start in range(0, len(lengths), _CHUNK):
        steps = np.diff(offsets[start : start + _CHUNK + 1])
        if steps.min() < 0 or steps.max() > np.iinfo(np.int32).max:
            raise ValueError("its offsets do not rise")
        lengths[start : start + _CHUNK] = steps
    if offsets[0] != 0 or offsets[-1] != total:
        raise ValueError("its offsets do not match its ids")
    return lengths


def _unusable(folder: Path, problem: str) -> DataError:
    return DataError(
        folder, f"not a usable store of ids: {problem}. Delete the folder and prepare it again."
    )


def mapped(path: Path) -> NDArray[Any]:
    """The array of a .npy file as a memory map: no pickle and no zip, whatever the file says it is;
    or an error that names it."""
    try:
        file_size(path)
        return npy.open_memmap(path, mode="r")
    except Exception as error:  # NumPy parses a header as Python: damaged, it raises anything
        reason = f"{type(error).__name__}: {str(error)[:200]}"
        raise CheckpointError(path, f"cannot be read: {reason}") from None
