"""`regard translate`: text, file or standard input, line by line."""

import json
import sys
from collections.abc import Callable, Iterator
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
@click.option("--pairs", is_flag=True, help="Print the source beside each translation.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, with scores.")
def command(
    run: Path,
    text: tuple[str, ...],
    file: Path | None,
    device: str,
    pairs: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Translate TEXT with the model of RUN; without TEXT, the lines of --file or standard input."""
    from regard.draw.progress import progress_bar
    from regard.tasks.load import load, search_with

    if text and file:
        raise click.UsageError("expected TEXT or --file, not both")
    chosen = {name: value for name, value in options.items() if value is not None}
    if "n_best" in chosen and "beam" not in chosen:
        chosen["beam"] = max(4, chosen["n_best"])  # a beam that holds them all
    model = load(run, device)
    search_with(model.search, **chosen)  # a wrong option is said before any text is read
    write = _write_json if as_json else _write_pairs if pairs else _write_text
    if text:
        _answer(model, list(text), chosen, write)
        return
    if file is None and sys.stdin.isatty():
        click.echo("Type a sentence and press Enter; Ctrl-D ends.", err=True)
    with progress_bar("translating", None) as bar:
        for lines in _chunks(file):
            _answer(model, lines, chosen, write)
            bar.advance(len(lines))


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


Write = Callable[[str, "list[Translation]"], None]


def _answer(model: "Model", texts: list[str], options: dict[str, Any], write: Write) -> None:
    for text, found in zip(texts, model.translations(texts, **options), strict=True):
        write(text, found)
    sys.stdout.flush()


def _write_text(source: str, found: "list[Translation]") -> None:
    for answer in found:
        score = f"{answer.score:8.4f}\t" if len(found) > 1 else ""
        click.echo(score + _one_line(answer.text))


def _write_pairs(source: str, found: "list[Translation]") -> None:
    for answer in found:
        click.echo(f"{source}\t{_one_line(answer.text)}")


def _write_json(source: str, found: "list[Translation]") -> None:
    answers = [{k: v for k, v in asdict(answer).items() if k != "ids"} for answer in found]
    click.echo(json.dumps({"source": source, "translations": answers}, ensure_ascii=False))


def _one_line(text: str) -> str:
    """A line in is a line out, whatever the model wrote."""
    return " ".join(text.splitlines())
