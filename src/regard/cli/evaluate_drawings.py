"""`regard evaluate` of models that draw: what a reader sees in drawings of held-out captions."""

from dataclasses import asdict
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from regard.cli.inputs import say_written
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.evaluate.drawings import ReadDrawing

SHOWN, ACROSS = 18, 6  # drawings that are shown, and how many of them in a row
LETTERS = 22  # of a line below one


def evaluate_drawings(
    folder: Path,
    file: Path | None,
    device: str,
    worst: Path | None,
    options: dict[str, Any],
    as_json: bool,
) -> None:
    """Draw the captions of a test set and print what is right; show drawings that are not."""
    from regard.api.load import load
    from regard.draw.terminal.progress import progress_bar
    from regard.evaluate.drawings import captions_to_draw, drawing_search, score_drawings
    from regard.printable import counted

    if worst and worst.suffix not in (".png", ".svg"):
        raise click.UsageError("--worst: expected a name that ends in .png or .svg")
    model = load(folder, device)
    test, search = captions_to_draw(model, file), drawing_search(model, options)
    with progress_bar("drawing", len(test.captions)) as bar:
        scores, wrong = score_drawings(model, test, search, bar.advance)
    if as_json:
        click.echo(valid_json(asdict(scores), gaps=True))
    else:
        chance = f"temperature {scores.temperature:g}, seed {search.seed}"
        chance += f", the likeliest of {search.n_best}" if search.n_best > 1 else ""
        drawn = chance if search.draws else "greedy"
        click.echo(
            f"{counted(scores.captions, 'caption')} of {scores.set}, a drawing each ({drawn})"
        )
        click.echo(
            f"objects {scores.objects:8.2%}  all that is drawn is a shape that was asked for"
        )
        click.echo(f"colours {scores.colours:8.2%}  … in the colour that was asked for")
        click.echo(f"counts  {scores.counts:8.2%}  … as many times")
        click.echo(f"right   {scores.right:8.2%}  … and in the place that was asked for")
        click.echo("\ngroups   captions    right")
        for row in scores.by_groups:
            click.echo(f"{row.groups:<6} {row.captions:10,} {row.right:8.2%}")
    if worst:
        _draw_wrong(scores.set, wrong, worst)


def _draw_wrong(name: str, wrong: "list[ReadDrawing]", out: Path) -> None:
    from regard.draw.figure.pictures import gallery, of_colours
    from regard.draw.figure.png import write_png
    from regard.draw.figure.svg import write_svg
    from regard.printable import counted

    if not wrong:
        click.echo("Every drawing is right: nothing is drawn.", err=True)
        return
    panels = [
        of_colours(
            one.drawing.colours,
            *wrap(f"asked: {one.drawing.caption}", LETTERS),
            *wrap(f"read: {one.shows or 'nothing that has a name'}", LETTERS),
        )
        for one in wrong[:SHOWN]
    ]
    rows = [panels[start : start + ACROSS] for start in range(0, len(panels), ACROSS)]
    subtitle = f"what was asked for, and what is read; {counted(len(wrong), 'drawing')} of {name}"
    words = ". ".join(f"{one.drawing.caption}: {one.sentence()}" for one in wrong[:SHOWN])
    picture = gallery(rows, "Drawings that are not right", subtitle, words)
    (write_svg if out.suffix == ".svg" else write_png)(out, picture)
    say_written(out)
