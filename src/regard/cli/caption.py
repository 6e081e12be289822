"""`regard caption`: what is in a picture, as a sentence, and where each word looked."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli import declare
from regard.cli.inputs import say_written
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.answer.caption import Caption
    from regard.api.model import Model
    from regard.data.picture import Colours

TOGETHER = 64  # pictures between two lines of output
COLUMNS = ("file", "caption", "score")
ACROSS = 6  # panels of a row
MOST_DRAWN = 12  # pictures whose attention is drawn


@declare.command("""
  regard caption runs/scenes-caption scene.png
  regard caption runs/scenes-caption scene.png --beam 4 --n 3
  regard caption runs/scenes-caption pictures --output captions.csv
  regard caption runs/scenes-caption scene.png --attention words.svg""")
@declare.model
@click.argument("file", nargs=-1, required=True, type=declare.PATH)
@declare.count("--beam", help="Beam size; 1 is greedy. Default: the recipe's.")
@declare.count("--n", default=1, show_default=True, help="So many captions of each picture.")
@declare.output("Write a table here: .csv, .tsv or .jsonl.")
@declare.path("--attention", help="Draw where each word looked: .png or .svg.")
@declare.device
@declare.json("One JSON object a file.")
def command(
    model: Path,
    file: tuple[Path, ...],
    beam: int | None,
    n: int,
    output: Path | None,
    attention: Path | None,
    device: str,
    as_json: bool,
) -> None:
    """Print what MODEL says of each image FILE; of a folder, of all pictures in it.

    MODEL is a run of `regard train` with objective "caption". A file among several that cannot be
    read is named on standard error, and the exit code is 1. --attention draws the picture once for
    each word of its caption, each patch as bright as the word looked at it (the mean of the heads
    of the decoder's last layer).
    """
    from regard.answer.see import picture_files
    from regard.answer.table_files import check_output, write_table
    from regard.cli.inputs import opened

    if output:
        check_output(output)
    if attention and attention.suffix not in (".png", ".svg"):
        raise click.UsageError("--attention: expected a name that ends in .png or .svg")
    if beam is not None and n > beam:
        raise click.UsageError(f"--n {n}: a beam of {beam} holds no more than {beam}")
    loaded = opened(model, "caption", device)
    files = list(picture_files(file))
    if attention and len(files) > MOST_DRAWN:
        raise click.UsageError(f"--attention draws {MOST_DRAWN} pictures at most")
    rows: list[tuple[str, str, float]] = []
    failed = 0
    looked: list[tuple[Path, Colours, str]] = []
    for path, colours, captions in _captioned(loaded, files, beam, n):
        if colours is None:
            failed += 1
            continue
        looked.append((path, colours, captions[0].text))
        if output:
            rows.append((str(path), captions[0].text, round(captions[0].score, 6)))
        elif as_json:
            shown = [_row(one) for one in captions]
            click.echo(valid_json({"file": str(path), "captions": shown}))
        else:
            _print(str(path) if len(files) > 1 else "", captions)
    if output:
        write_table(output, COLUMNS, rows)
        say_written(output, f", {len(rows):,} of {len(files):,} files")
    if attention and looked:
        _draw_attention(loaded, looked, attention)
    if failed:
        raise click.exceptions.Exit(1)


def _captioned(
    model: "Model", files: list[Path], beam: int | None, n: int
) -> "list[tuple[Path, Colours | None, list[Caption]]]":
    """The captions of each; none of one among several that cannot be read, which is named."""
    from regard.answer.caption import caption_of_colours
    from regard.answer.see import readable_colours
    from regard.cli.see import say_unread
    from regard.draw.terminal.progress import progress_bar

    answers: list[tuple[Path, Colours | None, list[Caption]]] = []
    with progress_bar("captioning", len(files)) as bar:
        for start in range(0, len(files), TOGETHER):
            some = files[start : start + TOGETHER]
            colours = readable_colours(model, some, len(files) == 1, say_unread)
            told = caption_of_colours(model, list(colours.values()), beam, n) if colours else []
            captions = dict(zip(colours, told, strict=True))
            answers += [(path, colours.get(path), captions.get(path, [])) for path in some]
            bar.advance(len(some))
    return answers


def _print(name: str, captions: "list[Caption]") -> None:
    from regard.cli.streams import echo_answer

    for number, one in enumerate(captions):
        said = one.text if len(captions) == 1 else f"{one.score:8.3f}  {one.text}"
        named = f"{name}: " if name and not number else " " * (len(name) + 2) * bool(name)
        echo_answer(f"{named}{said}")


def _row(one: "Caption") -> dict[str, object]:
    return {
        "caption": one.text,
        "score": one.score,
        "log_probability": one.log_probability,
        "finished": one.finished,
    }


def _draw_attention(model: "Model", looked: "list[tuple[Path, Colours, str]]", out: Path) -> None:
    """The picture, then once for each word, as bright as the word looked."""
    from regard.answer.patches_seen import words_looking
    from regard.draw.figure.pictures import gallery, of_colours
    from regard.draw.figure.png import write_png
    from regard.draw.figure.svg import write_svg

    told = [(path, colours, text) for path, colours, text in looked if text]
    rows, words = [], []
    found = words_looking(model, [one[1] for one in told], [one[2] for one in told])
    for (path, colours, text), looking in zip(told, found, strict=True):
        panels = [of_colours(colours, path.name)]
        panels += [
            of_colours(looking.lit(place), word, f"most {looking.weights[place].max():.0%}")
            for place, word in enumerate(looking.words)
        ]
        rows += [panels[first : first + ACROSS] for first in range(0, len(panels), ACROSS)]
        words.append(f"{path.name}: {text}")
    if not rows:
        return
    subtitle = "each patch as bright as the word looked at it: cross-attention, last layer"
    picture = gallery(rows, "Where each word looked", subtitle, ". ".join(words))
    (write_svg if out.suffix == ".svg" else write_png)(out, picture)
    say_written(out)
