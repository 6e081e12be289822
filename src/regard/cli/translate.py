"""`regard translate`: text, file or standard input, line by line."""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli.lines import arriving, one_line

if TYPE_CHECKING:
    from regard.tasks.load import Model
    from regard.tasks.published import Published
    from regard.tasks.translate import Translation


@click.command(
    epilog="""\b
Examples:
  regard translate runs/demo "How are you?"
  regard translate runs/demo --file letter.en > letter.de
  regard translate Helsinki-NLP/opus-mt-en-de "How are you?"
  cat letter.en | regard translate runs/demo --beam 8 --n-best 3 --json"""
)
@click.argument("run", metavar="MODEL", type=click.Path(path_type=Path))
@click.argument("text", nargs=-1)
@click.option("--file", type=click.Path(path_type=Path), help="Translate this file line by line.")
@click.option("--beam", type=click.IntRange(min=1), help="Beam size; 1 is greedy.")
@click.option("--n-best", type=click.IntRange(min=1), help="Print this many translations of each.")
@click.option("--alpha", type=float, help="Exponent of the length norm (paper: 0.6).")
@click.option("--length-norm", type=click.Choice(["paper", "power"]), help="((5+n)/6)^α or n^α.")
@click.option(
    "--stop", type=click.Choice(["exact", "first-k", "likely"]), help="When a beam is done."
)
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
    """Translate TEXT with MODEL; without TEXT, the lines of --file or standard input.

    MODEL is the folder of a run, the folder of a published Marian model, or its name on the hub.
    """
    from regard.cli.opened import warn_of_settings
    from regard.draw.progress import progress_bar
    from regard.tasks.load import load
    from regard.tasks.published import Published
    from regard.tasks.translate import search_with

    if text and file:
        raise click.UsageError("expected TEXT or --file, not both")
    chosen = {name: value for name, value in options.items() if value is not None}
    model = load(run, device)
    model.demand("translate")
    if isinstance(model, Published):
        warn_of_settings(model)
    if "n_best" in chosen and "beam" not in chosen:
        chosen["beam"] = max(model.search.beam, chosen["n_best"])  # a beam that holds them all
    search = search_with(model.search, "translate", **chosen)  # said before any text is read
    as_text = _write_scored if search.n_best > 1 else _write_text
    write = _write_json if as_json else _write_pairs if pairs else as_text
    if text:
        _answer(model, list(text), chosen, write)
        return
    if file is None and sys.stdin.isatty():
        click.echo("Type a sentence and press Enter; Ctrl-D ends.", err=True)
    with progress_bar("translating", None) as bar:
        for lines in arriving(file):
            _answer(model, lines, chosen, write)
            bar.advance(len(lines))


Write = Callable[[str, "list[Translation]"], None]


def _answer(
    model: "Model | Published", texts: list[str], options: dict[str, Any], write: Write
) -> None:
    for text, found in zip(texts, model.translations(texts, **options), strict=True):
        write(text, found)
    sys.stdout.flush()


def _write_text(source: str, found: "list[Translation]") -> None:
    click.echo(one_line(found[0].text))


def _write_scored(source: str, found: "list[Translation]") -> None:
    for answer in found:
        click.echo(f"{answer.score:8.4f}\t{one_line(answer.text)}")


def _write_pairs(source: str, found: "list[Translation]") -> None:
    for answer in found:
        click.echo(f"{source}\t{one_line(answer.text)}")


def _write_json(source: str, found: "list[Translation]") -> None:
    answers = [{k: v for k, v in asdict(answer).items() if k != "ids"} for answer in found]
    click.echo(json.dumps({"source": source, "translations": answers}, ensure_ascii=False))
