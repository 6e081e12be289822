"""`regard see`: the labels of pictures, as text, as a table, and why."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli import declare
from regard.cli.inputs import check_drawn, draw_into, say_written
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.answer.labels import Label
    from regard.api.model import Model

TOGETHER = 64  # pictures between two lines of output
COLUMNS = ("file", "label", "probability")


@declare.command("""
  regard see google/vit-base-patch16-224 cat.jpg
  regard see path/to/vit *.png --top 1 --json
  regard see runs/shapes pictures --output labels.csv
  regard see runs/shapes circle.png --filter circle.svg""")
@declare.model
@click.argument("file", nargs=-1, required=True, type=declare.PATH)
@declare.top(default=5, show_default=True)
@declare.output("Write a table here: .csv, .tsv or .jsonl.")
@declare.path("--filter", help="Draw where the model looked: .png or .svg.")
@declare.device
@declare.json("One JSON object a file.")
def command(
    model: Path,
    file: tuple[Path, ...],
    top: int,
    output: Path | None,
    filter: Path | None,
    device: str,
    as_json: bool,
) -> None:
    """Print what MODEL sees in each image FILE, with probabilities; of a folder, in all its files.

    MODEL is a run of `regard train` with objective "see", a published folder of a Vision
    Transformer with a classifier, or its name on the hub. A file among several that cannot be read
    is named on standard error, and the exit code is 1. --filter draws each picture, the attention
    rollout, the picture through it, and integrated gradients; where they disagree it says so.
    """
    from regard.answer.see import picture_files
    from regard.answer.table_files import check_output, write_table
    from regard.cli.classify import show_labels
    from regard.cli.inputs import opened

    if output:
        check_output(output)
    check_drawn("--filter", filter)
    loaded = opened(model, "see", device)
    files = list(picture_files(file))
    rows: list[tuple[str, str, float]] = []
    failed = 0
    for path, labels in _seen(loaded, files, None if output else top):
        if labels is None:
            failed += 1
        elif output:
            rows.append((str(path), labels[0].label, round(labels[0].probability, 6)))
        elif as_json:
            shown = [{"label": one.label, "probability": one.probability} for one in labels]
            click.echo(valid_json({"file": str(path), "labels": shown}))
        else:
            show_labels(str(path) if len(files) > 1 else "", labels)
    if output:
        write_table(output, COLUMNS, rows)
        say_written(output, f", {len(rows):,} of {len(files):,} files")
    if filter:
        _draw_filter(loaded, files, filter, as_json)
    if failed:
        raise click.exceptions.Exit(1)


def _seen(
    model: "Model", files: list[Path], top: int | None
) -> "list[tuple[Path, list[Label] | None]]":
    """The labels of each; None of one among several that cannot be read, which is named."""
    from regard.answer.see import readable_colours, see_colours
    from regard.draw.terminal.progress import progress_bar

    answers: list[tuple[Path, list[Label] | None]] = []
    with progress_bar("seeing", len(files)) as bar:
        for start in range(0, len(files), TOGETHER):
            some = files[start : start + TOGETHER]
            colours = readable_colours(model, some, len(files) == 1, say_unread)
            labels = see_colours(model, list(colours.values()), top) if colours else []
            told = dict(zip(colours, labels, strict=True))
            answers += [(path, told.get(path)) for path in some]
            bar.advance(len(some))
    return answers


def say_unread(problem: str) -> None:
    """Name a file that is left out."""
    click.echo(f"Error: {problem}", err=True)


def _draw_filter(model: "Model", files: list[Path], out: Path, as_json: bool) -> None:
    """A row for each picture, and a line that says whether the two views agree."""
    from regard.answer.see import colours_of
    from regard.draw.figure.pictures import gallery, of_colours, of_weights
    from regard.draw.terminal.progress import progress_bar
    from regard.errors import DataError
    from regard.explain.picture import filter_picture

    rows, words = [], []
    with progress_bar("looking", len(files)) as bar:
        for path in files:
            try:
                one = filter_picture(model, colours_of(model, path))
            except DataError:
                continue  # it was named before
            finally:
                bar.advance()
            said = f"{one.label} {one.probability:.1%}"
            rows.append(
                [
                    of_colours(one.colours, said, path.name),
                    of_weights(one.rollout, "attention rollout", f"ρ {one.agreement:.2f}"),
                    of_colours(one.filtered, "the picture through it"),
                    of_weights(one.gradients, "integrated gradients", f"gap {one.gap:.3f}"),
                ]
            )
            words.append(f"{path}: {said}; {one.sentence()}")
            click.echo(words[-1], err=as_json)
    if not rows:
        return
    subtitle = "rollout: what could reach the class token; gradients: what changes the probability"
    picture = gallery(rows, "Where the model looked", subtitle, ". ".join(words))
    draw_into(out, picture)
