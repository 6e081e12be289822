"""The one reader of tables. In: .csv, .tsv or .jsonl, gzipped or not, .parquet. Out: rows of cells.

    .csv     as spreadsheets write it: csv_rows.py
    .tsv     cells between tabs; nothing is quoted
    .jsonl   an object a line, its keys are the columns; of Hugging Face's
             {"translation": {"en": …, "de": …}} it is the inner one
    .parquet the same, read by pyarrow (extra `parquet`)

Which columns are meant is found when the table is opened, from its first rows (columns.py).
"""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from regard.data.columns import ChosenColumns, choose_columns
from regard.data.csv_rows import read_cells
from regard.data.lines import Problem, RawLine, decoded, find_file, format_of, read_lines
from regard.data.role import ColumnValues, Role
from regard.errors import DataError, MisuseError

FORMATS = (".tsv", ".csv", ".jsonl")
READ = (*FORMATS, ".parquet")  # FORMATS can be written too
LOOKED_AT = 100  # rows, to find the columns
FEW = 200_000  # characters of them that are enough
MOST_KEYS = 1000  # of .jsonl; a file with more has data in its keys
PATIENCE = 100_000  # bad rows after which nobody waits for a good one
_BREAK = re.compile(r"\s*[\r\n]\s*")


def is_table(path: Path) -> bool:
    """Whether the name says so."""
    return format_of(path) in READ


class Table:
    """An open table: `chosen` says which columns are meant; `rows` are read once."""

    def __init__(self, path: Path, roles: Sequence[Role], max_characters: int) -> None:
        if not is_table(path):
            expected = f"a table, {', '.join(READ)} (or one of them with .gz)"
            raise MisuseError(path, expected=expected)
        find_file(path)
        kind = format_of(path)
        self.path, self._keys = path, list[str]()
        lines = iter(()) if kind == ".parquet" else read_lines(path, max_characters)
        if kind == ".parquet":
            read: Iterator[ColumnValues | Problem] = self._cells(_parquet(path))
        elif kind == ".jsonl":
            read = self._cells(_objects(lines))
        elif kind == ".tsv":
            read = _tabs(lines)
        else:
            read = read_cells(lines, max_characters, max(2, len(roles)))
        first = list(_first(read))
        good = [row for row in first if not isinstance(row, Problem)]
        keys = self._keys if kind in (".jsonl", ".parquet") else None
        self.chosen = (
            choose_columns(path, good, roles, keys)
            if good
            else ChosenColumns({role.name: n for n, role in enumerate(roles)}, [])
        )
        if good and keys is None and self.chosen.names:
            first.remove(good[0])
        self.rows: Iterator[ColumnValues | Problem] = chain(first, read)

    def value(self, row: ColumnValues, role: str) -> Any:
        """What a row has for a role; None: nothing."""
        place = self.chosen.places[role]
        return row[place] if place < len(row) else None

    def text(self, row: ColumnValues, role: str) -> str | Problem:
        """The same as a text of one line."""
        return self._one(self.value(row, role))

    def texts(self, row: ColumnValues, role: str) -> list[str] | Problem:
        """The same where a cell of .jsonl or .parquet may be a list of texts."""
        value = self.value(row, role)
        listed = [self._one(one) for one in (value if isinstance(value, list) else [value])]
        problems = (one for one in listed if isinstance(one, Problem))
        return next(problems, None) or [str(one) for one in listed]

    def _one(self, value: Any) -> str | Problem:
        if not isinstance(value, str):
            return Problem.MALFORMED
        if self._keys:
            try:
                value.encode()  # JSON can spell "\ud800", which is no text
            except UnicodeEncodeError:
                return Problem.ENCODING
        return _BREAK.sub(" ", value) if "\n" in value or "\r" in value else value

    def _cells(self, rows: Iterator[object]) -> Iterator[ColumnValues | Problem]:
        """Objects as rows of cells: a key is a column from where it is first seen."""
        keys = self._keys
        for row in rows:
            if isinstance(row, Problem):
                yield row
                continue
            if isinstance(row, dict) and isinstance(row.get("translation"), dict):
                row = row["translation"]
            if not isinstance(row, dict):
                yield Problem.MALFORMED
                continue
            if len(keys) < MOST_KEYS:
                keys.extend(key for key in row if key not in keys)
            yield [row.get(key) for key in keys]


def _objects(lines: Iterator[RawLine]) -> Iterator[object]:
    for text in map(decoded, lines):
        if isinstance(text, Problem):
            yield text
            continue
        try:
            yield json.loads(text)
        except (ValueError, RecursionError):
            yield Problem.MALFORMED


def _parquet(path: Path) -> Iterator[object]:
    try:
        from pyarrow import ArrowException  # an extra
        from pyarrow.parquet import ParquetFile  # an extra
    except ImportError:
        advice = "install it with: pip install 'regard[parquet]'"
        raise MisuseError(path, ".parquet needs pyarrow", advice=advice) from None
    try:
        with ParquetFile(path) as file:
            for batch in file.iter_batches():
                yield from batch.to_pylist()
    except (ArrowException, OSError, ValueError) as error:
        raise DataError(path, f"not a Parquet file that pyarrow can read: {error}") from None


def _first(rows: Iterator[ColumnValues | Problem]) -> Iterator[ColumnValues | Problem]:
    """So many that the columns can be found, without holding more than is needed."""
    good = characters = 0
    for count, row in enumerate(rows):
        yield row
        if not isinstance(row, Problem):
            good += 1
            characters += sum(len(cell) for cell in row if isinstance(cell, str))
        if good == LOOKED_AT or characters > FEW or (not good and count > PATIENCE):
            return


def _tabs(lines: Iterator[RawLine]) -> Iterator[ColumnValues | Problem]:
    for text in map(decoded, lines):
        if isinstance(text, Problem):
            yield text
        else:
            yield text.rstrip("\r").split("\t") if text.strip() else Problem.EMPTY
