"""`regard convert`: a published model to regard's own files, and back."""

from pathlib import Path
from typing import Literal

import click


@click.command(
    epilog="""\b
Examples:
  regard convert path/to/bert bert-native --to native
  regard convert runs/demo demo-marian --to hf
  regard convert stories260K.bin stories --to hf"""
)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--to", type=click.Choice(["hf", "native"]), required=True, help="Which kind of folder."
)
@click.option(
    "--tokenizer", type=click.Path(path_type=Path), help="The tokenizer of a llama2.c file."
)
@click.option("--allow-pickle", is_flag=True, help="Read .bin and .pt files, as plain tensors.")
def command(
    model: Path, out: Path, to: Literal["hf", "native"], tokenizer: Path | None, allow_pickle: bool
) -> None:
    """Write MODEL as the new folder OUT.

    MODEL is a published folder or its name on the hub, a converted folder, a run of `regard train`,
    or a llama2.c file. `hf` is config.json and model.safetensors, for every library that reads
    them; `native` has regard's own names. A run becomes a Marian model with `--to hf`.
    """
    from regard.tasks.convert import convert

    made = convert(model, out, to, tokenizer=tokenizer, allow_pickle=allow_pickle)
    click.echo(f"Written: {made.folder} ({made.family}, {made.parameters:,} weights)")
    for name in made.files:
        click.echo(f"  {name}")
    same = "every bit of the weights is equal" if made.same_bits else "it answers equally"
    click.echo(f"Read back: {same}. Later: regard verify {made.folder}")
