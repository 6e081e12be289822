"""`regard see`: the labels of image files."""

from pathlib import Path

import click

from regard.valid_json import valid_json


@click.command(
    epilog="""\b
Examples:
  regard see google/vit-base-patch16-224 cat.jpg
  regard see path/to/vit *.png --top 1 --json"""
)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("file", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--top", type=click.IntRange(min=1), default=5, show_default=True, help="How many.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or mps.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a file.")
def command(model: Path, file: tuple[Path, ...], top: int, device: str, as_json: bool) -> None:
    """Print what MODEL sees in each image FILE, with probabilities.

    MODEL is a published folder of a Vision Transformer with a classifier, or its name on the hub.
    """
    from regard.cli.labels import show_labels
    from regard.cli.opened import opened

    loaded = opened(model, "see", device)
    for each in file:
        labels = loaded.see(each, top)
        if as_json:
            rows = [{"label": one.label, "probability": one.probability} for one in labels]
            click.echo(valid_json({"file": str(each), "labels": rows}))
        else:
            show_labels(str(each) if len(file) > 1 else "", labels)
