"""`regard evaluate` of models that write captions: exact, BLEU, and where their nouns look."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from regard.valid_json import valid_json

MOST_SLIPS = 5  # that are printed


def evaluate_captions(
    folder: Path,
    file: Path | None,
    options: dict[str, Any],
    drawn: tuple[Path | None, Path | None, Path | None],
    as_json: bool,
    dataset: str | None = None,
) -> None:
    """Caption a test set and print how good that was."""
    from regard.api.load import load
    from regard.draw.terminal.progress import progress_bar
    from regard.evaluate.captions import captions_to_score, score_captions
    from regard.printable import counted

    if any(drawn):
        raise click.UsageError("--png, --svg and --worst: captions have no such table")
    model = load(folder, options["device"])
    test = captions_to_score(model, file)
    with progress_bar("captioning", None) as bar:
        scores = score_captions(model, test, options["beam"], bar.advance)
    for _, reason in test.report.left_out:
        click.echo(f"left out: {reason}", err=True)
    if as_json:
        click.echo(valid_json({**asdict(scores), "set": dataset or scores.set}, gaps=True))
        return
    click.echo(f"{counted(scores.pictures, 'picture')} of {dataset or scores.set}")
    click.echo(f"exact     {scores.exact:7.2%}  of the captions are right to the last word")
    click.echo(f"BLEU      {scores.bleu:7.2f}  {scores.bleu_signature}")
    if scores.on_object is not None:
        click.echo(
            f"on object {scores.on_object:7.2%}  of {scores.nouns:,} nouns look most at what they "
            "mean"
        )
        click.echo("\nnouns   pictures    exact")
        for row in scores.by_nouns:
            click.echo(f"{row.nouns:5} {row.pictures:10,} {row.exact:8.2%}")
    for slip in scores.slips[:MOST_SLIPS]:
        click.echo(f"\n{slip.name}\n  got      {slip.output}\n  expected {slip.expected}")
