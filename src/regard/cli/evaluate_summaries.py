"""`regard evaluate --metric rouge`: summaries beside those that people wrote."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli.inputs import say_read
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.answer.loaded import LoadedModel
    from regard.answer.summarize import Length


def evaluate_summaries(
    model: "LoadedModel",
    files: tuple[Path | None, Path | None],
    columns: dict[str, str],
    length: "Length | None",
    search: dict[str, Any],
    output: Path | None,
    as_json: bool,
    dataset: str | None,
) -> None:
    """Summarise each document, and print ROUGE."""
    from regard import atomic
    from regard.data.report import Report
    from regard.draw.terminal.progress import progress_bar
    from regard.evaluate.summaries import score_summaries, summaries_to_score
    from regard.prepare.rouge import insist_on_rouge
    from regard.printable import counted
    from regard.runs.folder import RunFolder

    insist_on_rouge("evaluate")
    report = Report()
    test = summaries_to_score(RunFolder(model.bundle.path), *files, columns, report)
    say_read(report)
    with progress_bar("summarizing", len(test.sources)) as bar:
        scores, outputs = score_summaries(model, test, length, bar.advance, search)
    if output:
        atomic.write_text(output, "".join(f"{' '.join(text.splitlines())}\n" for text in outputs))
    scores = replace(scores, set=dataset or scores.set)
    if as_json:
        click.echo(valid_json(asdict(scores)))
        return
    many = f", {scores.references:,} references" if scores.references > scores.documents else ""
    click.echo(f"{counted(scores.documents, 'document')} of {scores.set}{many}, {scores.way}")
    highest = ", the highest of its references" if many else ""
    for name, value in zip("12L", (scores.rouge1, scores.rouge2, scores.rougeL), strict=True):
        click.echo(f"ROUGE-{name} {value:6.2f}   F1, stemmed{highest}")
