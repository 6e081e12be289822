"""`regard doctor`: what a file or folder of weights is, told from its headers; or this machine."""

import sys
from dataclasses import asdict
from pathlib import Path

import click

from regard.cli import declare
from regard.valid_json import valid_json


@declare.command(
    """
  regard doctor
  regard doctor path/to/folder
  regard doctor pytorch_model.bin
  regard doctor model.gguf --json""",
    all="--tensors",
)
@click.argument("path", type=declare.PATH, required=False)
@declare.flag("--tensors", "show_all", help="List every tensor.")
@declare.flag("--strict", help="A config.json with keys that regard does not know is refused.")
@declare.json("Print one JSON object.")
def command(path: Path | None, show_all: bool, strict: bool, as_json: bool) -> None:
    """Say what PATH is: who wrote it, which family, its tensors, what is unsafe or missing.

    Reads .safetensors, .bin, .pt, .npz and .gguf headers and executes nothing. Ends with exit code
    1 when regard cannot run it.

    Without PATH, say what this machine offers: processor, memory, precisions with their speed,
    those that it does not survive, engines, extras that are missing, where caches are.
    """
    if path is None:
        if show_all:
            raise click.UsageError("--tensors: lists the tensors of PATH, and there is none")
        if strict:
            raise click.UsageError("--strict: is about the config.json of PATH, and there is none")
        _show_machine(as_json)
    else:
        _show_file(path, show_all, strict, as_json)


def _show_machine(as_json: bool) -> None:
    from regard.engines.machine import examine_machine, lines

    report = examine_machine()
    if as_json:
        click.echo(valid_json(asdict(report), gaps=True))
        return
    for line in lines(report):
        click.echo(line)


def _show_file(path: Path, show_all: bool, strict: bool, as_json: bool) -> None:
    from regard.bundle.doctor import examine, lines
    from regard.bundle.named import located

    examined = examine(Path(located(path)), strict)
    if as_json:
        row = {
            "path": str(examined.path),
            "kind": examined.kind,
            "family": examined.family,
            "writer": examined.writer,
            "parameters": examined.parameters,
            "dtypes": examined.dtypes,
            "tensors": [vars(held) for held in examined.tensors],
            "files": {name: contents.kind for name, contents in examined.files.items()},
            "findings": [vars(finding) for finding in examined.findings],
            "runs": examined.runs,
            "why_not": examined.why_not,
            "how": examined.how,
        }
        click.echo(valid_json(row, gaps=True))
    else:
        for line in lines(examined, most=len(examined.tensors) if show_all else 12):
            click.echo(line)
    if not examined.runs:
        sys.exit(1)
