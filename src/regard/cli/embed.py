"""`regard embed`: texts as vectors, into a file or as JSON; of a few texts, how alike they are."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli import declare
from regard.cli.inputs import say_written

if TYPE_CHECKING:
    import numpy as np

    from regard.api.model import Model

PART = 8192  # texts that are sorted by length and embedded together
MOST_IN_A_TABLE = 20


@declare.command("""
  regard embed minilm "A cat sleeps." "A dog naps."
  regard embed path/to/bert --file sentences.txt --output vectors.npy
  regard embed path/to/bert --file mail.csv --text-column message --output vectors.parquet
  regard embed path/to/bert "A cat sleeps." --json""")
@declare.model
@click.argument("text", nargs=-1)
@declare.file(
    "Embed a file line by line; a table (.csv, .tsv, .jsonl, .parquet) row by row.",
)
@declare.columns("text")
@declare.output("Write the vectors here: .npy, .parquet or .jsonl.")
@declare.choice(
    "--precision",
    among=["auto", "fp32", "int16", "bf16"],
    help="Of the products; auto: int16 where it is faster, else fp32.",
)
@declare.device
@declare.json("One JSON object a text, with its vector.")
def command(
    model: Path,
    text: tuple[str, ...],
    file: Path | None,
    text_column: str,
    output: Path | None,
    precision: str,
    device: str,
    as_json: bool,
) -> None:
    """Make a vector of each TEXT, or of the lines of --file or standard input.

    Prints the cosine of each pair of texts, 1 for the same direction; the vectors themselves come
    with --json or --output. A line is a row: an empty one has a vector too. Of a table the column
    of texts is embedded, and standard error says which one that is. MODEL is a published encoder
    folder, its name on the hub, a run that trained an encoder, or minilm.
    """
    from regard.answer.vector_files import check_output
    from regard.cli.inputs import check_there, opened, texts_of

    if output and as_json:
        raise click.UsageError("expected --output or --json, not both; .jsonl is a file of JSON")
    if output:
        check_output(output)
    if file:
        check_there(file)
    loaded = opened(model, "embed", device, precision)
    lines = texts_of(text, file, model, text_column)
    if output:
        _write(loaded, lines, output, file)
    elif as_json:
        _print_json(loaded, lines, file)
    else:
        _print_cosines(loaded, lines, file)


def _write(model: "Model", lines: Iterable[list[str]], output: Path, file: Path | None) -> None:
    from regard.answer.vector_files import in_parts, vector_file
    from regard.draw.terminal.progress import progress_bar

    size, rows = model.vector_size, 0
    with progress_bar("embedding", _count(file)) as bar, vector_file(output, size) as writer:
        for part in in_parts(lines, PART):
            writer.add(part, model.embed(part, advance=bar.advance))
            rows += len(part)
        if not rows:
            raise _no_text(file)
    say_written(output, f", {rows:,} × {size} numbers")


def _print_json(model: "Model", lines: Iterable[list[str]], file: Path | None) -> None:
    """As texts arrive: a program may wait for each answer."""
    from regard.answer.vector_files import as_json

    rows = 0
    for part in lines:
        for text, vector in zip(part, model.embed(part), strict=True):
            click.echo(as_json(text, vector))
            rows += 1
    if not rows:
        raise _no_text(file)


def _print_cosines(model: "Model", lines: Iterable[list[str]], file: Path | None) -> None:
    texts: list[str] = []
    for part in lines:
        texts += part
        if len(texts) > MOST_IN_A_TABLE:
            raise click.UsageError(
                f"more than {MOST_IN_A_TABLE} texts: a table of their cosines would not be read; "
                "give --output vectors.npy or --json"
            )
    if not texts:
        raise _no_text(file)
    vectors = model.embed(texts)
    if len(texts) == 1:
        first = " ".join(f"{x:.4f}" for x in vectors[0][:8])
        click.echo(f"{len(vectors[0])} numbers: {first} …")
        return
    for number, (row, text) in enumerate(zip(_cosines(vectors), texts, strict=True), start=1):
        click.echo(f"{number:3}  " + " ".join(f"{c:7.4f}" for c in row) + f"  {text}")


def _cosines(vectors: "np.ndarray") -> list[list[float]]:
    import numpy as np

    wide = vectors.astype(np.float64)
    sizes = np.linalg.norm(wide, axis=1, keepdims=True)
    unit = wide / np.where(sizes, sizes, 1.0)
    cosines: list[list[float]] = (unit @ unit.T).tolist()
    return cosines


def _count(file: Path | None) -> int | None:
    """How many lines a file has, for the bar; None for a table, whose rows may be longer, and for
    a pipe, which can be read only once."""
    from regard.data.table import is_table

    if file is None or not file.is_file() or is_table(file):
        return None
    with file.open("rb") as stream:
        blocks = iter(lambda: stream.read(1 << 20), b"")
        return sum(block.count(b"\n") for block in blocks)


def _no_text(file: Path | None) -> click.UsageError:
    if file:
        return click.UsageError(f"{file}: is empty, expected a text a line")
    return click.UsageError("no text: give TEXT, --file or lines on standard input")
