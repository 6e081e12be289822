"""Texts with labels. In: a table, .tsv, .csv or .jsonl, gzipped or not. Out: rows, and a report.

Which columns are meant is found as for every table (data/columns.py). A label is any text or
number. Where several may hold, a cell divides them by "|" and may be empty; in .jsonl they are a
list. The lines are read as those of a corpus are (data/corpus.py): a bad one is counted in exactly
one class and left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.data.corpus import Limits
from regard.data.lines import Problem, RawLine, decoded, find_file, read_lines
from regard.data.report import Report
from regard.data.role import ColumnValues, Role
from regard.data.table import READ, Table, is_table
from regard.errors import DataError, MisuseError

BETWEEN = "|"  # several labels of a cell


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text, perhaps a second one, its labels, and the number (from 1) of its line.

    `cells` are all of its row, where they are kept.
    """

    text: str
    pair: str | None
    labels: tuple[str, ...]
    line: int
    cells: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Columns:
    """What is looked for in a table."""

    text: Role = Role("text")
    pair: Role | None = None
    label: Role | None = Role("label")
    several: bool = False  # labels of a text

    @property
    def roles(self) -> list[Role]:
        """In the order of a table without names."""
        return [role for role in (self.text, self.pair, self.label) if role]


LabelledCells = tuple[str, str | None, tuple[str, ...]]
JudgedRow = tuple[LabelledCells | Problem, ColumnValues]


def read_labelled(
    path: Path, columns: Columns, report: Report, limits: Limits, keep: bool = False
) -> Iterator[Labelled]:
    """Yield the good rows in order and count the others in `report`.

    More than half bad, or nothing good, is an error at the end. `keep`: with all their cells.
    """
    if is_table(path):
        table = Table(path, columns.roles, limits.max_characters)
        report.columns = table.chosen
        rows = _rows(table, columns)
    elif columns.label is None and columns.pair is None:  # plain text: a line is a text
        find_file(path)
        if columns.text.asked:
            advice = "leave --text-column out"
            raise MisuseError(path, "lines of text have no columns", advice=advice)
        rows = _lines(read_lines(path, limits.max_characters))
    else:
        expected = f"a table of texts and labels, {', '.join(READ)} (or one of them with .gz)"
        raise MisuseError(path, expected=expected)
    return _clean(rows, path, report, limits, keep)


def _lines(lines: Iterator[RawLine]) -> Iterator[JudgedRow]:
    for text in map(decoded, lines):
        yield text if isinstance(text, Problem) else (text, None, ()), []


def _rows(table: Table, columns: Columns) -> Iterator[JudgedRow]:
    for row in table.rows:
        yield (row, []) if isinstance(row, Problem) else (_row(table, row, columns), row)


def _row(table: Table, row: ColumnValues, columns: Columns) -> LabelledCells | Problem:
    text, pair = table.text(row, "text"), None
    if isinstance(text, Problem):
        return text
    if columns.pair:
        pair = table.text(row, "pair")
        if isinstance(pair, Problem):
            return pair
    if not columns.label:
        return text, pair, ()
    labels = _labels(table.value(row, "label"), columns.several)
    return labels if isinstance(labels, Problem) else (text, pair, labels)


def _labels(value: Any, several: bool) -> tuple[str, ...] | Problem:
    if value is None:
        return Problem.UNLABELLED
    if isinstance(value, list):
        if not several or any(isinstance(one, list | dict) for one in value):
            return Problem.MALFORMED
        return tuple(sorted({str(one) for one in value}))
    if isinstance(value, dict):
        return Problem.MALFORMED
    cell = str(value).strip()
    if several:
        labels = (label.strip() for label in cell.split(BETWEEN))
        return tuple(sorted({label for label in labels if label}))
    return (cell,) if cell else Problem.UNLABELLED


def _clean(
    rows: Iterator[JudgedRow], path: Path, report: Report, limits: Limits, keep: bool
) -> Iterator[Labelled]:
    for line, (row, cells) in enumerate(rows, start=1):
        report.total += 1
        judged = row if isinstance(row, Problem) else _judge(row, limits)
        if isinstance(judged, Problem):
            report.leave_out(judged, line)
        else:
            report.kept += 1
            yield Labelled(*judged, line, tuple(cells) if keep else ())
    if report.kept == 0 or report.kept * 2 < report.total:
        what = "more than half of its rows are unusable" if report.kept else "no row is usable"
        advice = "Look at these rows, and whether these are the columns that you mean."
        raise DataError("\n  ".join([f"{path}: {what}.", *report.lines(), advice]))


def _judge(row: LabelledCells, limits: Limits) -> LabelledCells | Problem:
    text, pair, labels = row
    text, pair = text.strip(), None if pair is None else pair.strip()
    both = text + (pair or "")
    if max(len(text), len(pair or "")) > limits.max_characters:
        return Problem.TOO_LONG
    if "\0" in both:
        return Problem.NUL
    if not text or pair == "":
        return Problem.EMPTY
    return text, pair, labels


def in_order(labels: set[str]) -> tuple[str, ...]:
    """Labels as people would list them: numbers by size, words by the alphabet."""
    try:
        return tuple(sorted(labels, key=lambda label: (float(label), label)))
    except ValueError:
        return tuple(sorted(labels))
