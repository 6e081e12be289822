"""Parallel text → clean pairs. In: files of a corpus. Out: pairs, and a report of the rest.

    two text files   line n of one is the translation of line n of the other
    name.tsv         source TAB target; further columns are ignored
    name.csv         source, target: data/csv_rows.py
    name.jsonl       {"source": …, "target": …}, or "src"/"tgt", or Hugging Face's
                     {"translation": {"en": …, "de": …}}: the first row's order gives the direction

each also as .gz. A file is read once, line by line, as bytes: memory stays flat whatever its size
or the length of a line, and a broken line never harms the next. Only "\\n" ends a line; a "\\r"
before it, a UTF-8 mark at the start and white space around a sentence are dropped. A bad line is
counted in exactly one class of `Problem` and left out; more than half bad is an error.
"""

import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from hashlib import blake2b
from itertools import zip_longest
from pathlib import Path
from stat import S_ISDIR

from regard.data.csv_rows import read_csv
from regard.data.problem import Line, Row
from regard.data.problem import Problem as Problem
from regard.draw.counted import counted
from regard.errors import DataError, MisuseError

SHOWN_LINES = 5
"""How many line numbers of each class of bad line a report keeps."""


@dataclass(frozen=True)
class Limits:
    """What a pair of sentences may be; the ratio is asked only of pairs that are not short."""

    max_characters: int = 2000
    max_ratio: float = 9.0
    ratio_from: int = 20  # characters of the longer side above which the ratio counts


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence and its translation, with the number (from 1) of the line they came from."""

    source: str
    target: str
    line: int


@dataclass
class Report:
    """Exact counts of what was read: total = kept + the sum of bad."""

    total: int = 0
    kept: int = 0
    bad: dict[Problem, int] = field(default_factory=dict)
    first_lines: dict[Problem, list[int]] = field(default_factory=dict)
    longer: str = ""  # which of two unequal files holds the surplus
    direction: str = ""  # of {"translation": …} rows, e.g. "en → de"
    unit: str = "line"  # what is counted

    def leave_out(self, problem: Problem, line: int) -> None:
        """Count one bad line."""
        self.bad[problem] = self.bad.get(problem, 0) + 1
        lines = self.first_lines.setdefault(problem, [])
        if len(lines) < SHOWN_LINES:
            lines.append(line)

    def lines(self) -> list[str]:
        """Sentences for a person: the sum first, then one line per class of bad line."""
        left_out = self.total - self.kept
        said = [
            f"{counted(self.total, self.unit)} read, {self.kept:,} kept, {left_out:,} left out."
        ]
        if self.direction:
            said.append(f"Direction of the rows: {self.direction}.")
        for problem in Problem:
            if count := self.bad.get(problem, 0):
                shown = ", ".join(str(line) for line in self.first_lines[problem])
                more = ", …" if count > SHOWN_LINES else ""
                where = f" in {self.longer}" if problem is Problem.SURPLUS else ""
                lines = counted(count, self.unit)
                said.append(f"{problem.value}{where}: {lines} ({shown}{more}).")
        if Problem.SURPLUS in self.bad:
            said.append(
                "If a line is missing in the middle, all later pairs are wrong: look at both."
            )
        return said

    def check(self) -> None:
        """Refuse a corpus of which more than half is bad, or nothing is left."""
        left_out = self.total - self.kept
        if self.kept == 0 or left_out * 2 > self.total:
            what = "more than half of the corpus is unusable" if self.kept else "no usable pair"
            raise DataError(
                "\n  ".join([f"corpus: {what}.", *self.lines()])
                + "\n  Look at these lines, and whether the two sides belong together."
            )


def read_pairs(
    source: Path, target: Path | None, report: Report, limits: Limits = DEFAULT_LIMITS
) -> Iterator[Pair]:
    """Yield the good pairs in order and count the others in `report`.

    Misuse and absent files are raised at once; a corpus more than half bad at the end of the pass.
    """
    suffix = format_of(source)
    if suffix in _ONE_FILE:
        if target is not None:
            raise MisuseError(f"{source}: a {suffix} file holds both sides; leave out {target}.")
        find_file(source)
        lines = read_lines(source, limits)
        if suffix == ".csv":
            return _clean(read_csv(lines, limits.max_characters), report, limits)
        return _clean(_rows_of_one(lines, _ROW_READERS[suffix](report)), report, limits)
    if target is None:
        raise MisuseError(
            f"{source}: a text file holds one side only; give the file of the other side as "
            "target, or name it .tsv (source TAB target), .csv or .jsonl."
        )
    if format_of(target) in _ONE_FILE:
        raise MisuseError(f"{target}: expected a text file with one sentence per line.")
    if os.path.samestat(find_file(source), find_file(target)):
        raise MisuseError(f"{source}: source and target are the same file.")
    return _clean(_rows_of_two((source, target), report, limits), report, limits)


def _clean(rows: Iterator[Row], report: Report, limits: Limits) -> Iterator[Pair]:
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


def _judge(source: str, target: str, limits: Limits) -> Row:
    """The pair without white space around it, or why it is not one."""
    source, target = source.strip(), target.strip()
    short, long = sorted((len(source), len(target)))
    if long > limits.max_characters:
        return Problem.TOO_LONG
    if "\0" in source or "\0" in target:
        return Problem.NUL
    if short == 0:
        return Problem.EMPTY
    if long > limits.ratio_from and long > limits.max_ratio * short:
        return Problem.RATIO
    return source, target


def format_of(path: Path) -> str:
    return (path.with_suffix("") if path.suffix == ".gz" else path).suffix


def find_file(path: Path) -> os.stat_result:
    """The file's status, or an error that names what lies beside it."""
    try:
        found = path.stat()
    except FileNotFoundError as error:
        beside = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        close = get_close_matches(path.name, beside, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(close)}?" if close else "; check the path."
        raise DataError(f"{path}: there is no such file{hint}") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}.") from error
    if S_ISDIR(found.st_mode):
        raise DataError(f"{path}: is a folder; expected a file of sentences.")
    return found


