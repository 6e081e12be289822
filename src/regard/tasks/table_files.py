"""Texts and their answers in and out of tables: .csv, .tsv, .jsonl."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from regard import atomic
from regard.data.corpus import Limits, Report
from regard.data.labelled import FORMATS, Columns, Labelled, read_labelled
from regard.errors import MisuseError

Value = str | float | None


def check_output(path: Path) -> None:
    """Refuse a name that says no format, before anything slow begins."""
    if path.suffix not in FORMATS:
        raise MisuseError(f"{path}: expected a name that ends in {', '.join(FORMATS)}")


def read_unlabelled(path: Path, text: str, pair: str, report: Report) -> list[Labelled]:
    """The texts of a table; it needs no labels."""
    return list(read_labelled(path, Columns(text, pair, label=""), report, Limits(1_000_000)))


def write_table(path: Path, names: Sequence[str], rows: Iterable[Sequence[Value]]) -> None:
    """Write rows with these columns, whole or not at all."""
    check_output(path)
    if path.suffix == ".jsonl":
        objects = (dict(zip(names, row, strict=True)) for row in rows)
        lines = (json.dumps(row, ensure_ascii=False) for row in objects)
        atomic.write_text(path, "".join(f"{line}\n" for line in lines))
        return
    made = io.StringIO()
    if path.suffix == ".csv":
        writer = csv.writer(made, lineterminator="\n")
        writer.writerows([list(names), *(["" if v is None else v for v in row] for row in rows)])
    else:
        for row in (names, *rows):  # a tab or a line break inside a text would make another row
            made.write("\t".join(" ".join(str("" if v is None else v).split()) for v in row) + "\n")
    atomic.write_text(path, made.getvalue())
