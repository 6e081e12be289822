"""`regard index`: a folder of text files → an index to search."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli import declare
from regard.cli.inputs import say_written
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.search.index import Indexed


@declare.command(
    """
  regard index notes --model minilm --output notes.index
  regard index notes --output notes.index
  regard index src --suffix py --model path/to/bert --output src.index""",
    tokens="--passage-tokens",
)
@click.argument("folder", type=declare.PATH)
@declare.path("--model", help="An encoder: folder, hub name, minilm.")
@declare.output("The index: made or updated.", required=True)
@declare.count("--passage-tokens", "tokens", help="The most tokens of a passage.")
@click.option(
    "--suffix", "suffixes", multiple=True, help="One more kind of text file, for example py."
)
@declare.flag("--rebuild", help="Make the index anew, whatever is there.")
@declare.device
@declare.json("The counts as one JSON object.")
def command(folder: Path, model: Path | None, output: Path, as_json: bool, **options: Any) -> None:
    """Make the text files below FOLDER searchable: cut into passages, each with its vector.

    Where --output is an index of FOLDER already, only new and changed files are embedded, and those
    that are gone are dropped; --model may be left out then. Killed at any moment, the index answers
    as before.
    """
    from regard.search.index import index_folder

    done = index_folder(folder, output, model, **options)
    if as_json:
        click.echo(valid_json(asdict(done)))
        return
    for line in _lines(done):
        click.echo(line)
    if done.did_something:
        say_written(output)
    else:
        click.echo(f"Nothing changed: {output}", err=True)


def _lines(done: "Indexed") -> list[str]:
    from regard.printable import counted, printable_name

    said = [
        f"{counted(done.files, 'file')}, {counted(done.passages, 'passage')}",
        f"{counted(done.new, 'file')} new, {done.changed:,} changed, {done.removed:,} gone; "
        f"{counted(done.embedded, 'passage')} embedded",
    ]
    if done.other:
        kinds = ", ".join(f"{suffix} {count:,}" for suffix, count in list(done.other.items())[:6])
        more = ", …" if len(done.other) > 6 else ""
        said.append(
            f"skipped: {counted(sum(done.other.values()), 'file')} of other kinds ({kinds}{more})"
        )
    if done.too_long:
        said.append(f"skipped: {counted(len(done.too_long), 'file')} too long ({done.too_long[0]})")
    if done.unread:
        name, reason = next(iter(done.unread.items()))
        many = counted(len(done.unread), "file")
        said.append(f"skipped: {many} that could not be read ({name}: {reason})")
    if done.bad_lines:
        more = ", …" if done.bad_lines > len(done.first_bad) else ""
        shown = ", ".join(done.first_bad) + more
        said.append(f"left out, not UTF-8 text: {counted(done.bad_lines, 'line')} ({shown})")
    return [printable_name(line) for line in said]
