"""A download → the content of a file: unpacked, taken out of an archive, split or joined.

Tatoeba's pairs are one file at their origin. Here they are three, so that no English sentence is in
two of them: with n = SHA-256 of the lower-cased English sentence mod 1000,

               dev       test          left out       train
    German     n < 10    10 ≤ n < 20   20 ≤ n < 30    the rest
    Hindi      n < 40    40 ≤ n < 80   80 ≤ n < 120   the rest

What is left out is for a later test. The treebank's sample is 199 files at its origin, joined here.
The digits are one file at their origin and two here: with n of a line, those with n < 200 are test.
"""

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from zipfile import BadZipFile, ZipFile

from regard.datasets.fetch import MOST
from regard.datasets.table import DataFile, DataSet
from regard.errors import DataError

DIGITS_TEST = 200
CUTS = {"tatoeba-de": (10, 20, 30), "tatoeba-hi": (40, 80, 120)}


def content(dataset: DataSet, file: DataFile, download: Path) -> bytes:
    """What `file` of the set holds, unpacked; `download` is what lies at its address."""
    try:
        if dataset.make == "joined":
            return b"".join(_members(download, file.member))
        if dataset.make == "digits":
            lines = unpacked(download, is_packed=True).splitlines(keepends=True)
            part = file.name.split(".")[0]
            return b"".join(line for line in lines if _is_test(line) == (part == "test"))
        if dataset.make:
            pairs = b"".join(_members(download, file.member)).decode("utf-8")
            part = file.name.split(".")[1]
            return "".join(part_of_pairs(pairs, part, CUTS[dataset.make])).encode("utf-8")
        if file.member:
            return b"".join(_members(download, file.member))
        return unpacked(download, is_packed=dataset.address(file).endswith(".gz"))
    except (BadZipFile, OSError, zlib.error, UnicodeDecodeError) as error:
        problem = f"not the {'archive' if file.member else 'file'} that was expected ({error})"
        raise DataError(download, problem, advice="fetch it again") from None


def unpacked(path: Path, is_packed: bool) -> bytes:
    """The bytes of a file, of a gzipped one those inside."""
    if is_packed:
        try:
            with gzip.open(path) as packed:
                return _limited(packed, path)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DataError(path, f"got one with {error}", expected="a gzipped file") from None
    with path.open("rb") as file:
        return _limited(file, path)


def _limited(file: IO[bytes] | gzip.GzipFile, path: Path) -> bytes:
    """All that a file holds; a small archive may unpack to more than memory can take."""
    data = file.read(MOST + 1)
    if len(data) > MOST:
        advice = "no set of regard is so large"
        raise DataError(path, f"unpacks to over {MOST:,} bytes", advice=advice)
    return data


def _members(archive: Path, name: str) -> Iterator[bytes]:
    """The member of that name; of a folder ("…/") all files right in it, sorted by name."""
    with ZipFile(archive) as opened:
        inside = [
            member
            for member in sorted(opened.namelist())
            if member == name or (name.endswith("/") and _is_right_in(member, name))
        ]
        if not inside:
            raise DataError(archive, f"no {name} in it", advice="its origin has another layout now")
        for member in inside:
            with opened.open(member) as file:
                yield _limited(file, archive)


def _is_right_in(member: str, folder: str) -> bool:
    return member.startswith(folder) and bool(rest := member[len(folder) :]) and "/" not in rest


def part_of_pairs(text: str, part: str, cuts: tuple[int, int, int]) -> Iterator[str]:
    """Lines `English, tab, translation` of one part; other columns go, and pairs that came before.

    Lines end with a line feed and nothing else: sentences may hold the rarer marks that Python
    counts as ends of lines too.
    """
    seen = set[tuple[str, str]]()
    for line in text.split("\n"):
        english, tab, rest = line.rstrip("\r").partition("\t")
        pair = (english, rest.split("\t")[0])
        if tab and all(side.strip() for side in pair) and pair not in seen:
            seen.add(pair)
            if part_of(english, cuts) == part:
                yield f"{pair[0]}\t{pair[1]}\n"


def _is_test(line: bytes) -> bool:
    return int(hashlib.sha256(line.strip()).hexdigest(), 16) % 1000 < DIGITS_TEST


def part_of(english: str, cuts: tuple[int, int, int]) -> str:
    """The part that a sentence belongs to: dev, test, train, or "" where it is left out."""
    n = int(hashlib.sha256(english.lower().encode("utf-8")).hexdigest(), 16) % 1000
    return next(
        (name for name, cut in zip(("dev", "test", ""), cuts, strict=True) if n < cut), "train"
    )
