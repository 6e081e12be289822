"""`regard evaluate` of a model that fills holes: pseudo-perplexity, and words that agree."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.column_options import say_read
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.api.model import Model


def evaluate_fill(
    model: "Model", texts: Path | None, columns: dict[str, str], as_json: bool
) -> None:
    """Hide every word of a test set once and print how good that was."""
    from regard.draw.counted import counted
    from regard.draw.terminal.progress import progress_bar
    from regard.evaluate.fill import score_fill, texts_to_fill

    test = texts_to_fill(model, texts, columns)
    if test.report is not None:
        say_read(test.report)
    with progress_bar("filling", len(test.texts)) as bar:
        scores = score_fill(model, test, bar.advance)
    if as_json:
        click.echo(valid_json({"set": test.name, **asdict(scores)}, gaps=True))
        return
    tokens = counted(scores.tokens, "token")
    click.echo(f"{counted(scores.texts, 'text')} of {test.name}, {tokens}, each hidden once")
    click.echo(f"pseudo-perplexity {scores.pseudo_perplexity:8.2f}")
    click.echo(
        f"found             {scores.found:8.2%}  (the likeliest token is the one that stood there)"
    )
    if not scores.agreement:
        return
    click.echo("\nwords that agree     words   right form   the very word")
    for row in scores.agreement:
        shares = f"{row.form:12.2%} {row.exact:15.2%}"
        click.echo(f"{row.group:<18} {row.words:7,} {shares}")
    if scores.left_out:
        click.echo(f"{scores.left_out:,} more are several tokens each and were not asked for.")
