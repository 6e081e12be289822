"""`regard evaluate` of a model that answers questions: exact match and F1, as SQuAD counts them."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.inputs import say_read
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.answer.loaded import LoadedModel


def evaluate_questions(
    model: "LoadedModel",
    file: Path | None,
    columns: dict[str, str],
    as_json: bool,
    dataset: str | None,
) -> None:
    """Ask the questions of a test set and print how good the answers were."""
    from regard.draw.terminal.progress import progress_bar
    from regard.evaluate.questions import questions_to_score, score_questions
    from regard.printable import counted

    test = questions_to_score(model, file, columns)
    name = dataset or test.name
    if test.report is not None:
        say_read(test.report)
    with progress_bar("asking", len(test.rows)) as bar:
        scores = score_questions(model, test, bar.advance)
    if as_json:
        click.echo(valid_json({"set": name, **asdict(scores)}, gaps=True))
        return
    click.echo(f"{counted(scores.questions, 'question')} of {name}")
    click.echo(f"exact match {scores.exact:6.2f} %")
    click.echo(f"F1          {scores.f1:6.2f} %")
    if scores.without and scores.answered_f1 is not None:
        click.echo(
            f"{scores.answered:,} with an answer: exact {scores.answered_exact:.2f}, "
            f"F1 {scores.answered_f1:.2f}"
        )
    if scores.without:
        click.echo(f"{scores.without:,} without: {scores.without_right:.2f} % were given none")
