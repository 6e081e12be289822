"""`regard search`: passages that answer a query."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli import declare
from regard.cli.streams import marks_for
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from rich.text import Text

    from regard.search.query import Match


@declare.command("""
  regard search notes.index "why is the dot product scaled?"
  regard search notes.index "dropout rate" --mode hybrid -k 3
  regard search notes.index softmax --mode keyword --json""")
@click.argument("index", type=declare.PATH)
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--mode",
    default="semantic",
    show_default=True,
    help="semantic (by meaning), keyword (BM25) or hybrid.",
)
@declare.top(default=5, show_default=True)
@declare.path("--model", help="The index's model, if it moved.")
@declare.device
@declare.flag("--no-check", help="Open a large index at once, without checksums.")
@declare.json("One JSON object a passage.")
def command(
    index: Path,
    query: tuple[str, ...],
    mode: str,
    top: int,
    model: Path | None,
    device: str,
    no_check: bool,
    as_json: bool,
) -> None:
    """Print the passages of INDEX that answer QUERY, best first.

    Each with its file, lines and score; the words that the match rests on are marked: the query's
    own for a keyword search, else those with the largest shares of the cosine: bold on a terminal,
    «so» in a file or a pipe, as places in the text with --json. Several words need no quotes.
    """
    from regard.search.query import open_index

    text = " ".join(query)
    opened = open_index(index, model, device=device, check=not no_check)
    matches = opened.search(text, top, mode)
    if mode != "keyword" and opened.is_strange(text):
        click.echo("The model knows less than half of this query: trust no order.", err=True)
    if as_json:
        for match in matches:
            click.echo(valid_json(asdict(match)))
    elif matches:
        _print(matches, opened.manifest.folder)
    else:
        click.echo("No passage holds any of these words; --mode semantic goes by meaning.")


def _print(matches: "list[Match]", folder: str) -> None:
    from rich.markup import escape

    from regard.draw.terminal.console import Console
    from regard.printable import printable_name

    console = Console(highlight=False, soft_wrap=True)
    for number, match in enumerate(matches):
        if number:
            console.print()
        lines = f"{match.first}-{match.last}" if match.last > match.first else f"{match.first}"
        ranks = "".join(f"  {name} {rank}." for name, rank in match.ranks.items())
        name = escape(printable_name(match.file))
        console.print(f"[bold]{name}:{lines}[/]  {match.score:.4f}[dim]{ranks}[/]")
        for line in _marked(match, console.is_terminal).split("\n", allow_blank=False):
            if line.plain.strip():
                console.print("    ", line, sep="")


def _marked(match: "Match", coloured: bool) -> "Text":
    """The text, its highlights in bold on a terminal; elsewhere between marks that it has not.

    Stars would be markup of Markdown already.
    """
    from rich.text import Text

    marked, at = Text(), 0
    marks = marks_for(match.text)
    for mark in match.highlights:
        marked.append(match.text[at : mark.start])
        word = match.text[mark.start : mark.end]
        marked.append(
            word if coloured else marks[0] + word + marks[1], "bold yellow" if coloured else ""
        )
        at = mark.end
    marked.append(match.text[at:])
    return marked
