"""Options that say which columns of a table are meant, alike for all commands that read tables."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from regard.data.report import Report

Command = Callable[..., Any]
MEANT = {
    "source": "of the sentences to translate",
    "target": "of their translations",
    "text": "of the texts",
    "pair": "of the second texts, where two are compared",
    "label": "of the labels",
}


def column_options(*roles: str, **other: str) -> Callable[[Command], Command]:
    """`--text-column` and the like; `other` has words for roles that mean something else here."""

    def add(command: Command) -> Command:
        for role in reversed(roles):
            meant = other.get(role, MEANT[role])
            command = click.option(
                f"--{role}-column",
                default="",
                metavar="COLUMN",
                help=f"Of a table: the column {meant}, by name or number; found if left out.",
            )(command)
        return command

    return add


def named_columns(options: dict[str, Any]) -> dict[str, str]:
    """The columns that a user has named, by role; taken out of the command's options."""
    named = {role: options.pop(f"{role}_column", "") for role in MEANT}
    return {role: name for role, name in named.items() if name}


def say_read(report: "Report") -> None:
    """Which columns were read, and what was left out: not where the answers go."""
    if report.kept < report.total:
        for line in report.lines():
            click.echo(line, err=True)
    elif report.columns:
        click.echo(report.columns.said(), err=True)
