"""`regard runs`: which runs there are, how far each came, how good it is."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli import declare
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.runs.listing import RunRow


@declare.command("""
  regard runs
  regard runs path/to/experiments
  regard runs --json | jq 'min_by(.loss).folder'""")
@click.argument("folder", type=declare.PATH, default=Path("runs"))
@declare.json("Print a JSON list.")
def command(folder: Path, as_json: bool) -> None:
    """List the runs below FOLDER (runs/), the newest first.

    A run is preparing its data, training, stopped (it was asked to), cut off (it was killed),
    finished, failed (its loss was no number) or damaged; then its row says what is wrong. Stopped
    ones and those cut off go on with `regard train --resume`.
    """
    from regard.runs.listing import list_runs

    rows = list_runs(folder)
    if as_json:
        click.echo(valid_json([asdict(row) for row in rows], indent=2, gaps=True))
    elif not rows:
        click.echo(f"No runs in {folder}; `regard train` makes one.")
    else:
        table = [HEAD, *(_cells(row) for row in rows)]
        widths = [max(len(line[i]) for line in table) for i in range(len(HEAD))]
        for line in table:
            click.echo("  ".join(_placed(*cell) for cell in zip(line, widths, RIGHT, strict=True)))


HEAD = ("run", "state", "step", "of", "best loss", "score", "weights", "written", "data")
RIGHT = (False, False, True, False, True, True, True, False, False)


def _aim(row: "RunRow") -> str:
    """What ends the run: 3,200 steps, 15 minutes, either; and whether it did."""
    ends = [] if row.steps is None else [f"{row.steps:,} steps"]
    if row.minutes is not None:
        ends.append(f"{row.minutes:.3g} minute{'s' * (row.minutes != 1)}")
    early = " (stopped early)" if row.ended == "patience" else ""
    return " or ".join(ends) + early


def _score(row: "RunRow") -> str:
    if row.score is None:
        return ""
    digits = 1 if row.score_name == "BLEU" else 4  # of a hundred, or of one
    return f"{row.score_name} {row.score:.{digits}f}"


def _placed(text: str, width: int, right: bool) -> str:
    return text.rjust(width) if right else text.ljust(width)


def _cells(row: "RunRow") -> tuple[str, ...]:
    from regard.draw.labels import visible
    from regard.runs.listing import age_in_words

    age = age_in_words(row.seconds)
    return (
        visible(row.folder),
        row.state,
        f"{row.step:,}",
        _aim(row),
        "" if row.loss is None else f"{row.loss:.4f}",
        _score(row),
        "" if row.parameters is None else f"{row.parameters / 1e6:.2f}M",
        age if age == "now" else f"{age} ago",
        visible(row.problem or row.data),
    )
