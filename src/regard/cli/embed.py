"""`regard embed`: texts as vectors, and how alike they are."""

import json
from pathlib import Path

import click


@click.command(
    epilog="""\b
Examples:
  regard embed sentence-transformers/all-MiniLM-L6-v2 "A cat sleeps." "A dog naps."
  regard embed path/to/bert --file sentences.txt --output vectors.npy
  regard embed path/to/bert "A cat sleeps." --json"""
)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("text", nargs=-1)
@click.option("--file", type=click.Path(path_type=Path), help="Embed this file line by line.")
@click.option("--output", type=click.Path(path_type=Path), help="Write the vectors here (.npy).")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or mps.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a text, with its vector.")
def command(
    model: Path,
    text: tuple[str, ...],
    file: Path | None,
    output: Path | None,
    device: str,
    as_json: bool,
) -> None:
    """Make a vector of each TEXT, or of the lines of --file or standard input.

    Prints the cosine of each pair of texts, 1 for the same direction; the vectors themselves come
    with --json or --output. MODEL is a published folder of an encoder (BERT, DistilBERT, sentence
    encoders), or its name on the hub.
    """
    from regard.cli.lines import texts_of
    from regard.cli.opened import opened

    loaded = opened(model, "embed", device)
    texts = [each for lines in texts_of(text, file) for each in lines]
    if not texts:
        raise click.UsageError("no text: give TEXT, --file or lines on standard input")
    vectors = loaded.embed(texts)
    if output:
        import io

        import numpy as np

        from regard import atomic

        content = io.BytesIO()
        np.save(content, vectors)
        atomic.write_bytes(output, content.getvalue())
        click.echo(f"Written: {output}, {vectors.shape[0]} × {vectors.shape[1]} numbers", err=True)
    if as_json:
        for each, vector in zip(texts, vectors, strict=True):
            row = {"text": each, "vector": [round(float(x), 7) for x in vector]}
            click.echo(json.dumps(row, ensure_ascii=False))
    elif not output:
        _print(texts, vectors.tolist())


def _print(texts: list[str], vectors: list[list[float]]) -> None:
    """The cosines as a table; of one text, its first numbers."""
    import math

    if len(texts) == 1:
        first = " ".join(f"{x:.4f}" for x in vectors[0][:8])
        click.echo(f"{len(vectors[0])} numbers: {first} …")
        return
    sizes = [math.hypot(*vector) or 1.0 for vector in vectors]
    for number, (text, one, size) in enumerate(zip(texts, vectors, sizes, strict=True), start=1):
        cosines = (
            sum(a * b for a, b in zip(one, other, strict=True)) / size / length
            for other, length in zip(vectors, sizes, strict=True)
        )
        click.echo(f"{number:3}  " + " ".join(f"{c:7.4f}" for c in cosines) + f"  {text}")
