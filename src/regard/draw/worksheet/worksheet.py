"""A worksheet: one calculation, step by step, as a person would write it; numbers and words only.

    Worksheet ─ Step ─ Matrix     a named table of numbers with a label for each row
                     ─ Sum        Σ w·v written out: one line for each term, and the total
                     ─ Line       any other written-out calculation or remark
                     ─ Mark       what is said about a reader's own result for this step

Whoever fills it (explain/) decides the numbers; terminal.py, html.py and latex.py only show them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Real

from regard.draw.worksheet.numbers import kept


@dataclass(frozen=True, eq=False)
class Matrix:
    """A table of numbers; one dimension is one row. Without `columns` they are counted from 1.

    `highlight` is the row (from 0) that the worksheet is about. `latex` is the name in LaTeX's
    mathematics; where it is empty, the plain name is set as text.
    """

    name: str
    values: Real[np.ndarray, "*rows columns"]
    rows: Sequence[str]
    columns: Sequence[str] | None = None
    highlight: int | None = None
    latex: str = ""

    def __post_init__(self) -> None:
        rows, columns = self.grid.shape
        if self.values.ndim > 2 or self.values.size == 0 or rows != len(self.rows):
            raise ValueError(
                f"matrix {self.name}: got shape {self.values.shape} for {len(self.rows)} row "
                "labels; expected (columns) or (rows, columns), none of them 0"
            )
        if self.columns is not None and columns != len(self.columns):
            raise ValueError(
                f"matrix {self.name}: got {columns} columns and {len(self.columns)} column labels"
            )

    @property
    def grid(self) -> Real[np.ndarray, "rows columns"]:
        """The numbers as rows × columns."""
        flat = (-1, self.values.shape[-1])
        return self.values.reshape(flat) if self.values.ndim < 2 else self.values

    @property
    def heads(self) -> list[str]:
        """A label for each column: its own, or its number."""
        if self.columns is not None:
            return list(self.columns)
        return [str(number) for number in range(1, self.grid.shape[1] + 1)]

    def hidden(self, limit: int | None) -> str:
        """What is said under a matrix that is not shown whole; "" where it is."""
        total = self.grid.shape[1]
        shown = sum(place is not None for place in kept(total, limit))
        return "" if shown == total else f"{total - shown} of {total} columns are hidden"


@dataclass(frozen=True, eq=False)
class Sum:
    """total = weights[0] · vectors[0] + weights[1] · vectors[1] + …, one term for each label."""

    name: str
    weights: Real[np.ndarray, " terms"]
    vectors: Real[np.ndarray, "terms columns"]
    labels: Sequence[str]
    total: Real[np.ndarray, " columns"]
    latex: str = ""

    def __post_init__(self) -> None:
        if not len(self.weights) == len(self.vectors) == len(self.labels) > 0:
            raise ValueError(
                f"sum {self.name}: got {len(self.weights)} weights, {len(self.vectors)} vectors "
                f"and {len(self.labels)} labels; expected equally many, at least one"
            )


@dataclass(frozen=True)
class Line:
    """One line of text; `latex` is the same in LaTeX's mathematics, where it differs."""

    text: str
    latex: str = ""


@dataclass(frozen=True)
class Mark:
    """What is said about a reader's own result."""

    verdict: Literal["right", "wrong", "unchecked"]
    message: str = ""


StepPart = Matrix | Sum | Line


@dataclass(frozen=True, eq=False)
class WorksheetStep:
    """One step of the calculation; steps are numbered by their place in the worksheet."""

    title: str
    equation: str = ""
    equation_latex: str = ""
    note: str = ""
    parts: Sequence[StepPart] = ()
    mark: Mark | None = None


@dataclass(frozen=True, eq=False)
class Worksheet:
    """The whole calculation."""

    title: str
    subtitle: str
    steps: Sequence[WorksheetStep]


def as_data(sheet: Worksheet) -> dict[str, object]:
    """The worksheet as JSON can hold it; numbers are exact, ±∞ and NaN are strings."""
    return {
        "title": sheet.title,
        "subtitle": sheet.subtitle,
        "steps": [
            {
                "number": place,
                "title": step.title,
                "equation": step.equation,
                "note": step.note,
                "parts": [_part_data(part) for part in step.parts],
                "mark": None if step.mark is None else dict(vars(step.mark)),
            }
            for place, step in enumerate(sheet.steps, start=1)
        ],
    }


def _part_data(part: StepPart) -> dict[str, object]:
    if isinstance(part, Line):
        return {"line": part.text}
    if isinstance(part, Sum):
        return {
            "sum": part.name,
            "labels": list(part.labels),
            "weights": _plain(part.weights),
            "vectors": _plain(part.vectors),
            "total": _plain(part.total),
        }
    columns = None if part.columns is None else list(part.columns)
    return {
        "matrix": part.name,
        "rows": list(part.rows),
        "columns": columns,
        "highlight": part.highlight,
        "values": _plain(part.values),
    }


def _plain(values: Real[np.ndarray, "..."]) -> list[object]:
    if values.ndim > 1:
        return [_plain(row) for row in values]
    return [value if math.isfinite(value) else str(value) for value in values.tolist()]
