"""The numbers of a sheet: TOML lists in, float64 matrices out; how exactly a number was written.

A number written with n decimals stands for everything that rounds to it: ± half a unit of its last
place. A matrix is written to as many decimals as its longest number; whole numbers are exact.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard.draw.worksheet.numbers import kept
from regard.errors import ConfigError, nearest

LARGEST = 64  # rows or columns; a worksheet is read by a person
LONGEST_ROW = 8  # numbers of a row that a sentence quotes
MOST_DECIMALS = 12  # more than a hand writes, and fewer than float64 holds
EXACT = 1e-9  # what two ways of adding the same float64 numbers may differ by


@dataclass(frozen=True)
class Written:
    """A person's own numbers of one step: NaN where nothing was written."""

    values: Float[Tensor, "rows columns"]
    texts: Mapping[tuple[int, int], str]  # (row, column) → the number as it was written
    decimals: int

    @property
    def rows(self) -> list[int]:
        """The rows that were written."""
        return sorted({row for row, _ in self.texts})

    @property
    def half(self) -> float:
        return half_a_unit(self.decimals)

    def row(self, row: int) -> str:
        """One row as it was written: "(0.4223, 0.1554, 0.4221)"."""
        shown = kept(self.values.shape[1], LONGEST_ROW)
        return f"({', '.join('…' if c is None else self.texts[row, c] for c in shown)})"


def half_a_unit(decimals: int) -> float:
    """How far a number may be from what was written with so many decimals."""
    return EXACT if decimals == 0 else 0.5 * 10.0**-decimals + EXACT


def shape(matrix: Tensor) -> str:
    """ "3 × 4": rows × columns."""
    return " × ".join(str(size) for size in matrix.shape)


def read_matrix(name: str, value: Any, infinite: bool = False) -> Float[Tensor, "rows columns"]:
    """A list of rows as float64; a plain list of numbers is one row."""
    rows = _rows(name, value)
    for place, row in enumerate(rows, start=1):
        _check_row(name, place, row, infinite)
    if any(len(row) != len(rows[0]) for row in rows):
        place = next(i for i, row in enumerate(rows) if len(row) != len(rows[0]))
        problem = f"row {place + 1} has {len(rows[place])} numbers and row 1 has {len(rows[0])}"
        raise ConfigError(name, problem, expected="equally many in each row")
    if max(len(rows), len(rows[0])) > LARGEST:
        raise ConfigError(
            f"{name} is {len(rows)} × {len(rows[0])}; a sheet holds at most {LARGEST} × {LARGEST}"
        )
    return torch.tensor([[float(cell) for cell in row] for row in rows], dtype=torch.float64)


def _rows(name: str, value: Any) -> list[list[Any]]:
    if not isinstance(value, list) or not value or value == [[]]:
        raise ConfigError(name, got=value, expected="rows of numbers, as [[1, 0], [0, 1]]")
    if not any(isinstance(row, list) for row in value):
        return [value]
    for place, row in enumerate(value, start=1):
        if not isinstance(row, list) or not row:
            raise ConfigError(name, f"row {place} is {row!r}", expected="a list of numbers")
    return value


def _check_row(name: str, place: int, row: Sequence[Any], infinite: bool) -> None:
    for column, cell in enumerate(row, start=1):
        where = f"{name}: row {place}, column {column}"
        if isinstance(cell, bool) or not isinstance(cell, int | Decimal):
            raise ConfigError(where, got=cell, expected="a number")
        number = Decimal(cell)
        if number.is_nan() or (number.is_infinite() and not (infinite and number < 0)):
            allowed = "a finite number or -inf" if infinite else "a finite number"
            raise ConfigError(where, f"got {cell}", expected=allowed)
        if number.is_finite() and abs(number) > Decimal("1e12"):
            raise ConfigError(where, f"got {cell}", expected="a number between -1e12 and 1e12")


def decimals_of(value: Any) -> int:
    """The largest number of decimals in a number, or anywhere in nested lists of them."""
    if isinstance(value, list):
        return max((decimals_of(item) for item in value), default=0)
    exponent = value.as_tuple().exponent if isinstance(value, Decimal) else 0
    return min(MOST_DECIMALS, max(0, -exponent)) if isinstance(exponent, int) else 0


def written(name: str, value: Any, words: Sequence[str]) -> Written:
    """A person's results: a whole matrix, or a table with a row for some of the words."""
    rows: dict[int, Any]
    if isinstance(value, Mapping):
        rows = {_word(name, word, words): row for word, row in value.items()}
        if not rows:
            raise ConfigError(name, "got an empty section", expected="a row for a word")
    else:
        rows = dict(enumerate(_rows(name, value)))
    lists = [rows[place] for place in sorted(rows)]
    matrix = read_matrix(name, lists, infinite=name == "yours.masked")
    count = len(words) if isinstance(value, Mapping) else len(rows)
    values = torch.full((count, matrix.shape[1]), torch.nan, dtype=torch.float64)
    values[sorted(rows)] = matrix
    texts = {
        (place, column): str(cell).replace("-Infinity", "−∞").replace("-", "−")
        for place, row in rows.items()
        for column, cell in enumerate(row)
    }
    return Written(values, texts, decimals_of(lists))


def _word(name: str, word: str, words: Sequence[str]) -> int:
    if word not in words:
        raise ConfigError(name, f"no word {word!r}", advice=nearest(word, words))
    if words.count(word) > 1:
        advice = "give the whole matrix instead"
        raise ConfigError(name, f"{word!r} stands more than once", advice=advice)
    return words.index(word)


def is_whole(value: float) -> bool:
    """Is this a whole number, neither infinite nor NaN?"""
    return math.isfinite(value) and value == round(value)


def check_weights(weights: Tensor, decimals: int) -> None:
    """Given weights are shares: none below 0, each row 1 but for its rounding."""
    for place, row in enumerate(weights.tolist(), start=1):
        if min(row) < 0:
            raise ConfigError(f"weights: row {place} holds {min(row):g}; a weight is at least 0")
        if abs(sum(row) - 1) > len(row) * half_a_unit(decimals):
            raise ConfigError("weights", f"row {place} sums to {sum(row):g}", expected="1")
