"""Rows of a .csv file, as spreadsheets write them. In: lines. Out: cells, or what is wrong.

    "Yes, please.","Ja, gern."  a comma inside quotes divides nothing
    "She said ""no"".",Sie …    quotes inside quotes are doubled
    "two                        a quoted cell may go on in the next line
    lines",zwei Zeilen
    sep=;                       such a first line says what divides, as some spreadsheets want it

Columns are divided by a comma, a semicolon (spreadsheets set to German and others) or a tab,
whichever divides the first lines into the same number of columns most often. A row with another
number of columns than the first has most likely a comma that nobody quoted, and half a sentence is
worse than none: it is malformed. So is a line whose quote is never closed; the lines after it are
rows of their own again.
"""

import csv
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import islice

from regard.data.lines import Cells, Problem, RawLine, decoded

DELIMITERS = (",", ";", "\t")
LOOKED_AT = 20  # lines, to find what divides them
_END = b"\n"  # no line holds its own end


def read_cells(lines: Iterator[RawLine], max_characters: int, columns: int = 2) -> Iterator[Cells]:
    """Yield the cells of one row after the other, a row of names too, all as wide as the first.

    `columns` is how many there should be: it helps to find what divides them.
    """
    feed = _Feed(lines)
    delimiter, width = _delimiter(feed, columns), 0
    for line in feed:
        if line is None:
            yield Problem.TOO_LONG
            continue
        cells = _cells(line, feed, delimiter, columns * max_characters)
        if isinstance(cells, Problem):
            yield cells
            continue
        width = width or len(cells)
        if len(cells) < width or any(cells[width:]):
            yield Problem.MALFORMED
        else:
            yield cells[:width]


class _Feed:
    """Lines, of which some can be given back."""

    def __init__(self, lines: Iterator[RawLine]) -> None:
        self._lines, self._again = lines, deque[RawLine]()

    def __iter__(self) -> Iterator[RawLine]:
        return self

    def __next__(self) -> RawLine:
        return self._again.popleft() if self._again else next(self._lines)

    def give_back(self, lines: Sequence[RawLine]) -> None:
        self._again.extendleft(reversed(lines))


def _cells(first: bytes, feed: _Feed, delimiter: str, most: int) -> list[str] | Problem:
    """The cells of the row that begins with this line; it takes further lines if a quote is open.

    `most` characters later a quote that is still open will not be closed any more.
    """
    taken = [first]
    while True:
        try:
            text = b"\n".join(taken).decode()
        except UnicodeDecodeError:
            break
        if len(text) > csv.field_size_limit():
            return Problem.TOO_LONG
        cells = _parse(text, delimiter)
        if cells is not None:
            return cells if any(cells) else Problem.EMPTY
        if _parse(f'{text}"', delimiter) is None or len(text) > most:  # no open quote, or for ever
            break
        line = next(feed, _END)
        if line is None or line is _END:
            feed.give_back([None] if line is None else [])
            break
        taken.append(line)
    feed.give_back(taken[1:])
    return Problem.ENCODING if decoded(first) is Problem.ENCODING else Problem.MALFORMED


def _parse(text: str, delimiter: str) -> list[str] | None:
    """The cells of one row, or None if it is not one: an open quote, or text after a closed one."""
    try:
        rows = list(csv.reader([text], delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    return rows[0] if len(rows) == 1 else []


def _delimiter(feed: _Feed, columns: int) -> str:
    """What divides the first lines alike; of several, what makes so many columns, or the most."""
    first = list(islice(feed, LOOKED_AT))
    said = first[0].strip(b"\r") if first and first[0] else b""
    if said[:4].lower() == b"sep=" and said[4:].decode(errors="replace") in DELIMITERS:
        feed.give_back(first[1:])
        return said[4:].decode()
    feed.give_back(first)
    texts = [line.decode(errors="replace") for line in first if line]

    def fitness(delimiter: str) -> tuple[int, bool, int]:
        widths = Counter(
            len(_parse(t, delimiter) or _parse(f'{t}"', delimiter) or ()) for t in texts
        )
        often, width = max(((n, w) for w, n in widths.items() if w > 1), default=(0, 1))
        return often, width == columns, width

    return max(DELIMITERS, key=fitness)
