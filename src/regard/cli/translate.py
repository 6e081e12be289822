"""`regard translate`: text, file or standard input, line by line."""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from regard.tasks.load import Model
    from regard.tasks.translate import Translation

CHUNK = 512  # lines translated together: sorted by length within, so larger is faster


@click.command(
    epilog="""\b
Examples:
  regard translate runs/demo "How are you?"
  regard translate runs/demo --file letter.en > letter.de
  cat letter.en | regard translate runs/demo --beam 8 --n-best 3 --json"""
)
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("text", nargs=-1)
@click.option("--file", type=click.Path(path_type=Path), help="Translate this file line by line.")
@click.option("--beam", type=click.IntRange(min=1), help="Beam size; 1 is greedy.")
@click.option("--n-best", type=click.IntRange(min=1), help="Print this many translations of each.")
@click.option("--alpha", type=float, help="Exponent of the length norm (paper: 0.6).")
@click.option("--length-norm", type=click.Choice(["paper", "power"]), help="((5+n)/6)^α or n^α.")
@click.option("--stop", type=click.Choice(["exact", "first-k"]), help="When a beam is done.")
@click.option("--max-length", type=click.IntRange(min=1), help="Most output tokens.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or mps.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, with scores.")
def command(
    run: Path, text: tuple[str, ...], file: Path | None, device: str, as_json: bool, **options: Any
) -> None:
    """Translate TEXT with the model of RUN; without TEXT, the lines of --file or standard input."""
    from regard.tasks.load import load, search_with

    if text and file:
        raise click.UsageError("expected TEXT or --file, not both")
    chosen = {name: value for name, value in options.items() if value is not None}
    if chosen.get("n_best", 1) > chosen.get("beam", 0) and "beam" not in chosen:
        chosen["beam"] = max(4, chosen["n_best"])
    model = load(run, device)
    search_with(model.search, **chosen)  # a wrong option is said before any text is read
    if text:
        _print(model, list(text), chosen, as_json)
        return
    if file is None and sys.stdin.isatty():
        click.echo("Type a sentence and press Enter; Ctrl-D ends.", err=True)
    for lines in _chunks(file):
        _print(model, lines, chosen, as_json)


def _chunks(file: Path | None) -> Iterator[list[str]]:
    """Lines of the file or of standard input; a person typing is answered line by line."""
    from regard.errors import DataError

    size = 1 if file is None and sys.stdin.isatty() else CHUNK
    try:
        stream = file.open("rb") if file else sys.stdin.buffer
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror}") from None
    with stream:
        lines: list[str] = []
        for number, line in enumerate(stream, start=1):
            try:
                lines.append(line.decode("utf-8").rstrip("\r\n"))
            except UnicodeDecodeError:
                name = file or "standard input"
                raise DataError(f"{name}: line {number} is not valid UTF-8") from None
            if len(lines) == size:
                yield lines
                lines = []
        if lines:
            yield lines


def _print(model: "Model", texts: list[str], options: dict[str, Any], as_json: bool) -> None:
    for text, found in zip(texts, model.translations(texts, **options), strict=True):
        if as_json:
            answers = [_as_json(answer) for answer in found]
            click.echo(json.dumps({"source": text, "translations": answers}, ensure_ascii=False))
        elif len(found) > 1:
            for answer in found:
                click.echo(f"{answer.score:8.4f}\t{_one_line(answer.text)}")
        else:
            click.echo(_one_line(found[0].text))
    sys.stdout.flush()


def _as_json(answer: "Translation") -> dict[str, Any]:
    return {k: v for k, v in asdict(answer).items() if k != "ids"}


def _one_line(text: str) -> str:
    """A line in is a line out, whatever the model wrote."""
    return " ".join(text.splitlines())
