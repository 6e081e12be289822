"""Words with tags, as CoNLL writes them. In: a text file, gzipped or not. Out: sentences, a report.

    The     determiner      a word and its tag on a line, a tab or spaces between them;
    dogs    noun            an empty line ends a sentence
    sleep   verb

Where lines have more columns, numbers (from 1) say which two are meant. CoNLL-2003's lines
"-DOCSTART-" are no sentences. A sentence with a bad line is counted in one class and left out.
"""

from collections.abc import Iterator
from pathlib import Path

from regard.data.corpus import Limits
from regard.data.labelled import Labelled
from regard.data.lines import Problem, RawLine, decoded, find_file, read_lines
from regard.data.report import Report
from regard.errors import DataError, MisuseError

DOCUMENT = "-DOCSTART-"
TABLES = (".csv", ".jsonl", ".json")


def read_tagged(
    path: Path, word: str, tag: str, report: Report, limits: Limits
) -> Iterator[Labelled]:
    """Yield the good sentences: words with a space between each two, and their tags.

    `word` and `tag` are numbers of columns; names mean the first and the second of two.
    """
    if {*path.suffixes} & {*TABLES}:
        raise MisuseError(
            f"{path}: expected words with tags as CoNLL writes them: a word, a tab and its tag on "
            "a line, an empty line between sentences"
        )
    find_file(path)
    report.unit = "sentence"
    columns = None
    if word.isdigit() or tag.isdigit():
        columns = (int(word) - 1 if word.isdigit() else 0, int(tag) - 1 if tag.isdigit() else 1)
        if min(columns) < 0:
            raise MisuseError("data.text, data.label: columns are counted from 1, got 0")
    return _clean(read_lines(path, limits.max_characters), columns, path, report, limits)


def _clean(
    lines: Iterator[RawLine],
    columns: tuple[int, int] | None,
    path: Path,
    report: Report,
    limits: Limits,
) -> Iterator[Labelled]:
    for number, rows in _sentences(lines, columns, limits):
        if isinstance(rows, list) and all(word == DOCUMENT for word, _ in rows):
            continue
        report.total += 1
        if isinstance(rows, Problem):
            report.leave_out(rows, number)
            continue
        report.kept += 1
        words, tags = zip(*rows, strict=True)
        yield Labelled(" ".join(words), None, tags, number)
    if report.kept == 0 or report.kept * 2 < report.total:
        what = "more than half of its sentences are unusable" if report.kept else "no sentence"
        what = f"{what} is usable" if not report.kept else what
        advice = (
            "Expected a word and its tag on a line and an empty line between sentences; where "
            'there are more columns, say which ones with data.text and data.label ("1", "4").'
        )
        raise DataError("\n  ".join([f"{path}: {what}.", *report.lines(), advice]))


def _sentences(
    lines: Iterator[RawLine], columns: tuple[int, int] | None, limits: Limits
) -> Iterator[tuple[int, list[tuple[str, str]] | Problem]]:
    """Where each sentence begins, and its words with tags, or the first thing wrong with it."""
    begin, rows, problem, size = 0, list[tuple[str, str]](), None, 0
    number = 0
    for number, line in enumerate(lines, start=1):
        if line is not None and not line.strip():
            if begin:
                yield begin, problem or rows
            begin, rows, problem, size = 0, [], None, 0
            continue
        begin = begin or number
        if problem is not None:
            continue
        text = decoded(line)
        row = text if isinstance(text, Problem) else _row(text.strip(), columns)
        if isinstance(row, Problem):
            problem, rows = row, []
            continue
        rows.append(row)
        size += len(row[0]) + 1
        if size > limits.max_characters:
            problem, rows = Problem.TOO_LONG, []
    if begin:
        yield begin, problem or rows


def _row(text: str, columns: tuple[int, int] | None) -> tuple[str, str] | Problem:
    if "\0" in text:
        return Problem.NUL
    cells = [cell.strip() for cell in (text.split("\t") if "\t" in text else text.split())]
    if len(cells) <= max(columns or (0, 1)):
        return Problem.UNLABELLED
    if columns is None and len(cells) > 2:
        return Problem.MALFORMED
    word, tag = (cells[place] for place in columns or (0, 1))
    if not tag:
        return Problem.UNLABELLED
    return (word, tag) if len(word.split()) == 1 else Problem.MALFORMED
