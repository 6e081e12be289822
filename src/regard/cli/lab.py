"""`regard lab`: claims of the notes as experiments that can fail."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli import declare
from regard.cli.inputs import say_written
from regard.valid_json import valid_json

WIDTH = 100  # of a paragraph, at most

if TYPE_CHECKING:
    from regard.lab.experiment import Experiment, LabResult


@declare.command("""
  regard lab                            what there is
  regard lab scale --quick              one seed, seconds
  regard lab order --report out         three seeds, figures into the folder
  regard lab all --report out           one page; started again, it goes on""")
@click.argument("name", required=False)
@declare.flag("--quick", help="One seed and small sizes: seconds, and less to rely on.")
@declare.path("--report", help="A folder: one page, figures, and what was measured, to go on from.")
@declare.json("Print everything that was measured as JSON.")
def command(name: str | None, quick: bool, report: Path | None, as_json: bool) -> None:
    """List the experiments, or run the one called NAME, or all.

    Each tests a claim of the notes by a rule that was written before the run: the claim holds, does
    not hold, or is not decided. Without --report an experiment's figures are written here.
    """
    from regard.lab.table import EXPERIMENTS, experiment_named

    if name is None:
        if quick or report:
            raise click.UsageError("--quick, --report: name an experiment, `regard lab` lists them")
        _list(as_json)
        return
    chosen = list(EXPERIMENTS.values()) if name == "all" else [experiment_named(name)]
    if name == "all" and report is None:
        raise click.UsageError("all: give --report FOLDER, where the page goes")
    if report is not None and report.exists() and not report.is_dir():
        from regard.errors import MisuseError

        raise MisuseError(report, "a file", expected="a folder, new or of an earlier report")
    _run(chosen, quick, report, as_json)


def _run(chosen: "list[Experiment]", quick: bool, report: Path | None, as_json: bool) -> None:
    from regard.lab.report import facts, write_figures, write_report
    from regard.model.device import choose_device

    choose_device("cpu")  # asked first: does this processor survive what is computed?
    outcomes = []
    for experiment in chosen:
        outcome = _measured(experiment, quick, report)
        outcomes.append(outcome)
        if not as_json:
            _say(outcome)
    if as_json:
        rows = [facts(outcome) for outcome in outcomes]
        click.echo(valid_json(rows if len(rows) > 1 else rows[0], gaps=True))
    if report is not None:
        say_written(write_report(outcomes, report))
        return
    for path in write_figures(outcomes[0], Path()):
        say_written(path)


def _measured(experiment: "Experiment", quick: bool, report: Path | None) -> "LabResult":
    from regard.draw.terminal.progress import progress_bar
    from regard.lab.run import run, seeds_of

    units = len(experiment.variants(quick)) * len(seeds_of(quick))
    kept = None if report is None else report / "kept"
    with progress_bar(experiment.name, units) as bar:
        return run(experiment, quick, kept=kept, done=lambda unit: bar.advance())


def _say(outcome: "LabResult") -> None:
    from textwrap import wrap

    from regard.printable import counted

    experiment = outcome.experiment
    size = "quick" if outcome.quick else "whole"
    click.echo(f"{experiment.name}: {experiment.claim}")
    click.echo(f"{outcome.verdict.upper()} ({counted(len(outcome.seeds), 'seed')}, {size} sizes)\n")
    for condition in outcome.conditions:
        held = [condition.holds(measured) for measured in outcome.seeds.values()]
        mark = "✓" if all(held) else "✗" if not any(held) else "?"
        click.echo(f"  {mark} {condition.says}")
    click.echo("")
    for line in wrap(experiment.paragraph(outcome), WIDTH, break_long_words=False):
        click.echo(line)
    click.echo("")


def _list(as_json: bool) -> None:
    from regard.lab.table import EXPERIMENTS

    rows = [
        {
            "name": e.name,
            "title": e.title,
            "claim": e.claim,
            "notes": f"docs/notes/{e.page}",
            "rule": [condition.says for condition in e.conditions(False)],
            "seconds": e.seconds,
        }
        for e in EXPERIMENTS.values()
    ]
    if as_json:
        click.echo(valid_json(rows, gaps=True))
        return
    width = max(map(len, EXPERIMENTS))
    for experiment in EXPERIMENTS.values():
        click.echo(f"{experiment.name:<{width}}  {experiment.claim}")
    click.echo(f"\n{'all':<{width}}  Each of them, as one page: regard lab all --report out")