def read_lines(path: Path, limits: Limits) -> Iterator[Line]:
    """Lines without their end; a line beyond all bounds is skipped in parts and given as None."""
    most = max(1 << 20, 16 * limits.max_characters)  # bytes; JSON can take 12 for a character
    count = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            while line := file.readline(most):
                is_whole = line.endswith(b"\n") or len(line) < most
                if count == 0:
                    line = _without_mark(line, path)
                count += 1
                yield line.removesuffix(b"\n") if is_whole else None
                while not is_whole:
                    rest = file.readline(most)
                    is_whole = rest.endswith(b"\n") or not rest
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"{path}: broken after {count:,} lines: {error}. Fetch or compress the file again."
        ) from error


def _without_mark(first: bytes, path: Path) -> bytes:
    if first.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{path}: is UTF-16, expected UTF-8; convert it: iconv -f utf-16 -t utf-8")
    if not first.endswith(b"\n") and first.count(b"\r") > 1:  # all of the file is one line
        raise DataError(
            f"{path}: its lines end in \\r alone, expected \\n; convert: tr '\\r' '\\n' < old > new"
        )
    return first.removeprefix(b"\xef\xbb\xbf")


def _rows_of_two(paths: tuple[Path, Path], report: Report, limits: Limits) -> Iterator[Row]:
    """Line by line from both files; what one has more than the other is surplus."""
    ended = Problem.SURPLUS
    lines = [read_lines(path, limits) for path in paths]
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


def _rows_of_one(lines: Iterator[Line], read_row: Callable[[str], Row]) -> Iterator[Row]:
    """Both sides from each line of one file."""
    for line in lines:
        if line is None:
            yield Problem.TOO_LONG
            continue
        try:
            yield read_row(line.decode())
        except UnicodeDecodeError:
            yield Problem.ENCODING


def _tsv_reader(_: Report) -> Callable[[str], Row]:
    def read_row(line: str) -> Row:
        source, tab, rest = line.partition("\t")
        return (source, rest.partition("\t")[0]) if tab else Problem.MALFORMED

    return read_row


def _jsonl_reader(report: Report) -> Callable[[str], Row]:
    languages: list[str] = []  # of {"translation": …}: the first row's order holds for the file

    def read_row(line: str) -> Row:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            return Problem.MALFORMED
        if not isinstance(row, dict):
            return Problem.MALFORMED
        source, target = ("source", "target") if "source" in row else ("src", "tgt")
        if isinstance(row.get("translation"), dict):
            row = row["translation"]
            if not languages and len(row) == 2:
                languages.extend(row)
                report.direction = " → ".join(languages)
            source, target = languages or (source, target)
        return _two_strings(row.get(source), row.get(target))

    return read_row


def _two_strings(source: object, target: object) -> Row:
    if not isinstance(source, str) or not isinstance(target, str):
        return Problem.MALFORMED
    try:
        (source + target).encode()  # JSON can spell "\ud800", which is no text
    except UnicodeEncodeError:
        return Problem.ENCODING
    return source, target


_ROW_READERS = {".tsv": _tsv_reader, ".jsonl": _jsonl_reader}
_ONE_FILE = (".csv", *_ROW_READERS)  # formats that hold both sides


def split_for_validation(source: str, *, fraction: float, seed: int = 0) -> bool:
    """Does the pair with this source go to validation? About `fraction` of all sources do.

    Decided by the text alone, without regard to case and white space, so that the same sentence
    never falls on both sides, in any order, file or run. For about n of N pairs: fraction n / N.
    """
    text = " ".join(source.casefold().split()).encode()
    digest = blake2b(text, digest_size=8, key=seed.to_bytes(8, "little", signed=True)).digest()
    return int.from_bytes(digest, "little") < fraction * 2**64
