"""`regard plot`: the curves of one run or of several, in a file or in the terminal."""

from pathlib import Path
from typing import Literal

import click

from regard.cli import declare
from regard.cli.inputs import say_written


@declare.command("""
  regard plot runs/demo
  regard plot runs/demo runs/demo-2 --png compared.png
  regard plot runs/demo --what score --svg bleu.svg""")
@click.argument("runs", nargs=-1, required=True, type=declare.PATH)
@declare.choice(
    "--what",
    among=["loss", "score", "bleu", "rate"],
    help="Which curve; score: BLEU, accuracy, F1 or Spearman, whichever the run is judged by.",
)
@declare.path("--png", help="Draw into this file.")
@declare.path("--svg", help="Draw into this file.")
def command(
    runs: tuple[Path, ...],
    what: Literal["loss", "score", "bleu", "rate"],
    png: Path | None,
    svg: Path | None,
) -> None:
    """Draw the curves of RUNS together: training and validation loss, the score, or the rate.

    Into files with --png and --svg (both need matplotlib, the extra `train`), else as a picture in
    the terminal. A run may still be training; one that was validated once has no curve of
    validations yet: its point is told in words.
    """
    from regard.bundle.open_run import open_run
    from regard.draw.figure.comparison import comparison
    from regard.draw.terminal.console import Console
    from regard.draw.terminal.line_chart import LineChart
    from regard.runs.curves import in_one_picture, in_terminal, read_curves

    curves = read_curves([open_run(folder) for folder in runs], what)
    for path in (png, svg):
        if path is not None:
            picture = in_one_picture(curves, what)
            kind: Literal["png", "svg"] = "svg" if path is svg else "png"
            comparison(path, picture.series, picture.measure, kind, picture.title, picture.columns)
            say_written(path)
    if png is None and svg is None:
        shown = in_terminal(curves, what)
        if shown.lines:
            Console().print(LineChart(shown.lines, shown.measure, "optimizer step"))
        for sentence in shown.sentences:
            click.echo(sentence)
