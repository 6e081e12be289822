"""Texts with labels. In: a table, .tsv, .csv or .jsonl, gzipped or not. Out: rows, and a report.

    text,label                          a first row of names says which columns are meant;
    "Fine, really.",good                without one they come in the order text, pair, label
    {"text": "Bad.", "label": "bad"}    a line of .jsonl names them itself

A label is any text or number. Where several may hold, a cell divides them by "|" and may be empty;
in .jsonl they are a list. The lines are read as those of a corpus are (data/corpus.py): a bad one
is counted in exactly one class and left out.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.data.corpus import Limits, Report, find_file, format_of, read_lines
from regard.data.csv_rows import read_cells
from regard.data.problem import Cells, Line, Problem
from regard.errors import DataError, MisuseError

FORMATS = (".tsv", ".csv", ".jsonl")
BETWEEN = "|"  # several labels of a cell


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text, perhaps a second one, its labels, and the number (from 1) of its line."""

    text: str
    pair: str | None
    labels: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class Columns:
    """Which columns are meant: by name, or all by number, from 1. An empty name: there is none."""

    text: str = "text"
    pair: str = ""
    label: str = "label"
    several: bool = False  # labels of a text

    @property
    def names(self) -> list[str]:
        """Those that there are, in the order of a table without names."""
        return [name for name in (self.text, self.pair, self.label) if name]


Found = tuple[str, str | None, tuple[str, ...]]


def read_labelled(
    path: Path, columns: Columns, report: Report, limits: Limits
) -> Iterator[Labelled]:
    """Yield the good rows in order and count the others in `report`.

    More than half bad, or nothing good, is an error at the end.
    """
    kind = format_of(path)
    if kind not in FORMATS and columns.names == [columns.text]:  # plain text: a line is a text
        find_file(path)
        places = Columns("1", "", "")
        return _clean(_table(_whole(read_lines(path, limits)), places, path), path, report, limits)
    if kind not in FORMATS:
        raise MisuseError(
            f"{path}: expected a table of texts and labels, {', '.join(FORMATS)} (or one of them "
            "with .gz)"
        )
    find_file(path)
    lines = read_lines(path, limits)
    if kind == ".jsonl":
        rows = _objects(lines, columns)
    else:
        width = max(2, len(columns.names))  # one column alone would say nothing about commas
        cells = read_cells(lines, limits.max_characters, width) if kind == ".csv" else _tabs(lines)
        rows = _table(cells, columns, path)
    return _clean(rows, path, report, limits)


def _clean(
    rows: Iterator[Found | Problem], path: Path, report: Report, limits: Limits
) -> Iterator[Labelled]:
    for line, row in enumerate(rows, start=1):
        report.total += 1
        judged = row if isinstance(row, Problem) else _judge(row, limits)
        if isinstance(judged, Problem):
            report.leave_out(judged, line)
        else:
            report.kept += 1
            yield Labelled(*judged, line)
    if report.kept == 0 or report.kept * 2 < report.total:
        what = "more than half of its rows are unusable" if report.kept else "no row is usable"
        advice = "Look at these rows, and at data.text, data.pair and data.label."
        raise DataError("\n  ".join([f"{path}: {what}.", *report.lines(), advice]))


def _judge(row: Found, limits: Limits) -> Found | Problem:
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


def _labels(cell: str, several: bool) -> tuple[str, ...] | Problem:
    cell = cell.strip()
    if several:
        found = (label.strip() for label in cell.split(BETWEEN))
        return tuple(sorted({label for label in found if label}))
    return (cell,) if cell else Problem.UNLABELLED


def _tabs(lines: Iterator[Line]) -> Iterator[Cells]:
    """The cells of lines that tabs divide; nothing is quoted there."""
    for line in lines:
        if line is None:
            yield Problem.TOO_LONG
            continue
        try:
            cells = line.decode().rstrip("\r").split("\t")
        except UnicodeDecodeError:
            yield Problem.ENCODING
            continue
        yield cells if any(cell.strip() for cell in cells) else Problem.EMPTY


def _whole(lines: Iterator[Line]) -> Iterator[Cells]:
    """Each line as one cell."""
    for line in lines:
        if line is None:
            yield Problem.TOO_LONG
            continue
        try:
            yield [line.decode()]
        except UnicodeDecodeError:
            yield Problem.ENCODING


def _table(rows: Iterator[Cells], columns: Columns, path: Path) -> Iterator[Found | Problem]:
    places: list[int] | None = None
    for cells in rows:
        if isinstance(cells, Problem):
            yield cells
            continue
        if places is None:
            places, is_header = _places(cells, columns, path)
            if is_header:
                continue
        if max(places) >= len(cells):
            # Everything but the label is there: that is what is missing.
            lacks_label = columns.label and max(places[:-1], default=0) < len(cells)
            yield Problem.UNLABELLED if lacks_label else Problem.MALFORMED
            continue
        chosen = [cells[place] for place in places]
        labels = _labels(chosen[-1], columns.several) if columns.label else ()
        if isinstance(labels, Problem):
            yield labels
        else:
            yield chosen[0], chosen[1] if columns.pair else None, labels


def _places(first: list[str], columns: Columns, path: Path) -> tuple[list[int], bool]:
    """Where the columns stand, and whether the first row says so."""
    wanted = columns.names
    if all(name.isdigit() for name in wanted):
        return [int(name) - 1 for name in wanted], False
    names = [cell.strip().casefold() for cell in first]
    known = [name.casefold() in names for name in wanted]
    if all(known):
        return [names.index(name.casefold()) for name in wanted], True
    if any(known):
        missing = [name for name, there in zip(wanted, known, strict=True) if not there]
        raise DataError(
            f"{path}: has no column {missing[0]!r}; its first row names {', '.join(names)}. Say "
            "which ones are meant with data.text, data.pair and data.label (names, or numbers)"
        )
    return list(range(len(wanted))), False


def _objects(lines: Iterator[Line], columns: Columns) -> Iterator[Found | Problem]:
    for line in lines:
        if line is None:
            yield Problem.TOO_LONG
            continue
        try:
            row = json.loads(line.decode())
        except UnicodeDecodeError:
            yield Problem.ENCODING
            continue
        except (ValueError, RecursionError):
            yield Problem.MALFORMED
            continue
        yield _object(row, columns) if isinstance(row, dict) else Problem.MALFORMED


def _object(row: dict[str, Any], columns: Columns) -> Found | Problem:
    text, pair = row.get(columns.text), row.get(columns.pair) if columns.pair else None
    if not isinstance(text, str) or (columns.pair and not isinstance(pair, str)):
        return Problem.MALFORMED
    try:
        f"{text}{pair}".encode()  # JSON can spell "\ud800", which is no text
    except UnicodeEncodeError:
        return Problem.ENCODING
    if not columns.label:
        return text, pair, ()
    given = row.get(columns.label)
    if given is None:
        return Problem.UNLABELLED
    if isinstance(given, list):
        if not columns.several or any(isinstance(one, list | dict) for one in given):
            return Problem.MALFORMED
        return text, pair, tuple(sorted({str(one) for one in given}))
    if isinstance(given, dict):
        return Problem.MALFORMED
    labels = _labels(str(given), columns.several)
    return labels if isinstance(labels, Problem) else (text, pair, labels)


def in_order(labels: set[str]) -> tuple[str, ...]:
    """Labels as people would list them: numbers by size, words by the alphabet."""
    try:
        return tuple(sorted(labels, key=lambda label: (float(label), label)))
    except ValueError:
        return tuple(sorted(labels))
