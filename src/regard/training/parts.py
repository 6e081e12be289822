"""What a worker computes at once: a part of a batch, and its halves where memory is too small.

training/data_parallel.py draws how group, batch, part, half and share belong together. A half keeps
the number of its part, from which dropout is seeded, and knows which of the part's rows it holds;
it also keeps the part's width, so that the masks of its rows are the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from regard.data.batch import Batch
from regard.errors import OutOfMemoryError


@dataclass(frozen=True, eq=False)
class BatchPart:
    """`batch` is the rows from `start` on of a part that has `rows` of them."""

    number: int
    batch: Batch
    rows: int
    start: int = 0

    @property
    def cells(self) -> int:
        """Positions, padding counted: what memory grows with."""
        return self.batch.cells

    def halves(self) -> list["BatchPart"]:
        """The upper and the lower rows, as wide as before."""
        count = len(self.batch)
        assert count > 1, "one row cannot be halved"
        return [self._rows(slice(0, count // 2)), self._rows(slice(count // 2, count))]

    def within(self, cells: int | None) -> list["BatchPart"]:
        """Halves, and halves of halves, until each has at most so many cells, or one row."""
        if cells is None or self.cells <= cells or len(self.batch) == 1:
            return [self]
        return [small for half in self.halves() for small in half.within(cells)]

    def _rows(self, rows: slice) -> "BatchPart":
        return replace(self, batch=self.batch.rows(rows), start=self.start + rows.start)


def parts_of(group: Sequence[Batch], workers: int) -> list[BatchPart]:
    """Each batch divided among the workers; numbered through."""
    batches = [part for batch in group for part in batch.split(workers)]
    return [BatchPart(number, batch, len(batch)) for number, batch in enumerate(batches)]


def too_large(part: BatchPart) -> OutOfMemoryError:
    """Not even one row fits: the sentence that says so."""
    row = part.batch.row_in_words
    return OutOfMemoryError(
        f"out of memory: not even one {row} fits; train a smaller model (model.preset), leave long "
        f"{row.split()[0]}s out (data.max_tokens), or free some memory"
    )
