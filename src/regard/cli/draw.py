"""`regard draw`: pictures of a caption, in the terminal and as PNG, and what is read in them."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli import declare
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.answer.answers import Answers
    from regard.answer.draw import Drawing
    from regard.api.model import Model
    from regard.evaluate.drawings import ReadDrawing

MOST = 64  # drawings of one caption
ACROSS = 6  # panels of a row
MOST_LOOKED = 12  # drawings whose attention is drawn


@declare.command("""
  regard draw runs/scenes-draw "two red circles above a blue square"
  regard draw runs/scenes-draw "two red circles above a square" --n 4 --output circles.png
  regard draw runs/scenes-draw "a green ring" --seed 7 --output rings.png --scale 1
  regard draw runs/scenes-draw --file captions.txt --output pictures
  regard draw runs/scenes-draw "a red ring above a blue square" --attention words.svg""")
@declare.model
@click.argument("caption", nargs=-1)
@declare.file("Draw a file, a caption a line.")
@click.option(
    "--n", type=click.IntRange(1, MOST), default=1, show_default=True, help="Pictures of each."
)
@click.option("--seed", type=click.IntRange(min=0), help="The same pictures each time.")
@click.option(
    "--temperature", type=float, help="How much is left to chance; 0: nothing, one picture."
)
@declare.output("Write a .png with all pictures, or a folder with a file for each.")
@click.option(
    "--scale",
    type=click.IntRange(1, 32),
    default=4,
    show_default=True,
    help="Pixels of a file for each pixel of a picture, on a side.",
)
@declare.path("--attention", help="Draw which patches looked at each word: .png or .svg.")
@declare.device
@declare.json("One JSON object a picture.")
def command(
    model: Path,
    caption: tuple[str, ...],
    file: Path | None,
    n: int,
    seed: int | None,
    temperature: float | None,
    output: Path | None,
    scale: int,
    attention: Path | None,
    device: str,
    as_json: bool,
) -> None:
    """Draw what each CAPTION says, and say what can be read in the drawing.

    MODEL is a run of `regard train` with objective "draw". A caption does not say everything, so
    without --seed there is another picture each time. A terminal with colours shows the pictures.
    Without CAPTION, lines of standard input are drawn.
    """
    from regard.answer.draw import draw_texts
    from regard.cli.inputs import opened, texts_of
    from regard.draw.terminal.progress import progress_bar
    from regard.evaluate.drawings import read_drawing

    if output and output.suffix and output.suffix.lower() != ".png":
        raise click.UsageError("--output: expected a name that ends in .png, or a folder")
    if attention and attention.suffix not in (".png", ".svg"):
        raise click.UsageError("--attention: expected a name that ends in .png or .svg")
    loaded = opened(model, "draw", device)
    drawn: list[Answers[Drawing]] = []
    for texts in texts_of(caption, file):
        captions = [text for text in texts if caption or text.strip()]
        with progress_bar("drawing", len(captions)) as bar:
            answers = draw_texts(loaded, captions, n, seed, temperature, bar.advance)
        for pictures in answers:
            _note_unknown(loaded, pictures[0].caption)
            read = [read_drawing(one, loaded.bundle.picture_codec.language) for one in pictures]
            _show(read, as_json, titled=file is not None or len(caption) != 1)
        drawn += answers
    if output:
        _write(output, drawn, scale)
    if attention:
        _draw_attention(loaded, [one for row in drawn for one in row], attention)


def _note_unknown(model: "Model", caption: str) -> None:
    """Which words were never trained on: not where the answers go."""
    from regard.bundle.words_seen import WordsSeen

    seen = WordsSeen.of_run(model.bundle.run.data)
    if seen is not None:
        seen.note(caption)
        if seen.unseen:
            click.echo(f"Note: {seen.sentence()}", err=True)


def _show(pictures: "list[ReadDrawing]", as_json: bool, titled: bool) -> None:
    from regard.draw.terminal.console import Console
    from regard.draw.terminal.pictures import PictureRow

    if as_json:
        for number, one in enumerate(pictures, start=1):
            click.echo(valid_json({**one.row(), "number": number}))
        return
    if titled:
        click.echo(f"{pictures[0].drawing.caption}:")
    console = Console(highlight=False)
    if console.color_system is not None:
        console.print(PictureRow([one.drawing.colours for one in pictures]))
    for number, one in enumerate(pictures, start=1):
        click.echo(f"{number}. {one.sentence()}" if len(pictures) > 1 else one.sentence())


def _draw_attention(model: "Model", drawn: "list[Drawing]", out: Path) -> None:
    """Each drawing, then once for each word how much every patch looked at it."""
    from regard.cli.inputs import say_written
    from regard.draw.figure.pictures import gallery, of_colours, of_weights
    from regard.draw.figure.png import write_png
    from regard.draw.figure.svg import write_svg
    from regard.explain.words_drawn import words_drawn

    if not 0 < len(drawn) <= MOST_LOOKED:
        raise click.UsageError(f"--attention: expected 1 to {MOST_LOOKED} pictures")
    rows = []
    for one in drawn:
        panels = [of_colours(one.colours, "the drawing")]
        for looked in words_drawn(model, one):
            most = f"most {looked.weights.max():.0%}"
            panels.append(of_weights(looked.weights, looked.word, most))
        rows += [panels[first : first + ACROSS] for first in range(0, len(panels), ACROSS)]
    subtitle = (
        "how much each patch looked at a word when it was chosen: cross-attention, last layer"
    )
    words = ". ".join(one.caption for one in drawn)
    picture = gallery(rows, "Which patches looked at which word", subtitle, words)
    (write_svg if out.suffix == ".svg" else write_png)(out, picture)
    say_written(out)


def _write(output: Path, drawn: "list[Answers[Drawing]]", scale: int) -> None:
    """One file with a line of pictures for each caption, or a folder with all of them."""
    from regard.answer.draw import save_png
    from regard.cli.inputs import say_written
    from regard.draw.figure.pictures import pasted
    from regard.printable import counted

    if output.suffix:
        save_png(output, pasted([[one.colours for one in row] for row in drawn], scale))
        say_written(output)
        return
    output.mkdir(parents=True, exist_ok=True)
    for place, row in enumerate(drawn, start=1):
        for number, one in enumerate(row, start=1):
            name = f"{place}-{number}.png" if len(drawn) > 1 else f"{number}.png"
            save_png(output / name, pasted([[one.colours]], scale))
    say_written(output, f", {counted(sum(map(len, drawn)), 'picture')}")
