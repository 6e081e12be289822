"""The passages of an index: row → file, lines and text; memory-mapped, not read as a whole."""

import mmap
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from regard.data.passages import Passage
from regard.data.store import mapped
from regard.errors import CheckpointError, shown
from regard.untrusted import opened, read_small_file, strict_json

MAX_FILES = 1 << 28  # bytes of the list of files
PASSAGES, TEXTS, FILES = "passages.npy", "texts.txt", "files.json"


@dataclass(frozen=True)
class IndexedFile:
    """One file of an index."""

    name: str
    sha256: str
    lines: int
    bad_lines: list[int]  # how many, then the first of them
    passages: int


class PassageTable:
    """The passages of the generation in `folder`."""

    def __init__(self, folder: Path, count: int) -> None:
        try:
            self.rows = mapped(folder / PASSAGES)
            self.entries = _read_entries(folder / FILES)
            with opened(folder / TEXTS) as file:
                self._texts = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError, TypeError) as error:
            raise CheckpointError(folder, f"cannot be read: {str(error)[:200]}") from None
        if self.rows.shape != (count, 5) or sum(e.passages for e in self.entries) != count:
            problem = f"has shape {self.rows.shape}"
            raise CheckpointError(folder / PASSAGES, problem, expected=f"{(count, 5)}")

        ends = (len(self.entries), *[np.iinfo(np.int64).max] * 2, *[len(self._texts) + 1] * 2)
        if self.rows.dtype != np.int64 or not ((self.rows >= 0) & (self.rows < ends)).all():
            raise CheckpointError(folder / PASSAGES, "names texts or files that are not there")

    def passage(self, row: int) -> tuple[str, Passage]:
        """The name of the file and the passage of a row."""
        number, first, last, start, end = self.rows[row].tolist()
        text = self._texts[start:end].decode("utf-8", "replace")
        return self.entries[number].name, Passage(text, first, last)

    def placed(self) -> Iterator[tuple[IndexedFile, int]]:
        """Each file and the row at which its passages begin."""
        row = 0
        for entry in self.entries:
            yield entry, row
            row += entry.passages


def _read_entries(path: Path) -> list[IndexedFile]:
    """The files that an index lists, each of its type."""
    listed = strict_json(read_small_file(path, MAX_FILES), str(path), MAX_FILES, surrogates=True)
    kinds = {field.name: field.type for field in fields(IndexedFile)} | {"bad_lines": list}
    if not isinstance(listed, list):
        raise CheckpointError(path, got=listed, expected="a list of files")
    for entry in listed:
        fits = isinstance(entry, dict) and {k: type(v) for k, v in entry.items()} == kinds
        # how many lines are bad stands first
        if not fits or {*map(type, entry["bad_lines"])} != {int}:
            raise CheckpointError(path, f"lists {shown(entry)}, which is no file of an index")
    return [IndexedFile(**entry) for entry in listed]
