"""`regard demo`: train, measure, translate, look inside, each by the command that one would type.

What it runs is printed before it runs, so that the demo is also the shortest manual.
"""

import shlex
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import click

from regard.cli import declare

RUNS = Path("runs")


@dataclass(frozen=True)
class Tour:
    """A demo in one language."""

    recipe: str
    sentences: tuple[str, ...]  # to translate
    explained: str  # of which the attention is shown
    view: str  # how
    picture: str


TOURS = {
    "de": Tour(
        recipe="demo",
        sentences=(
            "I like eating ice cream.",
            "They went to the bank to exchange money.",
            "They went to the bank to feed the ducks.",
            "The animal didn't cross the street because it was too tired.",
            "The animal didn't cross the street because it was too wide.",
        ),
        explained="The animal didn't cross the street because it was too tired.",
        view="heatmap",
        picture="attention.svg",
    ),
    "hi": Tour(
        recipe="demo-hi",
        sentences=(
            "How are you?",
            "Thank you.",
            "I like eating ice cream.",
            "Nithish saw the lion.",
            "The lion saw Nithish.",
            "Apple makes great phones.",
        ),
        explained="I like eating ice cream.",
        view="dots",
        picture="ice-cream.svg",
    ),
}


@declare.command("""
  regard demo
  regard demo --language hi
  regard demo --steps 200 --run runs/short""")
@declare.choice("--language", among=list(TOURS), help="What English is translated into.")
@declare.count("--steps", help="Train shorter: a taste, not a model.")
@declare.path("--run", "folder", help="Folder; else runs/demo.")
def command(language: str, steps: int | None, folder: Path | None) -> None:
    """Train a small translator on the phrasebook in minutes, then use it and look inside.

    An earlier demo is never overwritten: the next one goes to runs/demo-2. A model that is trained
    already needs no waiting: regard translate demo-de "How are you?"
    """
    from regard.fit.claim import free_folder

    tour = TOURS[language]
    wanted = folder or RUNS / tour.recipe
    run = folder or free_folder(RUNS, tour.recipe)
    if run != wanted:
        click.echo(f"{wanted} is there already and stays as it is; this demo goes to {run}.")
    name, picture = str(run), str(run / tour.picture)
    shorter = [] if steps is None else [f"train.steps={steps}"]
    try:
        _run("Train", "train", tour.recipe, *shorter, "--run", name)
    except BaseException:
        with suppress(OSError):  # nothing came of it; what did is not removed so
            run.rmdir()
        raise
    _run("Measure", "evaluate", name, "--slices")
    _run("Translate", "translate", name, "--with-source", *tour.sentences)
    view = [] if tour.view == "heatmap" else ["--as", tour.view]
    _run("Look inside", "explain", name, tour.explained, *view, "--svg", picture)
    click.echo(f"\nEverything is in {run}: the weights, the log, the loss curve, {picture}.")
    click.echo("Next:")
    for words in (
        ("translate", name, tour.sentences[0], "--json"),
        ("walk", name, "The cat sat.", "--layer", "2", "--head", "3", "--word", "cat"),
        ("plot", name),
    ):
        click.echo(f"  {_typed(words)}")
    click.echo("With pairs of your own: regard train --source yours.en --target yours.de")


def _run(title: str, *words: str) -> None:
    """One command, as if it had been typed."""
    from regard.cli.main import group
    from regard.draw.terminal.console import Console

    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(f"\n{title}", style="bold")
    console.print(f"$ {_typed(words)}", style="dim")
    group.main(list(words), prog_name="regard", standalone_mode=False)


def _typed(words: tuple[str, ...]) -> str:
    """The command as a person would type it: sentences in double quotes where a shell allows it."""
    plain = (word if set(word) & set('"$`\\!') else f'"{word}"' for word in words)
    quoted = (
        word if word == shlex.quote(word) else nice if nice != word else shlex.quote(word)
        for word, nice in zip(words, plain, strict=True)
    )
    return " ".join(["regard", *quoted])
