"""Read the lexicon: tab-separated tables in, lexemes out; every complaint names file, line, column.

A table's first line names its columns.  `en` (the English lemma) and `classes` (the semantic
classes, separated by blanks) are obligatory; a column with the code of a language (`de`, `hi`)
holds the word in that language, and a row without it does not exist for that language.  All other
columns belong to one language's morphology, which reads them by name from `Lexeme.cells`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain
from pathlib import Path

from regard.data.phrasebook.corpus import PhrasebookError

# table → the word class of its rows
TABLES = {
    "nouns": "noun",
    "verbs": "verb",
    "phrases": "verb",
    "adjectives": "adj",
    "words": "word",
    "frames": "word",
    "set_phrases": "word",
    "places": "word",
    "names": "name",
}


@dataclass(frozen=True, eq=False)
class Lexeme:
    """One row of a table for one target language: both lemmas, classes and all cells."""

    kind: str
    en: str
    target: str
    classes: frozenset[str]
    cells: Mapping[str, str]
    where: str = ""

    def cell(self, column: str) -> str:
        """The text of a column, "" where the table left it empty or has no such column."""
        return self.cells.get(column, "")

    def flag(self, name: str) -> bool:
        """Whether the blank-separated `flags` column holds this name."""
        return name in names_in(self.cell("flags"))

    @cached_property
    def key(self) -> str:
        """Identity for hashing: stable across runs and processes."""
        return f"{self.kind}:{self.en}:{self.target}"


@cache
def names_in(cell: str) -> frozenset[str]:
    """The blank-separated names of a cell; asked for hundreds of thousands of times."""
    return frozenset(cell.split())


def read_lexicon(folder: Path, language: str) -> dict[str, list[Lexeme]]:
    """All tables of a folder for one language, by the table's name."""
    return {
        name: read_table(folder / f"{name}.tsv", kind, language) for name, kind in TABLES.items()
    }


def read_table(path: Path, kind: str, language: str) -> list[Lexeme]:
    """The rows of one table that `language` has; `kind` is the word class they get."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if not lines:
        raise PhrasebookError(f"{path.name}, line 1: expected a line of column names, got nothing")
    columns = lines[0].split("\t")
    for needed in ("en", "classes", language):
        if needed not in columns:
            raise PhrasebookError(f"{path.name}, line 1: column {needed!r} is missing")
    rows: list[Lexeme] = []
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip() or line.startswith("#"):
            continue
        row = _read_row(path.name, number, columns, line, kind, language)
        if row.target:
            rows.append(row)
    return rows


def _read_row(
    name: str, number: int, columns: list[str], line: str, kind: str, language: str
) -> Lexeme:
    values = [value.strip() for value in line.split("\t")]
    if len(values) > len(columns):
        raise PhrasebookError(
            f"{name}, line {number}, column {len(columns) + 1}: "
            f"got {len(values)} values, expected at most {len(columns)} ({', '.join(columns)})"
        )
    cells = {column: value for column, value in zip(columns, values, strict=False) if value}
    for column in ("en", "classes"):
        if column not in cells:
            raise PhrasebookError(
                f"{name}, line {number}, column {columns.index(column) + 1} ({column}): empty"
            )
    where = f"{name}, line {number}"
    classes = frozenset(cells["classes"].split())
    return Lexeme(kind, cells["en"], cells.get(language, ""), classes, cells, where)


def require(lexemes: Iterable[Lexeme], column: str, allowed: tuple[str, ...] = ()) -> None:
    """Insist that a column is filled (and, if given, holds one of the allowed values)."""
    for lexeme in lexemes:
        value = lexeme.cell(column)
        if not value:
            raise PhrasebookError(f"{lexeme.where}, column {column}: empty")
        if allowed and value not in allowed:
            raise PhrasebookError(
                f"{lexeme.where}, column {column}: got {value!r}, expected {', '.join(allowed)}"
            )


@dataclass(eq=False)
class Lexicon:
    """All lexemes of a language pair, found by kind and class or by their English lemma."""

    lexemes: list[Lexeme]
    _by_class: dict[tuple[str, str], list[Lexeme]] = field(default_factory=dict)
    _by_lemma: dict[tuple[str, str], Lexeme] = field(default_factory=dict)
    _members: dict[tuple[str, str], tuple[Lexeme, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for lexeme in self.lexemes:
            for name in sorted(lexeme.classes):
                self._by_class.setdefault((lexeme.kind, name), []).append(lexeme)
            for lemma in (lexeme.en, lexeme.target.replace("|", "")):
                self._by_lemma.setdefault((lexeme.kind, lemma), lexeme)

    def members(self, kind: str, names: str) -> tuple[Lexeme, ...]:
        """The lexemes of a kind in any of the comma-separated classes, in table order."""
        if (kind, names) not in self._members:
            classes = [self._by_class.get((kind, name), []) for name in names.split(",")]
            self._members[kind, names] = tuple(dict.fromkeys(chain.from_iterable(classes)))
        return self._members[kind, names]

    def find(self, kind: str, lemma: str) -> Lexeme | None:
        """The lexeme with this English or target lemma (a separable prefix written joined)."""
        return self._by_lemma.get((kind, lemma))
