"""Labels as lines: probability, label, and the token where each token has its own."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from regard.answer.labels import Label


def show_labels(title: str, labels: "Sequence[Label]") -> None:
    """Print them, under a title where there are several texts or files."""
    if title:
        click.echo(title)
    for label in labels:
        line = f"{label.probability:8.4f}  {label.label}"
        click.echo(f"{line:<28}  {label.piece}" if label.piece else line)
