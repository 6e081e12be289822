"""`regard evaluate` of models that parse: brackets, precision, recall and F1."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.answer.loaded import LoadedModel


def evaluate_parses(
    model: "LoadedModel",
    file: Path | None,
    options: dict[str, Any],
    as_json: bool,
    dataset: str | None,
) -> None:
    """Parse the words of each tree of a test set and print how good that was."""
    from regard.answer.translate import decoding_with
    from regard.draw.terminal.progress import progress_bar
    from regard.evaluate.trees import score_trees, trees_to_score
    from regard.printable import counted

    test = trees_to_score(model, file)
    search = decoding_with(model.bundle.settings.search, "evaluate", **options)
    with progress_bar("parsing", len(test.trees)) as bar:
        scores = score_trees(model, test, search, bar.advance)
    if as_json:
        click.echo(valid_json({**asdict(scores), "set": dataset or scores.set}, gaps=True))
        return
    sentences = counted(scores.sentences, "sentence")
    click.echo(f"{sentences} of {dataset or scores.set}, beam {search.beam}")
    click.echo(f"F1          {scores.f1:8.2%}  (brackets, as EVALB counts them)")
    click.echo(f"precision   {scores.precision:8.2%}")
    click.echo(f"recall      {scores.recall:8.2%}")
    click.echo(f"exact       {scores.exact:8.2%}  of the sentences have all brackets right")
    click.echo(f"well-formed {scores.well_formed:8.2%}")
    if scores.tags is not None:
        click.echo(f"tags        {scores.tags:8.2%}")
    click.echo("\nwords        sentences      F1    exact")
    for row in scores.lengths:
        click.echo(f"{row.words:<12} {row.sentences:9,} {row.f1:7.2%} {row.exact:8.2%}")
    if scores.too_long:
        click.echo(
            f"{counted(scores.too_long, 'sentence')} longer than the model reads counted as wrong."
        )
