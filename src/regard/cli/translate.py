"""`regard translate`: text, file or standard input, line by line."""

import codecs
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

if TYPE_CHECKING:
    from io import BufferedReader

    from regard.tasks.load import Model
    from regard.tasks.translate import Translation

READ = 1 << 16  # bytes: about a thousand lines are translated together


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
    model = load(run, device)
    if "n_best" in chosen and "beam" not in chosen:
        chosen["beam"] = max(model.search.beam, chosen["n_best"])  # a beam that holds them all
    search = search_with(model.search, **chosen)  # a wrong option is said before any text is read
    as_text = _write_scored if search.n_best > 1 else _write_text
    write = _write_json if as_json else _write_pairs if pairs else as_text
    if text:
        _answer(model, list(text), chosen, write)
        return
    if file is None and sys.stdin.isatty():
        click.echo("Type a sentence and press Enter; Ctrl-D ends.", err=True)
    with progress_bar("translating", None) as bar:
        for lines in _arriving(file):
            _answer(model, lines, chosen, write)
            bar.advance(len(lines))


def _arriving(file: Path | None) -> Iterator[list[str]]:
    """Lines of the file or of standard input, as many as are there at once.

    Whoever types, or a program that waits for each answer, is answered line by line; a file comes
    in large parts, which are translated together.
    """
    from regard.errors import DataError

    name = str(file or "standard input")
    try:
        stream = cast("BufferedReader", file.open("rb") if file else sys.stdin.buffer)
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {error.strerror}") from None
    with stream:
        number, rest = 0, b""
        while data := stream.read1(READ):
            *whole, rest = (rest + data).split(b"\n")
            if number == 0 and whole:
                whole[0] = whole[0].removeprefix(codecs.BOM_UTF8)
            if whole:
                yield [_decoded(line, name, number + i) for i, line in enumerate(whole, start=1)]
            number += len(whole)
        if rest:
            yield [_decoded(rest, name, number + 1)]


def _decoded(line: bytes, name: str, number: int) -> str:
    from regard.errors import DataError

    try:
        return line.decode("utf-8").rstrip("\r")
    except UnicodeDecodeError:
        raise DataError(f"{name}: line {number} is not valid UTF-8") from None


Write = Callable[[str, "list[Translation]"], None]


def _answer(model: "Model", texts: list[str], options: dict[str, Any], write: Write) -> None:
    for text, found in zip(texts, model.translations(texts, **options), strict=True):
        write(text, found)
    sys.stdout.flush()


def _write_text(source: str, found: "list[Translation]") -> None:
    click.echo(_one_line(found[0].text))


def _write_scored(source: str, found: "list[Translation]") -> None:
    for answer in found:
        click.echo(f"{answer.score:8.4f}\t{_one_line(answer.text)}")


def _write_pairs(source: str, found: "list[Translation]") -> None:
    for answer in found:
        click.echo(f"{source}\t{_one_line(answer.text)}")


def _write_json(source: str, found: "list[Translation]") -> None:
    answers = [{k: v for k, v in asdict(answer).items() if k != "ids"} for answer in found]
    click.echo(json.dumps({"source": source, "translations": answers}, ensure_ascii=False))


def _one_line(text: str) -> str:
    """A line in is a line out, whatever the model wrote."""
    return " ".join(text.splitlines())
