"""The passages of an index: row → file, lines and text; memory-mapped, not read as a whole."""

import json
import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.data.passages import Passage
from regard.errors import CheckpointError

PASSAGES, TEXTS, FILES = "passages.npy", "texts.txt", "files.json"


@dataclass(frozen=True)
class Entry:
    """One file of an index."""

    name: str
    sha256: str
    lines: int
    bad_lines: list[int]  # how many, then the first of them
    passages: int


class Table:
    """The passages of the generation in `folder`."""

    def __init__(self, folder: Path, count: int) -> None:
        try:
            self.rows = np.load(folder / PASSAGES, mmap_mode="r", allow_pickle=False)
            listed: list[dict[str, Any]] = json.loads((folder / FILES).read_text(encoding="utf-8"))
            self.entries = [Entry(**entry) for entry in listed]
            with (folder / TEXTS).open("rb") as file:
                self._texts = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError, TypeError) as error:
            raise CheckpointError(f"{folder}: cannot be read: {str(error)[:200]}") from None
        if self.rows.shape != (count, 5) or sum(e.passages for e in self.entries) != count:
            raise CheckpointError(
                f"{folder / PASSAGES}: has shape {self.rows.shape}, expected {(count, 5)}"
            )

    def passage(self, row: int) -> tuple[str, Passage]:
        """The name of the file and the passage of a row."""
        number, first, last, start, end = self.rows[row].tolist()
        text = self._texts[start:end].decode("utf-8")
        return self.entries[number].name, Passage(text, first, last)

    def placed(self) -> Iterator[tuple[Entry, int]]:
        """Each file and the row at which its passages begin."""
        row = 0
        for entry in self.entries:
            yield entry, row
            row += entry.passages
