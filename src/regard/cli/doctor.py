"""`regard doctor`: what a file or a folder of weights is, told from its headers alone."""

import json
import sys
from pathlib import Path

import click


@click.command(
    epilog="""\b
Examples:
  regard doctor path/to/folder
  regard doctor pytorch_model.bin
  regard doctor model.gguf --json"""
)
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--all", "show_all", is_flag=True, help="List every tensor.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(path: Path, show_all: bool, as_json: bool) -> None:
    """Say what PATH is: who wrote it, which family, its tensors, what is unsafe or missing.

    Reads .safetensors, .bin, .pt, .npz and .gguf headers and executes nothing. Ends with exit code
    1 when regard cannot run it.
    """
    from regard.checkpoint.doctor import examine, lines
    from regard.tasks.named import located

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
        click.echo(json.dumps(row, ensure_ascii=False))
    else:
        for line in lines(found, most=len(found.tensors) if show_all else 12):
            click.echo(line)
    if not found.runs:
        sys.exit(1)
