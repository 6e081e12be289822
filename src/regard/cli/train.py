"""`regard train`: a recipe, or two files, to a run folder with a trained model."""

import signal
from pathlib import Path

import click


@click.command(
    epilog="""\b
Examples:
  regard train recipes/demo.toml
  regard train recipes/demo.toml train.steps=500 model.dropout=0.2
  regard train --source a.en --target a.de --minutes 30
  regard train --resume runs/demo"""
)
@click.argument("arguments", nargs=-1, metavar="[RECIPE] [KEY=VALUE]...")
@click.option("--source", type=click.Path(path_type=Path), help="Own text: one sentence a line.")
@click.option("--target", type=click.Path(path_type=Path), help="Its translation, line by line.")
@click.option(
    "--minutes",
    type=click.FloatRange(min=0.01),
    help="So long; on resume, so much longer.",
)
@click.option("--run", "folder", type=click.Path(path_type=Path), help="Folder for the run.")
@click.option("--resume", type=click.Path(path_type=Path), help="Continue this run.")
@click.option(
    "--inexact",
    is_flag=True,
    help="With --resume: go on even where the last bits will differ (another machine or torch).",
)
def command(
    arguments: tuple[str, ...],
    source: Path | None,
    target: Path | None,
    minutes: float | None,
    folder: Path | None,
    resume: Path | None,
    inexact: bool,
) -> None:
    """Train on a RECIPE (a TOML file), or on your own files without one.

    KEY=VALUE changes single keys of the recipe, for example train.steps=2000. A recipe's keys are
    explained in recipes/demo.toml. Own files may be two text files, or one .tsv, .csv or
    .jsonl file given as --source; each may be gzipped.
    """
    from regard.tasks.train import Request, train

    recipes = [argument for argument in arguments if "=" not in argument]
    if len(recipes) > 1:
        raise click.UsageError(
            f"expected one recipe, got {', '.join(recipes)}; for your own files: "
            f"--source {recipes[0]} --target {recipes[1]}"
        )
    outcome = train(
        Request(
            recipe=Path(recipes[0]) if recipes else None,
            assignments=tuple(argument for argument in arguments if "=" in argument),
            source=source,
            target=target,
            minutes=minutes,
            folder=folder,
            resume=resume,
            inexact=inexact,
        ),
        say=click.echo,
    )
    if outcome.signal is not None:
        raise SystemExit(128 + signal.Signals(outcome.signal).value)
