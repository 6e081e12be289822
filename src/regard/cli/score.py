"""`regard score`: how likely a model finds given translations."""

from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli import declare
from regard.cli.inputs import arriving, one_line, rows_of
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.answer.score import Scored

PART = 1024  # pairs that are scored together

files = declare.section("Files")
shown = declare.section("Output")


@declare.command(
    """
  regard score runs/demo "How are you?" "Wie geht es dir?"
  regard score runs/demo "How are you?" "Wie geht es dir?" --per-token
  regard score runs/demo --source test.en --target test.de --json""",
    tokens="--per-token",
)
@click.argument("run", metavar="MODEL", type=declare.PATH)
@click.argument("texts", metavar="[SOURCE TARGET]", nargs=-1)
@files("--source", type=declare.PATH, help="Sources, line by line; or a table of both.")
@files("--target", type=declare.PATH, help="Their translations, line by line.")
@files("--source-column", default="", help="Of a table: name or number; found if left out.")
@files("--target-column", default="", help="Of a table: name or number; found if left out.")
@declare.engines(shortlist=False)
@shown("--per-token", "tokens", is_flag=True, help="List each piece of the target with its log p.")
@shown("--json", "as_json", is_flag=True, help="One JSON object a pair.")
def command(
    run: Path,
    texts: tuple[str, ...],
    source: Path | None,
    target: Path | None,
    tokens: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Print log p(TARGET | SOURCE), its mean per token, and the perplexity.

    The end token is counted. log p is the natural logarithm; a pair is scored as it is, never
    split into sentences.
    """
    from regard.answer.loaded import open_model
    from regard.answer.score import score_texts
    from regard.data.table import is_table

    columns = declare.named_columns(options)
    table = source if source and is_table(source) else None
    arguments = (len(texts), source is not None, target is not None)
    if arguments not in ((2, False, False), (0, True, not table)):
        raise click.UsageError(
            "expected a SOURCE and a TARGET, or --source and --target, or a table as --source"
        )
    if columns and not table:
        raise click.UsageError("--source-column and --target-column belong to a table as --source")
    device = options.pop("device")
    request = declare.engine_request(options)
    model = open_model(run, device, request, say=lambda line: click.echo(line, err=True))
    model.demand("translate")
    engines, translator = model.engines, model.translator
    first = 1
    pairs = iter([list(texts)])
    if table:
        pairs = iter(rows_of(table, ["source", "target"], columns, run))
    elif source and target:
        pairs = _pairs(source, target)
    while part := list(islice(pairs, PART)):
        sources, targets = [s for s, _ in part], [t for _, t in part]
        scores = score_texts(translator, engines.take_to_score(), sources, targets, first)
        if first == 1 and not as_json and not tokens:
            click.echo("     log p    per token   perplexity")
        for scored in scores:
            _write(scored, tokens, as_json)
        first += len(part)
    engines.close()


def _pairs(source: Path, target: Path) -> Iterator[list[str]]:
    """Line n of both files; the counts must match."""
    from regard.errors import DataError

    sides = [(line for lines in arriving(path) for line in lines) for path in (source, target)]
    for number, pair in enumerate(zip_longest(*sides), start=1):
        if None in pair:
            short, long = (source, target) if pair[0] is None else (target, source)
            problem = f"ends after line {number - 1:,}, {long} goes on"
            raise DataError(short, problem, expected="as many lines in both")
        yield list(pair)


def _write(scored: "Scored", tokens: bool, as_json: bool) -> None:
    if as_json:
        row: dict[str, Any] = {
            "source": scored.source,
            "target": scored.target,
            "log_probability": scored.log_probability,
            "mean": scored.mean,
            "perplexity": scored.perplexity,
        }
        if tokens:
            pairs = zip(scored.tokens, scored.log_probabilities, strict=True)
            row["tokens"] = [{"piece": piece, "log_probability": p} for piece, p in pairs]
        click.echo(valid_json(row))
        return
    if tokens:
        click.echo(one_line(f"{scored.source} → {scored.target}"))
        for piece, log_p in zip(scored.tokens, scored.log_probabilities, strict=True):
            click.echo(f"{log_p:10.4f}   {piece}")
        click.echo(
            f"{scored.log_probability:10.4f}   in all; {scored.mean:.4f} per token, perplexity "
            f"{scored.perplexity:.3f}"
        )
        return
    click.echo(f"{scored.log_probability:10.4f}   {scored.mean:10.4f}   {scored.perplexity:10.3f}")
