"""`regard walk`: every number of one pass, or of a hand calculation, as a worksheet."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli import declare
from regard.cli.inputs import say_written
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.bundle.bundle import Bundle
    from regard.draw.worksheet.worksheet import Worksheet

PLACE = (
    "kind",
    "layer",
    "head",
    "word",
    "answer",
    "pair",
    "max_tokens",
)  # what a walk looks at, in this order


@declare.command(
    """
  regard walk runs/demo "How are you?"
  regard walk runs/demo "How are you?" --kind cross --layer 2 --head 3 --word 2
  regard walk runs/demo "How are you?" --html walk.html --latex walk.tex
  regard walk path/to/gpt2 "The cat sat on" --layer 2 --word cat
  regard walk --matrices sheet.toml""",
    query="--word",
    translation="--answer",
)
@click.argument("run", metavar="[MODEL]", type=declare.PATH, required=False)
@click.argument("text", required=False)
@declare.path("--matrices", help="A hand calculation (TOML).")
@click.option(
    "--kind",
    type=click.Choice(["encoder", "decoder", "cross"]),
    help="Which attention of a model with both: the encoder's (default), the decoder's own, or "
    "cross-attention.",
)
@declare.count("--layer", help="Which layer; default: 1.")
@declare.count("--head", help="Which head; default: 1.")
@click.option("--word", help="A word, or a position counted from 1; default: the first.")
@click.option(
    "--answer",
    help="Walk through this output instead of the model's own; a continuation begins with its "
    "space.",
)
@declare.count("--max-tokens", help="Decoder: most tokens of its own continuation; default: 8.")
@click.option("--pair", help="Encoder: the second text, where the model compares two.")
@click.option(
    "--decimals",
    type=click.IntRange(0, 12),
    default=4,
    show_default=True,
    help="Decimals of each number.",
)
@click.option(
    "--columns",
    type=click.IntRange(min=0),
    help="Columns shown of a wide matrix, 0 for all; default: what fits.",
)
@declare.path("--html", help="Write a web page instead.")
@declare.path("--latex", help="Write a LaTeX document instead.")
@declare.json("Print the whole worksheet as JSON.")
@click.option(
    "--pager/--no-pager", default=True, help="Page what is longer than the screen (default)."
)
@declare.device
def command(
    run: Path | None,
    text: str | None,
    matrices: Path | None,
    decimals: int,
    columns: int | None,
    html: Path | None,
    latex: Path | None,
    as_json: bool,
    pager: bool,
    device: str,
    **place: Any,
) -> None:
    """Write out every number of one pass of MODEL over TEXT, as if by hand.

    The numbers are those that the model computed. With --matrices, the calculation is your own.
    """
    chosen = {name: place[name] for name in PLACE if place[name] is not None}
    sheet = _worksheet(run, text, matrices, chosen, device)
    if html or latex:
        _write(sheet, html, latex, decimals, columns)
    if as_json:
        from regard.draw.worksheet.worksheet import as_data

        click.echo(valid_json(as_data(sheet)))
    elif not (html or latex):
        _show(sheet, decimals, columns, pager)


def _worksheet(
    run: Path | None, text: str | None, matrices: Path | None, place: dict[str, Any], device: str
) -> "Worksheet":
    """The worksheet of a model's pass, or of a person's sheet; never of both."""
    if matrices is not None:
        if run is not None:
            raise click.UsageError(
                f"--matrices is a calculation of its own: got MODEL {str(run)!r} too; leave out "
                "MODEL and TEXT, or --matrices"
            )
        if place:
            named = ", ".join(f"--{name}".replace("_", "-") for name in place)
            raise click.UsageError(f"{named}: only for a MODEL, a sheet has one head and one layer")
        from regard.explain.by_hand.sheet import walk_sheet

        return walk_sheet(matrices)
    if run is None or text is None:
        missing = "MODEL and TEXT" if run is None else "TEXT"
        raise click.UsageError(
            f"Missing {missing}: give a model and a sentence, or --matrices SHEET"
        )
    from regard.bundle.bundle import open_bundle

    bundle = open_bundle(run)
    _check_place(bundle, text, place)
    from regard.answer.loaded import TORCH, LoadedModel
    from regard.explain.walk import walk  # here: torch takes seconds

    return walk(LoadedModel(bundle, device, TORCH), text, **place)


def _check_place(bundle: "Bundle", text: str, place: dict[str, Any]) -> None:
    """A layer, a head or a word that is not there; of a run that translates before torch is
    imported."""
    from regard.explain.place import KINDS, check_place, known_ids, tokens_of

    spec = bundle.spec
    usual = "encoder" if spec.encoder_layers else "decoder"
    kind = place.get("kind", usual)
    check_place(spec, kind, place.get("layer", 1), place.get("head", 1))
    if not bundle.is_own_translator:
        return
    tokenizer = bundle.own_tokenizer
    ids = known_ids(tokenizer, KINDS[kind][2], text, place.get("answer"))
    if ids is not None:
        ids = ids if kind == "encoder" else [tokenizer.special.bos, *ids]  # as it is fed in
        tokens_of(tokenizer, ids).find(place.get("word"))


def _write(
    sheet: "Worksheet", html: Path | None, latex: Path | None, decimals: int, columns: int | None
) -> None:
    from regard import atomic
    from regard.draw.worksheet import html as worksheet_html
    from regard.draw.worksheet import latex as worksheet_latex

    if html:
        wide = worksheet_html.COLUMNS if columns is None else columns
        atomic.write_text(html, worksheet_html.worksheet_html(sheet, decimals, wide))
        say_written(html)
    if latex:
        wide = worksheet_latex.COLUMNS if columns is None else columns
        atomic.write_text(latex, worksheet_latex.worksheet_latex(sheet, decimals, wide))
        say_written(latex)


def _show(sheet: "Worksheet", decimals: int, columns: int | None, pager: bool) -> None:
    from regard.draw.terminal.console import Console
    from regard.draw.worksheet.terminal import TerminalSheet

    console = Console()
    picture = TerminalSheet(sheet, decimals, columns)
    if not (pager and console.is_terminal):
        console.print(picture, crop=False)
        return
    with console.capture() as caught:
        console.print(picture, crop=False)
    written = caught.get()
    if written.count("\n") < console.height:
        console.print(picture, crop=False)
    else:
        click.echo_via_pager(written)  # with less, click asks for -R, which keeps the colours
