"""`regard plot`: the curves of one run or of several, in a file or in the terminal."""

from pathlib import Path
from typing import Literal

import click


@click.command(
    epilog="""\b
Examples:
  regard plot runs/demo
  regard plot runs/demo runs/demo-2 --png compared.png
  regard plot runs/demo --what bleu --svg bleu.svg"""
)
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--what",
    type=click.Choice(["loss", "bleu", "rate"]),
    default="loss",
    show_default=True,
    help="Which curve.",
)
@click.option("--png", type=click.Path(path_type=Path), help="Draw into this file.")
@click.option("--svg", type=click.Path(path_type=Path), help="Draw into this file.")
def command(
    runs: tuple[Path, ...],
    what: Literal["loss", "bleu", "rate"],
    png: Path | None,
    svg: Path | None,
) -> None:
    """Draw the curves of RUNS together: training and validation loss, BLEU, or the rate.

    Into files with --png and --svg (both need matplotlib, the extra `train`), else as a picture in
    the terminal. A run may still be training.
    """
    from rich.console import Console

    from regard.draw.comparison import comparison
    from regard.draw.line_chart import LineChart
    from regard.tasks.curves import NAMES, read_curves

    curves = read_curves(runs, what)
    for path in (png, svg):
        if path is not None:
            series = [(curve.name, curve.steps, curve.checks) for curve in curves]
            comparison(path, series, NAMES[what], "svg" if path is svg else "png")
            click.echo(f"Drawn: {path}")
    if png is None and svg is None:
        lines = [(curve.name, curve.checks or curve.steps) for curve in curves]
        drawn = "validation loss" if what == "loss" and all(c.checks for c in curves) else ""
        Console().print(LineChart(lines, drawn or NAMES[what], "optimizer step"))
