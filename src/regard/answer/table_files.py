"""Texts and their answers in and out of tables: .csv, .tsv, .jsonl."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from regard import atomic
from regard.data.corpus import Limits
from regard.data.labelled import Columns, Labelled, read_labelled
from regard.data.lines import Problem
from regard.data.report import Report
from regard.data.table import FORMATS, Table
from regard.errors import DataError, MisuseError
from regard.runs.columns import data_of, role_of
from regard.runs.folder import RunFolder
from regard.valid_json import valid_json

Value = Any  # text, a number, None; in .jsonl whatever JSON holds
MOST_CHARACTERS = 1_000_000  # of a text


def check_output(path: Path) -> None:
    """Refuse a name that says no format, before anything slow begins."""
    if path.suffix not in FORMATS:
        raise MisuseError(path, expected=f"a name that ends in {', '.join(FORMATS)}")


def read_unlabelled(
    path: Path, folder: Path, columns: Mapping[str, str], report: Report
) -> list[Labelled]:
    """The texts of a table with all cells of their rows; it needs no labels.

    `columns` are those that the user names; else they are those of the run in `folder`, if it is
    one, and else they are found.
    """
    data = data_of(RunFolder(folder))
    has_pair = bool(columns.get("pair") or (data and data.pair))
    pair = role_of("pair", data, columns) if has_pair else None
    roles = Columns(role_of("text", data, columns), pair, None)
    return list(read_labelled(path, roles, report, Limits(MOST_CHARACTERS), keep=True))


def column_texts(
    path: Path, roles: Sequence[str], columns: Mapping[str, str], folder: Path, report: Report
) -> list[list[str]]:
    """The texts of each row in these columns, empty ones too: a row in is a row out.

    A row that cannot be read is an error, since its answer would be missing.
    """
    data = data_of(RunFolder(folder))
    table = Table(path, [role_of(role, data, columns) for role in roles], MOST_CHARACTERS)
    report.columns = table.chosen
    rows = []
    for number, row in enumerate(table.rows, start=1):
        if row is Problem.EMPTY:
            rows.append([""] * len(roles))
            continue
        cells = [row if isinstance(row, Problem) else table.text(row, role) for role in roles]
        for cell in cells:
            if isinstance(cell, Problem):
                advice = "correct it, or leave it out"
                raise DataError(f"{path}: row {number}", cell.value, advice=advice)
        rows.append([str(cell) for cell in cells])
    report.total = report.kept = len(rows)
    return rows


def added_names(names: Sequence[str], new: Sequence[str]) -> list[str]:
    """Names for columns that are added to a table, none of which it has already."""
    taken, added = {name.casefold() for name in names}, []
    for name in new:
        chosen, number = name, 1
        while chosen.casefold() in taken:
            chosen = f"predicted_{name}" if number == 1 else f"predicted_{name}_{number}"
            number += 1
        taken.add(chosen.casefold())
        added.append(chosen)
    return added


def names_of(report: Report, rows: Sequence[Labelled]) -> list[str]:
    """The columns of a table that was read, all of them named, in its order."""
    width = max((len(row.cells) for row in rows), default=0)
    names = list(report.columns.names) if report.columns else []
    names += [""] * (width - len(names))
    unique: list[str] = []
    for number, name in enumerate(names, start=1):
        unique.append(name if name and name not in unique else f"column_{number}")
    return unique


def write_table(path: Path, names: Sequence[str], rows: Iterable[Sequence[Value]]) -> None:
    """Write rows with these columns, whole or not at all."""
    check_output(path)
    if path.suffix == ".jsonl":
        objects = (dict(zip(names, row, strict=True)) for row in rows)
        lines = (valid_json(row, gaps=True) for row in objects)
        atomic.write_text(path, "".join(f"{line}\n" for line in lines))
        return
    table = io.StringIO()
    if path.suffix == ".csv":
        writer = csv.writer(table, lineterminator="\n")
        writer.writerows([list(names), *(map(_cell, row) for row in rows)])
    else:
        for row in (names, *rows):  # a tab or a line break inside a text would make another row
            table.write("\t".join(" ".join(str(_cell(v)).split()) for v in row) + "\n")
    atomic.write_text(path, table.getvalue())


def _cell(value: Value) -> str | float:
    """As a cell of .csv and .tsv; lists and objects of .jsonl as JSON."""
    if isinstance(value, list | dict | bool):
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else value
