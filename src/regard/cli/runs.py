"""`regard runs`: which runs there are, how far each came, how good it is."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from regard.tasks.runs import Row


@click.command(
    epilog="""\b
Examples:
  regard runs
  regard runs path/to/experiments
  regard runs --json | jq 'min_by(.loss).folder'"""
)
@click.argument("folder", type=click.Path(path_type=Path), default=Path("runs"))
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def command(folder: Path, as_json: bool) -> None:
    """List the runs below FOLDER (runs/), the newest first.

    A run is training, stopped (it was asked to), cut off (it was killed), finished or damaged;
    stopped ones and those cut off go on with `regard train --resume`.
    """
    from regard.tasks.runs import list_runs

    rows = list_runs(folder)
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows], indent=2, ensure_ascii=False))
    elif not rows:
        click.echo(f"No runs in {folder}; `regard train` makes one.")
    else:
        table = [HEAD, *(_cells(row) for row in rows)]
        widths = [max(len(line[i]) for line in table) for i in range(len(HEAD))]
        for line in table:
            click.echo("  ".join(_placed(*cell) for cell in zip(line, widths, RIGHT, strict=True)))
        for row in rows:
            if row.problem:
                click.echo(f"{row.folder}: {row.problem}", err=True)


HEAD = ("run", "state", "step", "best loss", "BLEU", "weights", "written", "data")
RIGHT = (False, False, True, True, True, True, False, False)


def _placed(text: str, width: int, right: bool) -> str:
    return text.rjust(width) if right else text.ljust(width)


def _cells(row: "Row") -> tuple[str, ...]:
    from regard.tasks.runs import age_in_words

    of = f"/{row.steps:,}" if row.steps else ""
    age = age_in_words(row.seconds)
    return (
        row.folder,
        row.state,
        f"{row.step:,}{of}",
        "" if row.loss is None else f"{row.loss:.4f}",
        "" if row.bleu is None else f"{row.bleu:.1f}",
        "" if row.parameters is None else f"{row.parameters / 1e6:.2f}M",
        age if age == "now" else f"{age} ago",
        row.data,
    )
