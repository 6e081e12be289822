"""The lines of a file, gzipped or not, as bytes, and what can be wrong with one.

Memory stays flat however long a line is. A bad line is counted in exactly one class.
"""

import gzip
import os
import zlib
from collections.abc import Iterator
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from stat import S_ISDIR

from regard.errors import DataError


class Problem(StrEnum):
    """Why a line is left out, in the order in which a report names the reasons."""

    SURPLUS = "no partner line (files of unequal length)"
    TOO_LONG = "too long"
    ENCODING = "invalid UTF-8"
    MALFORMED = "malformed row"
    NUL = "NUL character"
    EMPTY = "empty side"
    RATIO = "absurd length ratio"
    UNLABELLED = "no label"
    MISPLACED = "an answer that is not where its place says"


CorpusRow = tuple[str, str] | Problem
Cells = list[str] | Problem
RawLine = bytes | None  # None: longer than anyone wants


def format_of(path: Path) -> str:
    """The ending that says what is in a file; that of an archive is the one before .gz."""
    return (path.with_suffix("") if path.suffix == ".gz" else path).suffix


def find_file(path: Path) -> os.stat_result:
    """The file's status, or an error that names what lies beside it."""
    try:
        status = path.stat()
    except FileNotFoundError as error:
        beside = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        close = get_close_matches(path.name, beside, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(close)}?" if close else "; check the path."
        raise DataError(path, "there is no such file", advice=hint) from error
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}.") from error
    if S_ISDIR(status.st_mode):
        raise DataError(path, "is a folder", expected="a file of sentences.")
    return status


def read_lines(path: Path, max_characters: int) -> Iterator[RawLine]:
    """Lines without their end; a line beyond all bounds is skipped in parts and given as None."""
    most = max(1 << 20, 16 * max_characters)  # bytes; JSON can take 12 for a character
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
        problem = f"broken after {count:,} lines: {error}. Fetch or compress the file again."
        raise DataError(path, problem) from error


def decoded(line: RawLine) -> str | Problem:
    """A line as text, or why it is none."""
    try:
        return Problem.TOO_LONG if line is None else line.decode()
    except UnicodeDecodeError:
        return Problem.ENCODING


def _without_mark(first: bytes, path: Path) -> bytes:
    if first.startswith((b"\xff\xfe", b"\xfe\xff")):
        advice = "convert it: iconv -f utf-16 -t utf-8"
        raise DataError(path, "is UTF-16", expected="UTF-8", advice=advice)
    if not first.endswith(b"\n") and first.count(b"\r") > 1:  # all of the file is one line
        advice = "convert: tr '\\r' '\\n' < old > new"
        raise DataError(path, "its lines end in \\r alone", expected="\\n", advice=advice)
    return first.removeprefix(b"\xef\xbb\xbf")
