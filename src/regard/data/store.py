"""Ids on disk. In: pairs of id lists, one at a time. Out: a folder that training memory-maps.

    folder/source.npy           all source ids in one row: uint16, or uint32 for large vocabularies
           source_offsets.npy   source i is source[offsets[i] : offsets[i + 1]]
           target.npy  target_offsets.npy        the same for the other side
           store.json           counts and the SHA-256 of each file, and of itself

The folder is written under another name and renamed when complete: it is there whole or not at all.
Neither writing nor reading holds the corpus in memory; only the lengths of all pairs are held
(8 bytes a pair), because batches are planned by length.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from regard import atomic
from regard.checksums import sealed, sha256, states_its_own
from regard.data.arrays import mapped
from regard.errors import CheckpointError, DataError
from regard.untrusted import read_json

Ids = NDArray[np.unsignedinteger[Any]]
Lengths = NDArray[np.int32]

_VERSION = 2  # 1: store.json has no checksum of its own
_NAMES = ("source", "source_offsets", "target", "target_offsets")
_FLUSH = 1 << 16  # numbers kept before they are written
_MAX_FACTS = 1 << 16  # bytes of store.json
_CHUNK = 1 << 20  # offsets looked at together


class PairStore:
    """Pairs of ids by number: `store[i]` gives source and target as views of the files."""

    def __init__(
        self, folder: Path, arrays: Mapping[str, NDArray[Any]], facts: dict[str, Any]
    ) -> None:
        self.folder = folder
        self.vocabulary: int = facts["vocabulary"]
        self.sha256: dict[str, str] = facts["sha256"]
        self._source: Ids = arrays["source"]
        self._target: Ids = arrays["target"]
        self._source_offsets = arrays["source_offsets"]
        self._target_offsets = arrays["target_offsets"]
        self.source_lengths: Lengths = _lengths(self._source_offsets, len(self._source), folder)
        self.target_lengths: Lengths = _lengths(self._target_offsets, len(self._target), folder)

    @classmethod
    def open(cls, folder: Path) -> "PairStore":
        """Map a store that `write_store` wrote; sizes and order are checked, contents by `verify`.

        A folder that is absent, incomplete or of another make is a DataError.
        """
        try:
            facts = read_json(folder / "store.json", _MAX_FACTS)
            arrays = {name: mapped(folder / f"{name}.npy") for name in _NAMES}
            _check_facts(facts, arrays)
        except (CheckpointError, KeyError, TypeError, ValueError) as error:
            raise _unusable(folder, f"{type(error).__name__}: {error}") from error
        return cls(folder, arrays, facts)

    def verify(self) -> None:
        """Read every file whole and compare its SHA-256; a DataError names one that differs."""
        for name in _NAMES:
            if sha256(self.folder / f"{name}.npy") != self.sha256[name]:
                raise _unusable(self.folder, f"{name}.npy was changed after it was written")

    def __len__(self) -> int:
        return len(self.source_lengths)

    def __getitem__(self, i: int) -> tuple[Ids, Ids]:
        if not 0 <= i < len(self):
            raise IndexError(f"pair {i} of {len(self)}")
        start, end = self._source_offsets[i : i + 2]
        source = np.asarray(self._source[start:end])
        start, end = self._target_offsets[i : i + 2]
        return source, np.asarray(self._target[start:end])

    @property
    def sides(self) -> tuple[Ids, Ids]:
        """All ids of either side in one row, as views of the files."""
        return self._source, self._target

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        return PairStore.open, (self.folder,)  # a worker process maps the files itself


def write_store(
    folder: Path, pairs: Iterable[tuple[Sequence[int], Sequence[int]]], vocabulary: int
) -> PairStore:
    """Write pairs of ids below `vocabulary` to `folder` and open it; an older store is replaced."""
    try:
        with atomic.new_folder(folder) as temporary:
            facts = {
                "version": _VERSION,
                "vocabulary": vocabulary,
                "counts": _write_columns(temporary, pairs, vocabulary),
                "sha256": {name: sha256(temporary / f"{name}.npy") for name in _NAMES},
            }
            text = json.dumps(sealed(facts), indent=1)
            (temporary / "store.json").write_text(text, encoding="utf-8")
    except OSError as error:
        place = error.filename or folder
        raise DataError(f"{place}: cannot write the corpus as ids: {error.strerror}") from error
    return PairStore.open(folder)


def _write_columns(
    folder: Path, pairs: Iterable[tuple[Sequence[int], Sequence[int]]], vocabulary: int
) -> dict[str, int]:
    """Stream the pairs into four growing files; the length of each comes back."""
    ids: type[np.integer[Any]] = np.uint16 if vocabulary <= 1 << 16 else np.uint32
    with ExitStack() as stack:

        def column(name: str, dtype: type[np.integer[Any]], below: int) -> _Column:
            return stack.enter_context(_Column(folder / f"{name}.npy", dtype, below))

        source, target = column("source", ids, vocabulary), column("target", ids, vocabulary)
        source_offsets = column("source_offsets", np.int64, 1 << 62)
        target_offsets = column("target_offsets", np.int64, 1 << 62)
        columns = (source, source_offsets, target, target_offsets)
        source_offsets.extend([0])
        target_offsets.extend([0])
        for source_ids, target_ids in pairs:
            source.extend(source_ids)
            target.extend(target_ids)
            source_offsets.extend([source.length])
            target_offsets.extend([target.length])
        for each in columns:
            each.finish()
        return {name: each.length for name, each in zip(_NAMES, columns, strict=True)}


class _Column:
    """One .npy file that grows: its header is written again, with the final length, at the end."""

    def __init__(self, path: Path, dtype: type[np.integer[Any]], below: int) -> None:
        self.length = 0
        self._dtype = np.dtype(dtype).newbyteorder("<")
        self._below = below
        self._kept: list[int] = []
        self._file = path.open("w+b")
        self._write_header()
        self._start = self._file.tell()

    def __enter__(self) -> "_Column":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def extend(self, numbers: Sequence[int]) -> None:
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
        block = np.array(self._kept, dtype=np.int64)
        wrong = block[(block < 0) | (block >= self._below)]
        if wrong.size:
            raise DataError(f"store: got id {wrong[0]}, expected ids from 0 to {self._below - 1}.")
        self._file.write(block.astype(self._dtype).tobytes())
        self._kept.clear()

    def _write_header(self) -> None:
        descr = npy.dtype_to_descr(self._dtype)
        header = {"descr": descr, "fortran_order": False, "shape": (self.length,)}
        npy.write_array_header_1_0(self._file, header)


def _check_facts(facts: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise ValueError, TypeError or KeyError unless the files are what store.json says."""
    expected = None if facts["version"] == 1 else True
    if states_its_own(facts) is not expected:
        raise ValueError("store.json differs from its checksum: it was damaged or changed")
    if facts["version"] not in (1, _VERSION):
        raise ValueError(f"version {facts['version']}, expected {_VERSION}")
    if not isinstance(facts["vocabulary"], int) or set(facts["sha256"]) != set(_NAMES):
        raise ValueError("store.json lacks the vocabulary or the sums of the files")
    for name, array in arrays.items():
        kinds = (np.int64,) if name.endswith("offsets") else (np.uint16, np.uint32)
        if array.dtype not in kinds or array.shape != (facts["counts"][name],):
            raise ValueError(f"{name}.npy is {array.dtype}{array.shape}, not as store.json counts")
    if len(arrays["source_offsets"]) != len(arrays["target_offsets"]):
        raise ValueError("the two sides do not hold the same number of pairs")
    if len(arrays["source_offsets"]) < 1:
        raise ValueError("there are no offsets")


def _lengths(offsets: NDArray[Any], total: int, folder: Path) -> Lengths:
    """The length of each example, after checking that offsets rise from 0 to the end."""
    lengths = np.empty(len(offsets) - 1, dtype=np.int32)
    for start in range(0, len(lengths), _CHUNK):
        steps = np.diff(offsets[start : start + _CHUNK + 1])
        if steps.min() < 0 or steps.max() > np.iinfo(np.int32).max:
            raise _unusable(folder, "its offsets do not rise")
        lengths[start : start + _CHUNK] = steps
    if offsets[0] != 0 or offsets[-1] != total:
        raise _unusable(folder, "its offsets do not match its ids")
    return lengths


def _unusable(folder: Path, problem: str) -> DataError:
    return DataError(
        f"{folder}: not a usable store of ids: {problem}. Delete the folder and prepare it again."
    )
