"""`regard train`: a recipe, or two files, to a run folder with a trained model."""

import json
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli import declare

if TYPE_CHECKING:
    from regard.fit.request import Request


@declare.command("""
  regard train demo
  regard train demo train.steps=500 model.dropout=0.2
  regard train --source a.en --target a.de --minutes 30
  regard train --source pairs.csv --source-column english --target-column german
  regard train --texts mail.csv --text-column message --label-column category --minutes 3
  regard train --text novel.txt --minutes 10
  regard train --text turns.jsonl --objective chat --minutes 10
  regard train --resume runs/demo
  regard train demo --prove-resume
  regard train wsj-parse --plan
  regard train --find-lr demo --png rates.png
  regard train --find-batch demo train.memory=2000""")
@click.argument("arguments", nargs=-1, metavar="[RECIPE] [KEY=VALUE]...")
@declare.path("--source", help="Own text: one sentence a line.")
@declare.path("--target", help="Its translation, line by line.")
@declare.path(
    "--texts",
    help="Own texts with labels, a .csv, .tsv, .jsonl or .parquet table: train a classifier.",
)
@declare.path("--text", help="Own plain text, a file or a folder: train a model that goes on.")
@declare.columns("source", "target", "text", "pair", "label")
@click.option(
    "--objective",
    metavar="NAME",
    help="What own files are for, where they could be for several things: text-to-text, chat.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0.01),
    help="Train so long: the learning rate comes down as the time runs out. With --resume: so "
    "many minutes more than the run has had.",
)
@declare.path("--run", "folder", help="Folder for the run.")
@declare.path("--resume", help="Continue this run.")
@declare.flag(
    "--prove-resume", help="Kill and resume a short run of this recipe, and compare every bit."
)
@declare.flag(
    "--inexact",
    help="With --resume: go on even where the last bits will differ (another machine or torch).",
)
@declare.flag("--force", help="Start even where memory or disk seem to be too small.")
@declare.flag("--plan", help="Say what a recipe would take, by its keys alone; no data, no run.")
@declare.flag("--find-lr", help="Suggest train.factor by a range test; no run.")
@declare.flag("--find-batch", help="The largest train.token_budget that fits; no run.")
@declare.path("--png", help="With --find-lr: draw into this file.")
@declare.path("--svg", help="With --find-lr: draw into this file.")
def command(
    arguments: tuple[str, ...],
    prove_resume: bool,
    plan: bool,
    find_lr: bool,
    find_batch: bool,
    png: Path | None,
    svg: Path | None,
    objective: str | None,
    **options: Any,
) -> None:
    """Train on a RECIPE (a name, see `regard recipe`, or a TOML file), or on your own files.

    KEY=VALUE changes single keys of the recipe, for example train.steps=2000; all keys are
    explained in `regard recipe demo`. Own files may be two text files, or one .tsv, .csv or
    .jsonl file given as --source; texts with labels are given as --texts. Each may be gzipped.
    Which columns of a table are read is printed.
    """
    from regard.cli.find import show_batches, show_rates
    from regard.fit.request import Request

    recipes = [argument for argument in arguments if "=" not in argument]
    if len(recipes) > 1:
        raise click.UsageError(
            f"expected one recipe, got {', '.join(recipes)}; for your own files: "
            f"--source {recipes[0]} --target {recipes[1]}"
        )
    if find_lr + find_batch + prove_resume + plan > 1:
        raise click.UsageError("--find-lr, --find-batch, --prove-resume or --plan, one at a time")
    if (png or svg) and not find_lr:
        raise click.UsageError("--png and --svg belong to --find-lr; `regard plot` draws runs")
    keys = _column_keys(declare.named_columns(options))
    keys += [f"objective={json.dumps(objective)}"] if objective else []
    request = Request(
        recipe=Path(recipes[0]) if recipes else None,
        assignments=(*keys, *(argument for argument in arguments if "=" in argument)),
        **options,  # the columns were taken out; the rest are its fields by name
    )
    if plan:
        _plan(request)
    elif find_lr:
        show_rates(request, png, svg)
    elif find_batch:
        show_batches(request)
    elif prove_resume:
        _prove(request)
    else:
        _train(request)


def _column_keys(columns: dict[str, str]) -> list[str]:
    """The columns as keys of a recipe; always texts, numbers too."""
    if not columns:
        return []
    from regard.runs.columns import KEYS

    return [f"data.{KEYS[role]}={json.dumps(name)}" for role, name in columns.items()]


def _plan(request: "Request") -> None:
    from regard.fit.plan import plan_lines

    if request.recipe is None:
        raise click.UsageError("--plan: expected a recipe, e.g. regard train wsj-parse --plan")
    for line in plan_lines(request.recipe, tuple(request.assignments)):
        click.echo(line)


def _prove(request: "Request") -> None:
    from regard.fit.prove import prove

    proof = prove(request, say=click.echo)
    for line in proof.lines():
        click.echo(line)
    raise SystemExit(0 if proof.holds else 1)


def _train(request: "Request") -> None:
    from regard.fit.train import train

    outcome = train(request, say=_say)
    if outcome.signal is not None:
        raise SystemExit(128 + signal.Signals(outcome.signal).value)
    if outcome.unsaved or outcome.unlogged:
        raise SystemExit(1)


def _say(line: str) -> None:
    """To a terminal that may have been closed, or a file on a full disk: training goes on."""
    with suppress(OSError):
        click.echo(line)
