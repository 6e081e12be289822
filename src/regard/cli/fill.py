"""`regard fill`: words for each [MASK] of a text."""

from dataclasses import asdict
from pathlib import Path

import click

from regard.cli import declare
from regard.valid_json import valid_json


@declare.command("""
  regard fill google-bert/bert-base-uncased "Paris is the [MASK] of France."
  regard fill path/to/distilbert "The [MASK] sat on the [MASK]." --top 3 --json""")
@declare.model
@click.argument("text", nargs=-1)
@declare.top(default=5, show_default=True)
@declare.device
@declare.json("One JSON object a text.")
def command(model: Path, text: tuple[str, ...], top: int, device: str, as_json: bool) -> None:
    """Print the likeliest words for each [MASK] of TEXT, with probabilities.

    MODEL is a published encoder folder with a masked-language head, its name on the hub, or a run
    of `regard train` with objective "fill". Without TEXT, the lines of standard input are filled.
    """
    from regard.cli.inputs import one_line, opened, texts_of

    loaded = opened(model, "fill", device)
    for texts in texts_of(text):
        for each in texts:
            candidates = loaded.fill(each, top=top)
            if as_json:
                masks = [[asdict(candidate) for candidate in row] for row in candidates]
                click.echo(valid_json({"text": each, "masks": masks}))
                continue
            for number, row in enumerate(candidates, start=1):
                if len(candidates) > 1:
                    click.echo(f"mask {number}")
                for candidate in row:
                    shown = f"{candidate.word:<16} {one_line(candidate.text)}"
                    click.echo(f"{candidate.probability:8.4f}  {shown}")
