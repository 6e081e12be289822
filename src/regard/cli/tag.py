"""`regard tag`: a label for each word of a text."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli import declare
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.answer.tag import Tag


@declare.command("""
  regard tag runs/phrasebook-tag "The tired dogs sleep."
  regard tag dslim/bert-base-NER "Ada Lovelace lived in London." --json
  regard tag runs/mine --file sentences.txt --spaces""")
@declare.model
@click.argument("text", nargs=-1)
@declare.file("Tag a file, a text a line; or a table.")
@declare.columns("text")
@declare.flag(
    "--spaces", help="Words are what spaces divide; default: punctuation is a word of its own."
)
@declare.device
@declare.json("One JSON object a text.")
def command(
    model: Path,
    text: tuple[str, ...],
    file: Path | None,
    text_column: str,
    spaces: bool,
    device: str,
    as_json: bool,
) -> None:
    """Print each word of TEXT, its tag and how likely that is; an empty line between texts.

    MODEL is a run of `regard train` with objective "tag", a published encoder folder that
    labels tokens, or its name on the hub. Without TEXT, lines of standard input are tagged.
    """
    from regard.cli.inputs import check_there, opened, texts_of
    from regard.draw.terminal.progress import progress_bar

    if file:
        check_there(file)
    loaded = opened(model, "tag", device)
    first = True
    with progress_bar("tagging", None) as bar:
        for texts in texts_of(text, file, None, text_column):
            for each in texts:
                if not text and not each.strip():
                    continue
                tags = loaded.tag([each.split() if spaces else each])[0]
                bar.advance()
                if as_json:
                    words = [asdict(one) for one in tags]
                    click.echo(valid_json({"text": each, "words": words}))
                    continue
                if not first:
                    click.echo()
                first = False
                _print(tags)


def _print(tags: "list[Tag]") -> None:
    word_width = max(len(one.word) for one in tags)
    tag_width = max(len(one.tag) for one in tags)
    for one in tags:
        click.echo(f"{one.word:<{word_width}}  {one.tag:<{tag_width}}  {one.probability:.4f}")
