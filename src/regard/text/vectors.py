"""Static word vectors. In: a file in word2vec's format. Out: the vectors of the words asked for.

    text      6103 128               "words dimensions" on the first line; may be missing (GloVe)
              the 0.11 -0.52 …       a word, then its numbers, one space between each
    binary    6103 128               the same first line, then for each word:
              its spelling, a space, 128 little-endian floats of 4 bytes

`.bin` is binary, any other name text; each may be gzipped (`.bin.gz`, `.vec.gz`). The file is read
as a stream and only the wanted words are kept: a file of three million words fits any machine.
A word that stands twice counts the first time. Numbers are looked at for wanted words only; that
each line has as many as the others is checked for all.
"""

import gzip
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from io import BufferedReader
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError

Vector = NDArray[np.float32]
VectorFile = BufferedReader | gzip.GzipFile

MOST_DIMENSIONS = 65_536  # as many as a model may have; more is a broken first line
LONGEST_WORD = 10_000  # bytes; further than this a binary file has no word
LONGEST_LINE = 1 << 22  # bytes of a line of text: MOST_DIMENSIONS numbers with all their digits
BLOCK = 1 << 20


def read_vectors(path: Path, wanted: Collection[str]) -> dict[str, Vector]:
    """Those of the wanted words that are in the file; a file that is not in order is an error."""
    with _opened(path) as file:
        read = _read_binary if _is_binary(path) else _read_text
        return read(file, path, wanted)


def read_dimensions(path: Path) -> int:
    """How many numbers the vectors of a file have, from its first line."""
    with _opened(path) as file:
        first = _first_line(file)
    header = _header(first, path)
    if header is not None:
        return header[1]
    if _is_binary(path):
        raise _no_header(path)
    return _dimensions_of(first, path)


@contextmanager
def _opened(path: Path) -> Iterator[VectorFile]:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield file
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise _broken(path, f"cannot be read: {reason}") from error


def _is_binary(path: Path) -> bool:
    return (path.with_suffix("") if path.suffix == ".gz" else path).suffix == ".bin"


def _first_line(file: VectorFile) -> bytes:
    return file.readline(LONGEST_LINE).removeprefix(b"\xef\xbb\xbf")  # some editors' mark


def _header(line: bytes, path: Path) -> tuple[int, int] | None:
    """(words, dimensions) if the line is a first line as word2vec writes it."""
    fields = line.split()
    if len(fields) != 2 or not all(part.isdigit() and len(part) < 12 for part in fields):
        return None
    words, dimensions = int(fields[0]), int(fields[1])
    if not 1 <= dimensions <= MOST_DIMENSIONS:
        raise _broken(path, f"says {dimensions} dimensions, expected 1 to {MOST_DIMENSIONS}")
    return words, dimensions


def _dimensions_of(line: bytes, path: Path) -> int:
    """The number of numbers in the first line of a file without header."""
    dimensions = len(line.split()) - 1
    if dimensions < 1:
        raise _broken(path, "line 1: expected a word and its numbers, with spaces between them")
    return dimensions


def _read_text(file: VectorFile, path: Path, wanted: Collection[str]) -> dict[str, Vector]:
    first = _first_line(file)
    header = _header(first, path)
    dimensions = header[1] if header else _dimensions_of(first, path)
    vectors: dict[str, Vector] = {}
    rest = iter(lambda: file.readline(LONGEST_LINE), b"")
    lines = rest if header else chain([first], rest)
    read = 0
    for number, line in enumerate(lines, start=2 if header else 1):
        if line.strip():
            read += 1
            where = f"line {number:,}"
            word, numbers = _fields(line, dimensions, where, path)
            if word in wanted and word not in vectors:
                vectors[word] = _checked(_numbers(numbers), word, where, path)
    if header is not None and read != header[0]:
        raise _broken(path, f"its first line says {header[0]:,} words, it holds {read:,}")
    return vectors


def _fields(line: bytes, dimensions: int, where: str, path: Path) -> tuple[str, list[bytes]]:
    """The word and its numbers, not yet read. Some published files have words with spaces."""
    fields = line.rstrip(b" \r\n").split(b" ")
    spelling, numbers = fields[:-dimensions], fields[-dimensions:]
    if not spelling or (len(spelling) > 1 and all(map(_is_number, spelling[1:]))):
        raise _broken(path, f"{where}: has {len(fields) - 1} numbers, expected {dimensions}")
    return _decoded(b" ".join(spelling), where, path), numbers


def _numbers(fields: list[bytes]) -> Vector:
    """The numbers; NaN where one cannot be read, infinite where it is beyond a float."""
    with np.errstate(over="ignore"):
        return np.array([float(f) if _is_number(f) else np.nan for f in fields], dtype=np.float32)


def _read_binary(file: VectorFile, path: Path, wanted: Collection[str]) -> dict[str, Vector]:
    header = _header(_first_line(file), path)
    if header is None:
        raise _no_header(path)
    words, dimensions = header
    vectors: dict[str, Vector] = {}
    width = 4 * dimensions
    buffer, start = b"", 0
    for number in range(1, words + 1):
        where = f"word {number:,} of {words:,}"
        space = buffer.find(b" ", start)
        while space < 0 or len(buffer) < space + 1 + width:
            block = file.read(BLOCK)
            if not block:
                raise _broken(path, f"ends within {where}; the file is cut off")
            if space < 0 and len(buffer) - start > LONGEST_WORD:
                raise _broken(path, f"{where}: has no end; expected its spelling and a space")
            buffer, start = buffer[start:] + block, 0
            space = buffer.find(b" ", start)
        word = _decoded(buffer[start:space].lstrip(b"\n"), where, path)
        start = space + 1 + width
        if word in wanted and word not in vectors:
            vector = np.frombuffer(buffer[space + 1 : start], dtype="<f4").astype(np.float32)
            vectors[word] = _checked(vector, word, where, path)
    return vectors


def _decoded(word: bytes, where: str, path: Path) -> str:
    try:
        return word.decode()
    except UnicodeDecodeError as error:
        raise _broken(path, f"{where}: the word {word[:40]!r} is not UTF-8") from error


def _checked(vector: Vector, word: str, where: str, path: Path) -> Vector:
    if not np.isfinite(vector).all():
        raise _broken(
            path, f'{where}: the vector of "{word}" holds something else than finite numbers'
        )
    return vector


def _is_number(part: bytes) -> bool:
    try:
        float(part)
    except ValueError:
        return False
    return True


def _no_header(path: Path) -> DataError:
    return _broken(
        path,
        'does not begin with "words dimensions"; a model of fastText ends in .bin too but is '
        "another format: take its .vec file",
    )


def _broken(path: Path, problem: str) -> DataError:
    return DataError(
        path,
        f"{problem}. Expected vectors in the text or binary (.bin) format of word2vec",
        advice="fetch or write the file again.",
    )
