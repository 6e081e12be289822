"""What both benchmarks print alike: the machine, a table, the goals."""

import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Any

from goals import Verdict
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from regard.processor.machine import this_machine


def wide_console() -> Console:
    """At least as wide as the tables are."""
    console = Console()
    return console if console.width >= 120 else Console(width=120)


def machine(libraries: Iterable[str]) -> dict[str, Any]:
    """Processor and versions."""
    here = this_machine()
    return {
        "processor": here.cpu,
        "cores": here.cores,
        "python": platform.python_version(),
        **{library: version(library) for library in libraries},
    }


def show_machine(console: Console, found: dict[str, Any]) -> None:
    """The machine in one line."""
    line = " · ".join(f"{name} {value}" for name, value in found.items())
    console.print(line, highlight=False, soft_wrap=True)


def new_table(title: str, columns: Sequence[str]) -> Table:
    """A column for names, and one of numbers for each title."""
    table = Table(
        title=title,
        title_justify="left",
        title_style="",
        box=SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    table.add_column("", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def show_goals(console: Console, verdicts: Iterable[Verdict]) -> None:
    """Each goal with a mark."""
    console.print("[bold]Goals[/] [dim](ratio of medians; in brackets the rounds)[/]")
    for verdict in verdicts:
        mark = {True: "[green]✓[/]", False: "[red]✗[/]", None: "[dim]–[/]"}[verdict.holds]
        console.print(
            f"  {mark} {verdict.goal:<66} goal {verdict.bound:<8} reached {verdict.reached}"
        )
