"""What a person asked `regard train` for."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Request:
    """A new run of a recipe or of own files, or the rest of one; each field is an option."""

    recipe: Path | None = None
    assignments: Sequence[str] = ()  # KEY=VALUE, which go over the recipe
    source: Path | None = None
    target: Path | None = None
    texts: Path | None = None
    minutes: float | None = None
    folder: Path | None = None  # of the new run
    resume: Path | None = None  # the run to go on with
    inexact: bool = False
    force: bool = False
    text: Path | None = None
    tables: dict[str, Any] | None = None  # a recipe as a program holds it

    def words(self) -> list[str]:
        """What to type after `regard train` for the same, but for the folder of the run."""
        options = {
            "--source": self.source,
            "--target": self.target,
            "--texts": self.texts,
            "--text": self.text,
            "--minutes": None if self.minutes is None else f"{self.minutes:g}",
        }
        said = [str(word) for pair in options.items() if pair[1] is not None for word in pair]
        recipe = [] if self.recipe is None else [str(self.recipe)]
        return [*recipe, *said, *self.assignments, *(["--force"] if self.force else [])]
