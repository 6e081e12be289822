"""`regard doctor`: what a file or folder of weights is, told from its headers; or this machine."""

import sys
from dataclasses import asdict
from pathlib import Path

import click

from regard.valid_json import valid_json


@click.command(
    epilog="""\b
Examples:
  regard doctor
  regard doctor path/to/folder
  regard doctor pytorch_model.bin
  regard doctor model.gguf --json"""
)
@click.argument("path", type=click.Path(path_type=Path), required=False)
@click.option("--all", "show_all", is_flag=True, help="List every tensor.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(path: Path | None, show_all: bool, as_json: bool) -> None:
    """Say what PATH is: who wrote it, which family, its tensors, what is unsafe or missing.

    Reads .safetensors, .bin, .pt, .npz and .gguf headers and executes nothing. Ends with exit code
    1 when regard cannot run it.

    Without PATH, say what this machine offers: processor, memory, precisions with their speed,
    those that it does not survive, engines, extras that are missing, where caches are.
    """
    if path is None:
        if show_all:
            raise click.UsageError("--all: lists the tensors of PATH, and there is none")
        _show_machine(as_json)
    else:
        _show_file(path, show_all, as_json)


def _show_machine(as_json: bool) -> None:
    from regard.engines.machine import examine_machine, lines

    report = examine_machine()
    if as_json:
        click.echo(valid_json(asdict(report), gaps=True))
        return
    for line in lines(report):
        click.echo(line)


def _show_file(path: Path, show_all: bool, as_json: bool) -> None:
    from regard.bundle.doctor import examine, lines
    from regard.bundle.named import located

    found = examine(Path(located(path)))
    if as_json:
        row = {
            "path": str(found.path),
            "kind": found.kind,
            "family": found.family,
            "writer": found.writer,
            "parameters": found.parameters,
            "dtypes": found.dtypes,
            "tensors": [vars(held) for held in found.tensors],
            "files": {name: contents.kind for name, contents in found.files.items()},
            "findings": [vars(finding) for finding in found.findings],
            "runs": found.runs,
            "why_not": found.why_not,
            "how": found.how,
        }
        click.echo(valid_json(row, gaps=True))
    else:
        for line in lines(found, most=len(found.tensors) if show_all else 12):
            click.echo(line)
    if not found.runs:
        sys.exit(1)
