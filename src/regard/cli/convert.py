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
  regard convert runs/demo demo-fast --to ctranslate2 --precision int8
  regard convert model.gguf model --to hf
  regard convert runs/dialogue dialogue.gguf --to gguf --precision int8""")
@declare.model
@click.argument("out", type=declare.PATH)
@click.option(
    "--to",
    type=click.Choice(["hf", "native", "ctranslate2", "gguf"]),
    required=True,
    help="Which kind of folder, or a GGUF file.",
)
@declare.path("--tokenizer", help="The tokenizer of a llama2.c file.")
@click.option(
    "--precision",
    type=click.Choice(["fp32", "fp16", "bf16", "int8"]),
    help="Of the weights: for ctranslate2 fp32 (default), bf16 or int8; for GGUF fp16 (default), "
    "int8 (Q8_0) or fp32.",
)
@declare.flag("--shortlist", help="Learn one from a run's corpus, for ctranslate2.")
@declare.flag("--allow-pickle", help="Read .bin and .pt files, as plain tensors.")
@declare.flag("--strict", help="Refuse a config.json with keys that regard does not know.")
@declare.json("Print one JSON object.")
def command(
    model: Path,
    out: Path,
    to: Literal["hf", "native", "ctranslate2", "gguf"],
    as_json: bool,
    **options: Any,
) -> None:
    """Write MODEL as the new folder OUT, or as a GGUF file.

    MODEL is a published folder or its name on the hub, a converted folder, a run of `regard train`,
    a GGUF or a llama2.c file. `hf` is config.json and model.safetensors, for every library that
    reads them; `native` has regard's own names. A run becomes a Marian model with `--to hf`.
    `ctranslate2` is for the library of that name, which translates fast on a CPU. `gguf` is one
    file for llama.cpp: of a decoder like Llama, with its tokenizer.
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
    if converted.cost:
        same = f"its logits are at most {converted.cost:.2g} from those of the source"
    click.echo(f"Read back: {same}. Later: regard verify {converted.folder}", err=True)
