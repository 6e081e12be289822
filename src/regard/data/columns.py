"""Which columns of a table are meant, and whether its first row names them.

A column is found, in this order,

    by its name or number     as the user said it; one that is not there is an error
    by its name               as the run that asks remembers it from training
    by its name               as such columns are called (column_names.py)
    by what is in it          the only column of texts, the only one whose values come again
    by its place              where there are just as many columns as are looked for

and what is found is always said. Where nothing fits, or two columns do, that is said too, with all
columns and the option to give: a wrong column would be answered without a word.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regard.data.column_names import known_places, language_places
from regard.data.header import cells_of, come_again, holds_texts, holds_words, is_header, is_score
from regard.data.role import OPTIONS, SENTENCES, ColumnValues, Role
from regard.errors import MisuseError, nearest

EXAMPLE = 24  # characters of a cell that an error shows
ENOUGH = 5  # rows from which on a column of another order is believed
MOST_SHOWN = 20  # columns that an error lists


@dataclass(frozen=True)
class ChosenColumns:
    """Which columns are meant: places from 0 by role, and the names of all, where there are any."""

    places: Mapping[str, int]
    names: list[str]  # empty: the table has no row of names
    numbered: bool = True  # not in .jsonl
    guessed: Sequence[str] = field(default_factory=tuple)  # roles that no name and no place gave

    def said(self) -> str:
        """For a person: `text = column 2 'message', label = column 3 'category'`."""
        shown = ", ".join(f"{role} = {self._column(n)}" for role, n in self.places.items())
        by = f" (by what is in {'them' if len(self.guessed) > 1 else 'it'})" if self.guessed else ""
        return shown + by + ("" if self.names else " (no row of names)")

    def _column(self, place: int) -> str:
        name = repr(self.names[place]) if self.names else ""
        return f"column {place + 1} {name}".rstrip() if self.numbered else name

    def key(self, role: str) -> str:
        """What a recipe remembers of a column: its name, or else its number."""
        place = self.places[role]
        name = self.names[place].strip() if self.names else ""
        is_clear = name and not name.isdigit() and self.names.count(self.names[place]) == 1
        return name if is_clear else str(place + 1)


def choose_columns(
    path: Path, rows: Sequence[ColumnValues], roles: Sequence[Role], keys: list[str] | None = None
) -> ChosenColumns:
    """The columns of a table, by its first rows.

    `keys` are those of .jsonl; the list is kept, since later rows may add some.
    """
    width = len(keys) if keys is not None else _width(rows, len(roles))
    names = keys if keys is not None else []
    if keys is None and is_header(rows[0], rows[1:], roles):
        names = [str(cell).strip() for cell in rows[0]]
        names += [""] * (width - len(names))
        rows = rows[1:]
    search = _Search(path, names, [cells_of(rows, n) for n in range(width)], keys is None)
    places, guessed = search.places(roles)
    return ChosenColumns(places, names, keys is None, guessed)


def _width(rows: Sequence[ColumnValues], least: int) -> int:
    """How many columns most rows have; a short row is one that lacks something."""
    counts = Counter(len(row) for row in rows if len(row) >= least)
    return counts.most_common(1)[0][0] if counts else len(rows[0])


class _Search:
    """One table's columns, to be given to roles."""

    def __init__(
        self, path: Path, names: list[str], columns: list[list[str]], numbered: bool
    ) -> None:
        self.path, self.names, self.columns, self.numbered = path, names, columns, numbered
        self.taken: dict[str, int] = {}
        self.guessed: list[str] = []

    def places(self, roles: Sequence[Role]) -> tuple[dict[str, int], list[str]]:
        for role in roles:
            if role.asked and (place := self._asked(role)) is not None:
                self._take(role, place)
        for role in self._open(roles):
            place = self._named(role.remembered)
            if place is not None and place not in self.taken.values():
                self._take(role, place)
        if {"source", "target"} <= {role.name for role in roles}:
            self._by_languages(roles)
        else:
            self._by_known_names(roles)
        self._by_number(roles)
        self._by_content(roles)
        self._in_order(roles)
        for role in self._open(roles):
            if role.required:
                raise MisuseError(self._unclear(role))
        return {role.name: self.taken[role.name] for role in roles if role.name in self.taken}, [
            name for name in self.guessed if name in self.taken
        ]

    def _open(self, roles: Sequence[Role]) -> list[Role]:
        return [role for role in roles if role.name not in self.taken]

    def _free(self) -> list[int]:
        return [n for n in range(len(self.columns)) if n not in self.taken.values()]

    def _take(self, role: Role, place: int) -> None:
        other = [name for name, n in self.taken.items() if n == place]
        if other:
            problem = f"{other[0]} and {role.name} are both column {place + 1}"
            advice = f"{self._listed()}. Say which ones with {OPTIONS[role.name]}"
            raise MisuseError(self.path, problem, advice=advice)
        self.taken[role.name] = place

    def _named(self, name: str) -> int | None:
        """The column of this very name."""
        folded = [each.casefold() for each in self.names]
        wanted = name.strip().casefold()
        return folded.index(wanted) if wanted and wanted in folded else None

    def _asked(self, role: Role) -> int | None:
        place = self._named(role.asked)
        if place is not None:
            return place
        if role.asked.isdigit():
            if not 1 <= int(role.asked) <= len(self.columns):
                problem = f"has no column {role.asked} (for {role.name})"
                raise MisuseError(self.path, problem, advice=self._listed())
            return int(role.asked) - 1
        if role.asked == role.name and not self.names:
            return None  # "pair" of a table without names: there is one, wherever it is
        did_you_mean = nearest(role.asked, self.names) if self.names else ""
        did_you_mean = "" if "known" in did_you_mean else did_you_mean
        problem = f"has no column {role.asked!r} (for {role.name}){did_you_mean}"
        advice = f"{self._listed()}. Give a name or number with {OPTIONS[role.name]}"
        raise MisuseError(self.path, problem, advice=advice)

    def _by_known_names(self, roles: Sequence[Role]) -> None:
        has_pair = any(role.name == "pair" for role in roles)
        for role in self._open(roles):
            known_as = "first" if role.name == "text" and has_pair else role.known_as
            places = [n for n in known_places(known_as, self.names) if n in self._free()]
            if len(places) == 1:
                self._take(role, places[0])

    def _by_languages(self, roles: Sequence[Role]) -> None:
        """Source and target, or two languages: the first of them is translated from."""
        self._by_known_names(roles)
        left, places = self._open(roles), language_places(self.names)
        if len(left) == len(places) == 2 or (len(left) == 1 and len(places) == 2):
            free = [n for n in places if n in self._free()]
            if len(free) == len(left):
                for role, place in zip(left, free, strict=True):
                    self._take(role, place)

    def _by_number(self, roles: Sequence[Role]) -> None:
        """A run that knows a number was trained on a table without names: on one like this?"""
        for role in self._open(roles):
            place = int(role.remembered) - 1 if role.remembered.isdigit() else -1
            if place in self._free() and not self.names:
                fits = holds_texts(self.columns[place]) or len(self.columns) <= len(roles)
                if fits or role.name not in SENTENCES:
                    self._take(role, place)

    def _by_content(self, roles: Sequence[Role]) -> None:
        if len(self.columns) == len(roles) and max(map(len, self.columns)) < ENOUGH:
            return  # a few rows say less than the order does
        many_languages = len(language_places(self.names)) > 2
        for is_text in (holds_texts, holds_words):  # texts that come again, if there are no others
            texts = [n for n in self._free() if is_text(self.columns[n])]
            left = [role for role in self._open(roles) if role.name in SENTENCES]
            if left and len(texts) == len(left) and not many_languages:
                for role, place in zip(left, texts, strict=True):
                    self._guess(role, place, roles)
        for role in self._open(roles):
            if role.name != "label":
                continue
            fits = is_score if role.score else come_again
            fitting = [n for n in self._free() if fits(self.columns[n])]
            if len(fitting) == 1:
                self._guess(role, fitting[0], roles)

    def _guess(self, role: Role, place: int, roles: Sequence[Role]) -> None:
        """In a table of just these columns in their order nothing was guessed."""
        self._take(role, place)
        if len(self.columns) > len(roles) or [r.name for r in roles].index(role.name) != place:
            self.guessed.append(role.name)

    def _in_order(self, roles: Sequence[Role]) -> None:
        """Just as many columns as roles, or as those that there must be."""
        must = [role for role in roles if role.required or role.name in self.taken]
        for wanted in (list(roles), must):
            if len(self.columns) == len(wanted):
                for role, place in zip(self._open(wanted), self._free(), strict=True):
                    self._take(role, place)
                return

    def _unclear(self, role: Role) -> str:
        return (
            f"{self.path}: which column is the {role.name}? {self._listed(capital=True)}. Say it "
            f"by name or number with {OPTIONS[role.name]}"
        )

    def _listed(self, capital: bool = False) -> str:
        """All columns, with their names or else with what is in them."""
        shown = []
        for n, cells in enumerate(self.columns[:MOST_SHOWN]):
            example = cells[0] if cells else ""
            short = example if len(example) <= EXAMPLE else f"{example[: EXAMPLE - 1]}…"
            named = repr(self.names[n]) if self.names else f"(for example {short!r})"
            shown.append(f"{n + 1} {named}" if self.numbered else named)
        more = ", …" if len(self.columns) > MOST_SHOWN else ""
        said = f"its columns are {', '.join(shown)}{more}"
        said += "" if self.names else "; it has no row of names"
        return said[0].upper() + said[1:] if capital else said
