"""Rows of a .csv file, as spreadsheets write them. In: lines. Out: pairs, or what is wrong.

    source,target               such a first row (or src,tgt) says which columns are meant;
    "Yes, please.","Ja, gern."  without one, the first two are
    "She said ""no"".",Sie …    quotes inside quotes are doubled
    "two                        a quoted cell may go on in the next line: the break is read
    lines",zwei Zeilen          as a space

Columns are divided by a comma, a semicolon (spreadsheets set to German and others) or a tab,
whichever divides the first row best. A row with another number of columns than the first has most
likely a comma that nobody quoted, and half a sentence is worse than none: it is malformed. So is a
line whose quote is never closed; the lines after it are rows of their own again.
"""

import csv
import re
from collections import deque
from collections.abc import Iterator, Sequence

from regard.data.problem import Cells, Line, Problem, Row

DELIMITERS = (",", ";", "\t")
NAMES = (("source", "target"), ("src", "tgt"))
_END = b"\n"  # no line holds its own end
_BREAK = re.compile(r"\s*[\r\n]\s*")


def read_csv(lines: Iterator[Line], max_characters: int) -> Iterator[Row]:
    """Yield one row after the other; the row of names is not among them."""
    columns, first = (0, 1), True
    for cells in read_cells(lines, max_characters):
        if isinstance(cells, Problem):
            yield cells
            continue
        if first:
            first = False
            names = [cell.strip().casefold() for cell in cells]
            found = [pair for pair in NAMES if set(pair) <= set(names)]
            if found:
                columns = names.index(found[0][0]), names.index(found[0][1])
                continue
        yield (cells[columns[0]], cells[columns[1]]) if len(cells) > 1 else Problem.MALFORMED


def read_cells(lines: Iterator[Line], max_characters: int, columns: int = 2) -> Iterator[Cells]:
    """Yield the cells of one row after the other, a row of names too, all as wide as the first.

    `columns` is how many there should be: it helps to find what divides them.
    """
    feed = _Feed(lines)
    delimiter, width = "", 0
    for line in feed:
        if line is None:
            yield Problem.TOO_LONG
            continue
        delimiter = delimiter or _delimiter(line, columns)
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

    def __init__(self, lines: Iterator[Line]) -> None:
        self._lines, self._again = lines, deque[Line]()

    def __iter__(self) -> Iterator[Line]:
        return self

    def __next__(self) -> Line:
        return self._again.popleft() if self._again else next(self._lines)

    def give_back(self, lines: Sequence[Line]) -> None:
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
            return [_BREAK.sub(" ", cell) for cell in cells] if any(cells) else Problem.EMPTY
        if _parse(f'{text}"', delimiter) is None or len(text) > most:  # no open quote, or for ever
            break
        line = next(feed, _END)
        if line is None or line is _END:
            feed.give_back([None] if line is None else [])
            break
        taken.append(line)
    feed.give_back(taken[1:])
    return _problem_of(first)


def _problem_of(line: bytes) -> Problem:
    try:
        line.decode()
    except UnicodeDecodeError:
        return Problem.ENCODING
    return Problem.MALFORMED


def _parse(text: str, delimiter: str) -> list[str] | None:
    """The cells of one row, or None if it is not one: an open quote, or text after a closed one."""
    try:
        rows = list(csv.reader([text], delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    return rows[0] if len(rows) == 1 else []


def _delimiter(line: bytes, columns: int) -> str:
    """The one that makes so many columns of the first row, or else the most."""
    text = line.decode(errors="replace")
    found = {d: len(_parse(text, d) or _parse(f'{text}"', d) or ()) for d in DELIMITERS}
    return max(DELIMITERS, key=lambda d: (found[d] == columns, found[d]))
