"""`regard convert`: a published model to regard's own files, and back."""

from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import click

from regard.cli import declare
from regard.cli.inputs import say_written
from regard.valid_json import valid_json


@declare.command("""
  regard convert path/to/bert bert-native --to native
  regard convert runs/demo demo-marian --to hf
  regard convert stories260K.bin stories --to hf
  regard convert runs/demo demo-fast --to ctranslate2 --precision int8""")
@declare.model
@click.argument("out", type=declare.PATH)
@click.option(
    "--to",
    type=click.Choice(["hf", "native", "ctranslate2"]),
    required=True,
    help="Which kind of folder.",
)
@declare.path("--tokenizer", help="The tokenizer of a llama2.c file.")
@declare.choice(
    "--precision", among=["fp32", "bf16", "int8"], help="Of the weights that ctranslate2 reads."
)
@declare.flag("--shortlist", help="Learn one from a run's corpus, for ctranslate2.")
@declare.flag("--allow-pickle", help="Read .bin and .pt files, as plain tensors.")
@declare.flag("--strict", help="Refuse a config.json with keys that regard does not know.")
@declare.json("Print one JSON object.")
def command(
    model: Path,
    out: Path,
    to: Literal["hf", "native", "ctranslate2"],
    as_json: bool,
    **options: Any,
) -> None:
    """Write MODEL as the new folder OUT.

    MODEL is a published folder or its name on the hub, a converted folder, a run of `regard train`,
    or a llama2.c file. `hf` is config.json and model.safetensors, for every library that reads
    them; `native` has regard's own names. A run becomes a Marian model with `--to hf`.
    `ctranslate2` is for the library of that name, which translates fast on a CPU.
    """
    from regard.convert.convert import convert

    converted = convert(model, out, to, **options)
    if as_json:
        click.echo(valid_json({**asdict(converted), "folder": str(converted.folder)}))
        return
    say_written(converted.folder, f" ({converted.family}, {converted.parameters:,} weights)")
    for name in converted.files:
        click.echo(f"  {name}", err=True)
    if to == "ctranslate2":
        done = "Read back by ctranslate2: it finds the same texts as likely."
        click.echo(f"Not read back: {converted.unread}." if converted.unread else done, err=True)
        return
    same = "every bit of the weights is equal" if converted.same_bits else "it answers equally"
    click.echo(f"Read back: {same}. Later: regard verify {converted.folder}", err=True)
