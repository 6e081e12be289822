"""Semantic search: a query's vector → the passages whose vectors lie nearest, by cosine.

The vectors of the passages, each of length 1, are one float16 matrix that is memory-mapped. Up to
`EXACT` of them, all are compared. Beyond that there are two steps:

    1. faiss reads a code of one bit for each number (RaBitQ, after a random rotation; 56 bytes for
       384 numbers) and estimates every cosine: a `SHARE` of the passages, at least `FEWEST`, stays
    2. their true cosines are computed from the matrix, and the best are taken

No passage is passed by unseen, and what is answered does not depend on the order in which passages
came: that is why this is not a graph (docs/decisions/0008-search.md).
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.store import mapped
from regard.errors import CheckpointError, MisuseError
from regard.search.words import best

EXACT = 20_000  # passages that are all compared
SHARE = 0.01
FEWEST = 1_000
BLOCK = 1 << 15  # rows that are made float32 at once
SEED = 7  # of the rotation: the same for every index
VECTORS, CODES = "vectors.npy", "codes.faiss"


def faiss() -> Any:
    """The library, or how to get it."""
    try:
        import faiss as library
    except ImportError:
        raise MisuseError(
            f"index and search: more than {EXACT:,} passages need the library faiss; "
            "install it with `pip install 'regard[search]'`"
        ) from None
    return library


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Each row divided by its length, so that products are cosines; zero stays zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    divided: NDArray[np.float32] = vectors / np.maximum(lengths, np.float32(1e-12))
    return divided


def write_vectors(
    folder: Path, count: int, width: int, blocks: Iterable[NDArray[Any]], exact: int = EXACT
) -> None:
    """Write the matrix block by block, then the codes where there are enough passages.

    Not into a memory map: a disk that is full would end the process, not raise an error.
    """
    about = {"descr": "<f2", "fortran_order": False, "shape": (count, width)}
    filled = 0
    with (folder / VECTORS).open("wb") as file:
        np.lib.format.write_array_header_1_0(file, about)
        for block in blocks:
            file.write(np.ascontiguousarray(block, dtype="<f2").tobytes())
            filled += len(block)
    assert filled == count, (filled, count)
    if count > exact:
        _write_codes(folder / CODES, np.load(folder / VECTORS, mmap_mode="r"))


def _write_codes(path: Path, matrix: NDArray[np.float16]) -> None:
    library, (count, width) = faiss(), matrix.shape
    rotation = library.RandomRotationMatrix(width, width)
    rotation.init(SEED)
    codes = library.IndexRaBitQFastScan(width, library.METRIC_INNER_PRODUCT)
    index = library.IndexPreTransform(rotation, codes)
    index.train(matrix[:: max(1, count // BLOCK)].astype(np.float32))  # the mean, nothing else
    for start in range(0, count, BLOCK):
        index.add(matrix[start : start + BLOCK].astype(np.float32))
    path.write_bytes(library.serialize_index(index).tobytes())  # faiss does not say why it cannot


class Vectors:
    """The semantic side of an index that lies in `folder`."""

    def __init__(self, folder: Path, count: int, width: int) -> None:
        self.matrix: NDArray[np.float16] = mapped(folder / VECTORS)
        if self.matrix.shape != (count, width) or self.matrix.dtype != np.float16:
            problem = f"holds {self.matrix.dtype} {self.matrix.shape}"
            raise CheckpointError(folder / VECTORS, problem, expected=f"float16 {(count, width)}")
        self._codes = _read_codes(folder / CODES, count, width)

    def nearest(
        self, query: NDArray[np.float32], k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Rows and cosines of the k nearest passages, nearest first."""
        count = len(self.matrix)
        if self._codes is None:
            blocks = (self.matrix[n : n + BLOCK] for n in range(0, count, BLOCK))
            scores = np.concatenate([block.astype(np.float32) @ query for block in blocks])
            return best(scores, k)
        stay = min(count, max(FEWEST, 4 * k, int(SHARE * count)))
        _, candidates = self._codes.search(query[None], stay)
        rows = np.sort(candidates[0][candidates[0] >= 0])  # in the order in which they lie on disk
        places, scores = best(self.matrix[rows].astype(np.float32) @ query, k)
        return rows[places], scores


def _read_codes(path: Path, count: int, width: int) -> Any:
    if not path.is_file():
        return None
    library = faiss()
    try:
        codes = library.read_index(str(path))
    except RuntimeError as error:
        raise CheckpointError(path, f"faiss cannot read it: {str(error)[-200:]}") from None
    if (codes.ntotal, codes.d) != (count, width):
        problem = f"holds {codes.ntotal} codes of {codes.d} numbers"
        raise CheckpointError(path, problem, expected=f"{count} of {width}")
    return codes
