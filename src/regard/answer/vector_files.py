"""Vectors → a file, part after part: the texts of a large file need not be in memory at once.

    .npy      the vectors alone, (n, D) float32: `numpy.load`
    .parquet  columns `text` and `vector`, a list of D float32 (extra `parquet`)
    .jsonl    {"text": …, "vector": […]} a line

All three give back the very float32 numbers that the model made. The file is there when it is
whole: an error or a kill on the way leaves the one before, or none.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from jaxtyping import Float

from regard import atomic
from regard.errors import MisuseError
from regard.valid_json import valid_json

VectorRows = Float[np.ndarray, "n D"]


class Writer(Protocol):
    """A file that is being written."""

    def add(self, texts: Sequence[str], vectors: VectorRows) -> None:
        """So many rows more."""

    def finish(self) -> None:
        """No more rows."""


class _Npy:
    """The header says how many rows there are, so it is written twice."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._size, self._rows = file, size, 0
        self._header()

    def _header(self) -> None:
        about = {"descr": "<f4", "fortran_order": False, "shape": (self._rows, self._size)}
        np.lib.format.write_array_header_1_0(self._file, about)

    def add(self, texts: Sequence[str], vectors: VectorRows) -> None:
        self._file.write(np.ascontiguousarray(vectors, dtype="<f4").tobytes())
        self._rows += len(vectors)

    def finish(self) -> None:
        start = self._file.tell() - 4 * self._size * self._rows
        self._file.seek(0)
        self._header()
        # numpy leaves room for a longer number of rows
        assert self._file.tell() == start, "a header changed its length"


class _Parquet:
    """One row group a part."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        arrow, parquet = _pyarrow()
        vector = arrow.list_(arrow.float32(), size)
        self._schema = arrow.schema([("text", arrow.string()), ("vector", vector)])
        self._arrow, self._size = arrow, size
        self._writer = parquet.ParquetWriter(file, self._schema)

    def add(self, texts: Sequence[str], vectors: VectorRows) -> None:
        arrow = self._arrow
        numbers = arrow.array(np.ascontiguousarray(vectors, dtype=np.float32).reshape(-1))
        column = arrow.FixedSizeListArray.from_arrays(numbers, self._size)
        columns = [arrow.array(list(texts), arrow.string()), column]
        self._writer.write_table(arrow.Table.from_arrays(columns, schema=self._schema))

    def finish(self) -> None:
        self._writer.close()


class _Lines:
    """JSON Lines."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file

    def add(self, texts: Sequence[str], vectors: VectorRows) -> None:
        for text, vector in zip(texts, vectors, strict=True):
            self._file.write((as_json(text, vector) + "\n").encode())

    def finish(self) -> None:
        pass


_WRITERS: dict[str, Callable[[BinaryIO, int], Writer]] = {
    ".npy": _Npy,
    ".parquet": _Parquet,
    ".jsonl": _Lines,
}


def check_output(path: Path) -> None:
    """Whether a file of that name can be written, before anything slow begins."""
    if path.suffix not in _WRITERS:
        suffixes = ", ".join(_WRITERS)
        raise MisuseError("output", f"got {path.name}", expected=f"a name that ends in {suffixes}")
    if path.suffix == ".parquet":
        _pyarrow()


@contextmanager
def vector_file(path: Path, size: int) -> Iterator[Writer]:
    """A file for vectors of `size` numbers; it is at `path` when the block ends well."""
    check_output(path)
    with atomic.new_file(path) as file:
        writer = _WRITERS[path.suffix](file, size)
        try:
            yield writer
        finally:  # after an error too: a writer must not outlive its file, which is thrown away
            writer.finish()


def as_json(text: str, vector: Float[np.ndarray, " D"]) -> str:
    """A text and its vector as one line; nine digits tell any two float32 apart."""
    row = {"text": text, "vector": [float(f"{x:.9g}") for x in vector.tolist()]}
    return valid_json(row)


def in_parts(lines: Iterable[list[str]], size: int) -> Iterator[list[str]]:
    """The same texts in lists of `size`, the last one shorter."""
    waiting: list[str] = []
    for some in lines:
        waiting += some
        while len(waiting) >= size:
            yield waiting[:size]
            waiting = waiting[size:]
    if waiting:
        yield waiting


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        advice = "install it with: pip install 'regard[parquet]', or take .npy or .jsonl"
        raise MisuseError("output", ".parquet needs pyarrow", advice=advice) from None
    return pyarrow, pyarrow.parquet
