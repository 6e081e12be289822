"""What cells look like: numbers, texts, labels; and whether a first row surely names columns."""

import re
from collections.abc import Sequence

from regard.data.column_names import known_places, language_places
from regard.data.role import ColumnValues, Role

MISSING = ("", "-", "na", "n/a", "nan", "null", "none")
_NUMBER = re.compile(r"[+-]?[\d.,:/ %-]*\d[\d.,:/ %-]*(e[+-]?\d+)?", re.IGNORECASE)
_NO_SPACES = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u4e00-\u9fff]{4}")  # Thai, Lao, CJK


def cells_of(rows: Sequence[ColumnValues], place: int) -> list[str]:
    """A column without its empty cells."""
    cells = (row[place] for row in rows if place < len(row) and row[place] is not None)
    return [text for cell in cells if (text := str(cell).strip())]


def is_number(cell: str) -> bool:
    """Numbers as tables hold them: dates, times and shares too."""
    return bool(_NUMBER.fullmatch(cell))


def holds_words(cells: Sequence[str]) -> bool:
    """Most have several words, and they are not all the same."""
    if len(cells) > 1 and len(set(cells)) == 1:
        return False
    long = [c for c in cells if len(c.split()) > 1 or _NO_SPACES.search(c)]
    worded = [c for c in long if not is_number(c)]
    return 2 * len(worded) >= len(cells) > 0


def holds_texts(cells: Sequence[str]) -> bool:
    """Most have several words, and most come once."""
    return holds_words(cells) and not come_again(cells)


def come_again(cells: Sequence[str]) -> bool:
    """Whether the same values stand in many rows, as labels do."""
    return len(cells) >= 4 and 2 * len(set(cells)) <= len(cells)


def _counts_up(cells: Sequence[str]) -> bool:
    """Numbers of rows: 1, 2, 3 …"""
    return all(c.isdigit() for c in cells) and all(
        int(b) > int(a) for a, b in zip(cells, cells[1:], strict=False)
    )


def is_header(first: ColumnValues, rest: Sequence[ColumnValues], roles: Sequence[Role]) -> bool:
    """Whether the first row surely names the columns. In doubt it does not: it is a row."""
    cells = [str(cell).strip() for cell in first]
    folded = [cell.casefold() for cell in cells]
    wanted = {w.casefold() for role in roles for w in (role.asked, role.remembered) if w}
    if any(not name.isdigit() and name in folded for name in wanted):
        return True
    filled = [cell for cell in folded if cell]
    looks_so = all(len(c) <= 40 and len(c.split()) <= 4 and c[-1] not in ".!?…" for c in filled)
    if not filled or len({*filled}) < len(filled) or not looks_so or any(map(is_number, filled)):
        return False
    below = [cells_of(rest, n) for n in range(len(cells))]
    if any(cell in column for cell, column in zip(cells, below, strict=True) if cell):
        return False  # a value like others
    is_named = {role.name: bool(known_places(role.known_as, cells)) for role in roles}
    if {"source", "target"} <= {*is_named}:
        named = all(is_named.values()) or len(language_places(cells)) > 1
    else:
        named = any(is_named.values())
    return named or _is_unlike(filled, cells, below, roles)


def _is_unlike(
    filled: Sequence[str], cells: Sequence[str], below: Sequence[list[str]], roles: Sequence[Role]
) -> bool:
    """A word above numbers, or above sentences that are labelled."""
    for cell, column in zip(cells, below, strict=True):
        is_word = cell.casefold() not in MISSING and not is_number(cell)
        if is_word and len(column) >= 2 and all(map(is_number, column)):
            return True
        if not {"source", "target"} & {role.name for role in roles} and len(column) >= 5:
            longer = all(len(c.split()) >= 3 and len(c) > 2 * len(cell) for c in column)
            if cell and longer and all(len(c.split()) <= 2 for c in filled):
                return True
    return False


def is_score(cells: Sequence[str]) -> bool:
    """Numbers, and not those of the rows."""
    return bool(cells) and all(map(is_number, cells)) and not (_counts_up(cells) and len(cells) > 3)
