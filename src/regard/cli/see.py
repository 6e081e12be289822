"""`regard see`: the labels of image files."""

from pathlib import Path

import click

from regard.cli import declare
from regard.valid_json import valid_json


@declare.command("""
  regard see google/vit-base-patch16-224 cat.jpg
  regard see path/to/vit *.png --top 1 --json""")
@declare.model
@click.argument("file", nargs=-1, required=True, type=declare.PATH)
@declare.top(default=5, show_default=True)
@declare.device
@declare.json("One JSON object a file.")
def command(model: Path, file: tuple[Path, ...], top: int, device: str, as_json: bool) -> None:
    """Print what MODEL sees in each image FILE, with probabilities.

    MODEL is a published folder of a Vision Transformer with a classifier, or its name on the hub.
    """
    from regard.cli.classify import show_labels
    from regard.cli.inputs import opened

    loaded = opened(model, "see", device)
    for each in file:
        labels = loaded.see(each, top=top)
        if as_json:
            rows = [{"label": one.label, "probability": one.probability} for one in labels]
            click.echo(valid_json({"file": str(each), "labels": rows}))
        else:
            show_labels(str(each) if len(file) > 1 else "", labels)
