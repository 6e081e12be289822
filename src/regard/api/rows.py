"""Rows in a program's hands → a table that every reader of regard takes.

    pandas, polars   a frame, its columns by name
    pyarrow          a Table
    datasets         a Dataset of Hugging Face; {"translation": {"en": …, "de": …}} too
    plain Python     a list of pairs (source, target), of dicts, or a dict of columns

Nothing of these libraries is imported: what somebody hands over, that program has imported.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from regard import atomic
from regard.errors import MisuseError, nearest
from regard.runs.columns import KEYS

TableRow = dict[str, Any]


@runtime_checkable
class PandasFrame(Protocol):
    """What is asked of a pandas.DataFrame."""

    columns: Iterable[Any]

    def itertuples(self, index: bool, name: None) -> Iterable[tuple[Any, ...]]: ...
    def notna(self) -> "PandasFrame": ...


@runtime_checkable
class PolarsFrame(Protocol):
    """What is asked of a polars.DataFrame."""

    def iter_rows(self, *, named: bool) -> Iterable[TableRow]: ...


@runtime_checkable
class ArrowTable(Protocol):
    """What is asked of a pyarrow.Table."""

    def to_pylist(self) -> list[TableRow]: ...


def rows_of(data: object, task: str) -> Iterator[TableRow]:
    """Each row as a dict; or an error that says what is taken."""
    if isinstance(data, PandasFrame):
        names = [str(name) for name in data.columns]
        there = data.notna().itertuples(index=False, name=None)  # None, NaN, NaT and NA alike
        for cells, told in zip(data.itertuples(index=False, name=None), there, strict=True):
            values = [cell if tells else None for cell, tells in zip(cells, told, strict=True)]
            yield dict(zip(names, values, strict=True))
    elif isinstance(data, PolarsFrame):
        yield from data.iter_rows(named=True)
    elif isinstance(data, ArrowTable):
        yield from data.to_pylist()
    elif isinstance(data, Mapping):
        for cells in zip(*data.values(), strict=True):
            yield dict(zip(map(str, data), cells, strict=True))
    elif isinstance(data, Iterable) and not isinstance(data, str | bytes):
        for number, row in enumerate(data, start=1):
            yield _row(row, number, task)
    else:
        raise MisuseError(
            task,
            got=type(data),
            expected="a table: a DataFrame, a Dataset, a list of pairs or of dicts, or a dict of "
            "columns",
        )


def _row(row: object, number: int, task: str) -> TableRow:
    if isinstance(row, Mapping):
        return dict(row)
    if isinstance(row, tuple | list) and [type(text) for text in row] == [str, str]:
        return {"source": row[0], "target": row[1]}
    expected = "a pair of texts or a dict"
    raise MisuseError(f"{task}: row {number:,}", got=type(row), expected=expected)


def write_rows(data: object, file: Path, task: str, columns: Mapping[str, str]) -> list[str]:
    """Write the rows as .jsonl; the names of their columns, in the order of first occurrence.

    `columns` are those that will be asked for, by role.
    """
    names: dict[str, None] = {}
    lines = []
    for row in rows_of(data, task):
        names.update(dict.fromkeys(row))
        lines.append(json.dumps({str(k): _plain(v) for k, v in row.items()}, ensure_ascii=False))
    if not lines:
        raise MisuseError(task, "the table has no rows")
    for role, name in columns.items():
        if name not in names:
            problem = f"the table has no column {name!r}"
            raise MisuseError(f"{task}: columns: {role}", problem, advice=nearest(name, names))
    atomic.write_text(file, "".join(f"{line}\n" for line in lines))
    return list(names)


def check_roles(columns: Mapping[str, str], task: str) -> None:
    """Refuse what no column of a table can be."""
    for role in columns:
        if role not in KEYS:
            problem = f"unknown role {role!r}"
            raise MisuseError(f"{task}: columns", problem, advice=nearest(role, KEYS))


def _plain(value: Any) -> Any:
    """A cell as JSON has it; what is missing (None, NaN) is null."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, np.ndarray):
        return value.tolist()
    if value is None or isinstance(value, str | int | float | bool | list | dict):
        return value
    return str(value)
