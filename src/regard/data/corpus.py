"""Parallel text → clean pairs. In: files of a corpus. Out: pairs, and a report of the rest.

    two text files   line n of one is the translation of line n of the other
    a table          .tsv, .csv or .jsonl with a column for each side: data/table.py

each also as .gz. Where the pairs are documents (`Limits.documents`), each with a text that was made
of it, their lengths say nothing about whether they belong together, and a cell of .jsonl may be a
list: of a source its sentences, of a target several right answers, of which the first is learned
from. A file is read once, line by line, as bytes: memory stays flat whatever its size
or the length of a line, and a broken line never harms the next. Only "\\n" ends a line; a "\\r"
before it, a UTF-8 mark at the start and white space around a sentence are dropped. A bad line is
counted in exactly one class of `Problem` and left out; more than half bad is an error.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import zip_longest
from pathlib import Path

from regard.data.lines import CorpusRow, Problem, find_file, format_of, read_lines
from regard.data.report import Report
from regard.data.role import Role
from regard.data.table import READ, Table, is_table
from regard.errors import MisuseError


@dataclass(frozen=True)
class Limits:
    """What a pair of sentences may be; the ratio is asked only of pairs that are not short."""

    max_characters: int = 2000
    max_ratio: float = 9.0
    ratio_from: int = 20  # characters of the longer side above which the ratio counts
    documents: bool = False  # the ratio is not asked, and cells may be lists


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence and its translation, with the number (from 1) of the line they came from."""

    source: str
    target: str
    line: int


SIDES = (Role("source"), Role("target"))


def read_pairs(
    source: Path,
    target: Path | None,
    report: Report,
    limits: Limits = DEFAULT_LIMITS,
    sides: Sequence[Role] = SIDES,
) -> Iterator[Pair]:
    """Yield the good pairs in order and count the others in `report`.

    Misuse and absent files are raised at once; a corpus more than half bad at the end of the pass.
    `sides` say which columns of a table are meant, where that is known.
    """
    if is_table(source):
        if target is not None:
            kind = format_of(source)
            advice = f"leave out {target}."
            raise MisuseError(source, f"a {kind} file holds both sides", advice=advice)
        table = Table(source, sides, limits.max_characters)
        report.columns = table.chosen
        return _clean(_rows_of_table(table, limits.documents), report, limits)
    if target is None:
        raise MisuseError(
            f"{source}: a text file holds one side only; give the file of the other side as "
            "target, or name it .tsv (source TAB target), .csv or .jsonl."
        )
    if format_of(target) in READ:
        raise MisuseError(target, expected="a text file with one sentence per line.")
    if any(side.asked for side in sides):
        advice = "leave the column options out."
        raise MisuseError(source, "a text file has no columns", advice=advice)
    if os.path.samestat(find_file(source), find_file(target)):
        raise MisuseError(source, "source and target are the same file.")
    return _clean(_rows_of_two((source, target), report, limits), report, limits)


def _clean(rows: Iterator[CorpusRow], report: Report, limits: Limits) -> Iterator[Pair]:
    """Sort rows into pairs and problems, and judge the whole at the end."""
    for line, row in enumerate(rows, start=1):
        report.total += 1
        judged = row if isinstance(row, Problem) else _judge(*row, limits)
        if isinstance(judged, Problem):
            report.leave_out(judged, line)
        else:
            report.kept += 1
            yield Pair(*judged, line)
    report.check()


def _judge(source: str, target: str, limits: Limits) -> CorpusRow:
    """The pair without white space around it, or why it is not one."""
    source, target = source.strip(), target.strip()
    short, long = sorted((len(source), len(target)))
    if long > limits.max_characters:
        return Problem.TOO_LONG
    if "\0" in source or "\0" in target:
        return Problem.NUL
    if short == 0:
        return Problem.EMPTY
    if not limits.documents and long > limits.ratio_from and long > limits.max_ratio * short:
        return Problem.RATIO
    return source, target


def _rows_of_two(paths: tuple[Path, Path], report: Report, limits: Limits) -> Iterator[CorpusRow]:
    """Line by line from both files; what one has more than the other is surplus."""
    ended = Problem.SURPLUS
    lines = [read_lines(path, limits.max_characters) for path in paths]
    for one, other in zip_longest(*lines, fillvalue=ended):
        if isinstance(one, Problem) or isinstance(other, Problem):
            report.longer = str(paths[1] if one is ended else paths[0])
            yield Problem.SURPLUS
        elif one is None or other is None:
            yield Problem.TOO_LONG
        else:
            try:
                yield one.decode(), other.decode()
            except UnicodeDecodeError:
                yield Problem.ENCODING


def _rows_of_table(table: Table, documents: bool) -> Iterator[CorpusRow]:
    """Both sides from each row."""
    for row in table.rows:
        if isinstance(row, Problem):
            yield row
            continue
        if documents:
            yield _document(table.texts(row, "source"), table.texts(row, "target"))
            continue
        source, target = table.text(row, "source"), table.text(row, "target")
        problems = (side for side in (source, target) if isinstance(side, Problem))
        yield next(problems, (source, target))


def _document(source: list[str] | Problem, target: list[str] | Problem) -> CorpusRow:
    """The sentences of a source together, the first of its right answers."""
    if isinstance(source, Problem):
        return source
    if isinstance(target, Problem):
        return target
    return " ".join(text.strip() for text in source), next(iter(target), "")


def plain(text: str) -> str:
    """A text as two are compared: without regard to case and white space."""
    return " ".join(text.casefold().split())


def split_for_validation(source: str, *, fraction: float, seed: int = 0) -> bool:
    """Does the pair with this source go to validation? About `fraction` of all sources do.

    Decided by the text alone, without regard to case and white space, so that the same sentence
    never falls on both sides, in any order, file or run. For about n of N pairs: fraction n / N.
    """
    digest = blake2b(
        plain(source).encode(), digest_size=8, key=seed.to_bytes(8, "little", signed=True)
    ).digest()
    return int.from_bytes(digest, "little") < fraction * 2**64
