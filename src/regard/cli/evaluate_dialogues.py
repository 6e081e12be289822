"""`regard evaluate` of a model that converses: how many answers are the expected ones, by kind."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.api.model import Model

MOST_WRONG = 5  # that are printed


def evaluate_dialogues(model: "Model", file: Path | None, as_json: bool) -> None:
    """Ask for the last answer of each conversation and print how often it is right."""
    from regard.draw.terminal.progress import progress_bar
    from regard.evaluate.dialogues import dialogues_to_score, score_dialogues
    from regard.printable import counted

    name, dialogues = dialogues_to_score(model, file)
    with progress_bar("answering", len(dialogues)) as bar:
        scores = score_dialogues(model, dialogues, bar.advance)
    if as_json:
        click.echo(valid_json({"set": name, **asdict(scores)}, gaps=True))
        return
    click.echo(f"{counted(scores.dialogues, 'conversation')} of {name}")
    click.echo(f"exact {scores.exact:7.2%} of the last answers are the expected ones")
    if len(scores.kinds) > 1:
        width = max(len(row.kind) for row in scores.kinds)
        click.echo(f"\n{'kind':<{width}}  dialogues    exact")
        for row in scores.kinds:
            click.echo(f"{row.kind:<{width}}  {row.dialogues:9,}  {row.exact:7.1%}")
    for wrong in scores.wrong[:MOST_WRONG]:
        click.echo(f"\n{wrong.question}")
        click.echo(f"  got      {wrong.answer}\n  expected {wrong.expected}")
    if len(scores.wrong) > MOST_WRONG:
        click.echo(f"\nand {len(scores.wrong) - MOST_WRONG} more; --json has them all")
