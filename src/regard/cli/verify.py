"""`regard verify`: golden outputs, written once and compared after every upgrade."""

import sys
from pathlib import Path

import click

from regard.cli import declare
from regard.cli.inputs import say_written
from regard.valid_json import valid_json


@declare.command(
    """
  regard verify path/to/bert --update
  regard verify path/to/bert
  regard verify google-bert/bert-base-uncased --golden bert.json""",
    write="--update",
)
@declare.model
@declare.flag("--update", "write", help="Write the golden outputs instead of comparing.")
@declare.path("--golden", help="The file; else golden.json beside it.")
@declare.json("Print one JSON object.")
def command(model: Path, write: bool, golden: Path | None, as_json: bool) -> None:
    """Recompute what MODEL answers to fixed inputs and compare with its golden.json.

    Ends with exit code 1 and the first difference when it answers differently than it did.
    """
    from regard.convert.verify import then_and_now, verify

    verdict = verify(model, golden, write)
    if as_json:
        row = {"file": str(verdict.file), "differences": list(verdict.differences)}
        versions = {"then": verdict.expected.get("versions"), "now": verdict.got["versions"]}
        click.echo(valid_json({"equal": not verdict.differences, **row, **versions}, gaps=True))
    elif verdict.written:
        say_written(verdict.file)
    elif not verdict.differences:
        count = len(verdict.expected["greedy"])
        chosen = verdict.chosen.removesuffix("s") if count == 1 else verdict.chosen
        parts = ["weights", f"{len(verdict.expected['values'])} outputs"]
        parts += [f"{count} {chosen}"] if count else []  # vectors have no best one
        click.echo(f"Equal: {', '.join(parts)} ({verdict.file})")
        click.echo(then_and_now(verdict.expected))
    else:
        click.echo(f"DIFFERENT: {model} does not answer as {verdict.file} says", err=True)
        for difference in verdict.differences:
            click.echo(f"  {difference}", err=True)
        click.echo(then_and_now(verdict.expected), err=True)
    if verdict.differences:
        sys.exit(1)
