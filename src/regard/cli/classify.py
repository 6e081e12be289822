"""`regard classify`: the labels of a text, or of each of its tokens."""

import json
from pathlib import Path

import click


@click.command(
    epilog="""\b
Examples:
  regard classify distilbert/distilbert-base-uncased-finetuned-sst-2-english "A fine film."
  regard classify path/to/bert "A man sleeps." --pair "Somebody rests." --json"""
)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("text", nargs=-1)
@click.option("--pair", help="The second text, where the model compares two.")
@click.option("--top", type=click.IntRange(min=1), help="Only so many labels; default: all.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or mps.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a text.")
def command(
    model: Path,
    text: tuple[str, ...],
    pair: str | None,
    top: int | None,
    device: str,
    as_json: bool,
) -> None:
    """Print the labels of each TEXT with probabilities; without TEXT, of lines of standard input.

    MODEL is a published folder with a classifier head, or its name on the hub. A head that labels
    each token prints one line a token.
    """
    from regard.cli.labels import show_labels
    from regard.cli.lines import texts_of
    from regard.cli.opened import opened

    loaded = opened(model, "classify", device)
    for texts in texts_of(text):
        for each in texts:
            found = loaded.classify(each, pair, top)
            if as_json:
                labels = [{k: v for k, v in vars(one).items() if v != ""} for one in found]
                click.echo(json.dumps({"text": each, "labels": labels}, ensure_ascii=False))
            else:
                show_labels(each if len(texts) > 1 else "", found)
