"""What can be wrong with a line of a corpus; a line is counted in exactly one class."""

from enum import StrEnum


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
