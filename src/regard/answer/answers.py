"""The answers to one text, the likeliest first: a list that a notebook shows as a table."""

from dataclasses import fields
from typing import Any, TypeVar

from regard.draw.notebook.table import BarCell, html_table

T = TypeVar("T")


class Answers(list[T]):
    """A list of answers (labels, words, translations), best first."""

    @property
    def best(self) -> T:
        """The likeliest."""
        return self[0]

    def _repr_html_(self) -> str:
        """A table: a row for each answer, a column for each thing that an answer says."""
        if not self:
            return "<p>no answers</p>"
        names = [field.name for field in fields(self[0]) if field.repr]  # type: ignore[arg-type]
        told = [name for name in names if any(vars(answer)[name] != "" for answer in self)]
        return html_table(told, [[_cell(name, vars(a)[name]) for name in told] for a in self])


def _cell(name: str, value: Any) -> object:
    return BarCell(value) if name == "probability" else value
