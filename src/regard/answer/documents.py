"""Files, folders and tables → documents, each with a name: what `regard summarize` reads.

A file of text is one document, a folder as many as it has text files (data/passages.py), a table
(data/table.py) one for each row; a cell of .jsonl that is a list of sentences is their text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.answer.table_files import MOST_CHARACTERS
from regard.data.lines import Problem, find_file
from regard.data.passages import MAX_FILE, SUFFIXES, survey
from regard.data.report import Report
from regard.data.role import Role
from regard.data.table import Table, is_table
from regard.errors import DataError, MisuseError
from regard.runs.columns import data_of
from regard.runs.folder import RunFolder
from regard.untrusted import opened


@dataclass(frozen=True)
class Document:
    """A text and what to call it."""

    name: str
    text: str


def read_documents(
    paths: Sequence[Path], column: str, model: Path, report: Report
) -> list[Document]:
    """All documents of these paths; `column` is that of tables, or the one of the run `model`."""
    if column and not any(is_table(path) for path in paths):
        raise MisuseError("--text-column", "belongs to a table", advice="leave it out")
    return [one for path in paths for one in _documents(path, column, model, report)]


def _documents(path: Path, column: str, model: Path, report: Report) -> Iterator[Document]:
    if path.is_dir():
        found = survey(path)
        if not found.files:
            raise DataError(path, "holds no text file", expected=", ".join(SUFFIXES))
        for name, file in found.files.items():
            yield Document(name, file_text(file))
    elif is_table(path):
        yield from _rows(path, column, model, report)
    else:
        find_file(path)
        yield Document(str(path), file_text(path))


def _rows(path: Path, column: str, model: Path, report: Report) -> Iterator[Document]:
    data = data_of(RunFolder(model))
    remembered = "" if data is None else data.text or data.source_column
    table = Table(path, [Role("text", column, remembered)], MOST_CHARACTERS)
    report.columns = table.chosen
    for number, row in enumerate(table.rows, start=1):
        cells = row if isinstance(row, Problem) else table.texts(row, "text")
        if isinstance(cells, Problem):
            if cells is not Problem.EMPTY:
                advice = "correct it, or name another column with --text-column"
                raise DataError(f"{path}: row {number}", cells.value, advice=advice)
            cells = []
        report.total = report.kept = number
        yield Document(f"{path.name}:{number}", " ".join(cell.strip() for cell in cells))


def file_text(path: Path) -> str:
    """The text of a file; an error where it holds none."""
    with opened(path) as file:
        data = file.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise DataError(path, "too long", expected=f"at most {MAX_FILE >> 20} MB of text")
    return document_text(data, str(path))


def document_text(data: bytes, name: str) -> str:
    """Bytes as text; what is none, or blank, is an error."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(name, f"line {line} is not valid UTF-8", expected="text") from None
    if "\0" in text:
        raise DataError(name, "holds NUL characters", expected="text, not a binary file")
    if not text.strip():
        raise DataError(name, "the document is empty", expected="a text")
    return text
