"""What a column of a table is looked for: a source, a target, a text, a second one, a label."""

from dataclasses import dataclass
from typing import Any

ColumnValues = list[
    Any
]  # the cells of a row: text; in .jsonl any value, None where the key is missing

OPTIONS = {
    "source": "--source-column (in a recipe: data.source_column)",
    "target": "--target-column (in a recipe: data.target_column)",
    "text": "--text-column (in a recipe: data.text)",
    "pair": "--pair-column (in a recipe: data.pair)",
    "label": "--label-column (in a recipe: data.label)",
    "caption": "--text-column (in a recipe: data.text)",
    "file": "--file-column (in a recipe: data.image)",
}
SENTENCES = ("source", "target", "text", "pair")  # roles of columns that hold texts


@dataclass(frozen=True)
class Role:
    """Something that a column is looked for.

    `asked` is the user's word and must be there; `remembered` is a run's, and may be missing.
    """

    name: str  # a key of OPTIONS
    asked: str = ""
    remembered: str = ""
    required: bool = True
    score: bool = False  # a label that is a number

    @property
    def known_as(self) -> str:
        """Its key in column_names.KNOWN."""
        return "score" if self.score else self.name
