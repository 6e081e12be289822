"""Labels as lines: probability, label, and the token where each token has its own."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from regard.answer.labels import Label


def show_labels(title: str, found: "Sequence[Label]") -> None:
    """Print them, under a title where there are several texts or files."""
    if title:
        click.echo(title)
    for one in found:
        line = f"{one.probability:8.4f}  {one.label}"
        click.echo(f"{line:<28}  {one.piece}" if one.piece else line)
