"""`regard evaluate` of models that write: tasks of a run, summaries, conversations, plain text."""

from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli import declare
from regard.cli.inputs import one_line, say_read
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.answer.loaded import LoadedModel
    from regard.api.model import Model
    from regard.decode.options import DecodingOptions

MOST_WRONG = 5  # that are printed


def write_outputs(path: Path | None, outputs: Iterable[str]) -> None:
    """A line an output, where a file for them is named."""
    from regard import atomic

    if path:
        atomic.write_text(path, "".join(f"{one_line(text)}\n" for text in outputs))


def evaluate_tasks(model: "LoadedModel", search: "DecodingOptions", as_json: bool) -> bool:
    """Answer the held-out pairs of each task and print a line for each; False: there are none."""
    from regard.draw.terminal.progress import progress_bar
    from regard.evaluate.tasks import count_rows, has_tasks, score_tasks
    from regard.prepare.task_metrics import NAMES
    from regard.runs.folder import RunFolder

    if not has_tasks(RunFolder(model.bundle.path)):
        return False
    with progress_bar("answering", count_rows(model.bundle.run)) as bar:
        scores = score_tasks(model, search, bar.advance)
    if as_json:
        row = {**asdict(scores), "mean": scores.mean, "beam": search.beam}
        click.echo(valid_json(row, gaps=True))
        return True
    click.echo(f"Tasks of {scores.set}, beam {search.beam}")
    wide = max(len(task.name) for task in scores.tasks)
    for task in scores.tasks:
        score = f"{NAMES[task.metric]:<8} {task.score:6.2f}"
        click.echo(f"{task.name:<{wide}}  {score}   {task.examples:,} examples")
    return True


def evaluate_summaries(
    model: Path,
    files: tuple[Path | None, Path | None],
    columns: dict[str, str],
    length: str | None,
    options: dict[str, Any],
    output: Path | None,
    as_json: bool,
    dataset: str | None,
) -> None:
    """Summarise each document, and print ROUGE."""
    from regard.answer.loaded import open_model
    from regard.data.report import Report
    from regard.draw.terminal.progress import progress_bar
    from regard.evaluate.summaries import score_summaries, summaries_to_score
    from regard.prepare.rouge import insist_on_rouge
    from regard.printable import counted
    from regard.runs.folder import RunFolder

    insist_on_rouge("evaluate")
    loaded = open_model(model, options.pop("device"), declare.engine_request(options))
    search = {name: value for name, value in options.items() if value is not None}
    report = Report()
    test = summaries_to_score(RunFolder(loaded.bundle.path), *files, columns, report)
    say_read(report)
    with progress_bar("summarizing", len(test.sources)) as bar:
        scores, outputs = score_summaries(loaded, test, length, bar.advance, search)
    write_outputs(output, outputs)
    scores = replace(scores, set=dataset or scores.set)
    if as_json:
        click.echo(valid_json(asdict(scores)))
        return
    many = f", {scores.references:,} references" if scores.references > scores.documents else ""
    click.echo(f"{counted(scores.documents, 'document')} of {scores.set}{many}, {scores.way}")
    highest = ", the highest of its references" if many else ""
    for name, value in zip("12L", (scores.rouge1, scores.rouge2, scores.rougeL), strict=True):
        click.echo(f"ROUGE-{name} {value:6.2f}   F1, stemmed{highest}")


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


def evaluate_continuations(
    model: "Model", texts: Path | None, columns: dict[str, str], as_json: bool
) -> None:
    """Foresee every token of a text and print how well."""
    from regard.draw.terminal.progress import progress_bar
    from regard.evaluate.continuations import documents_to_score, score_continuations
    from regard.printable import counted

    named = documents_to_score(model, texts, columns)
    with progress_bar("reading", None) as bar:
        scores = score_continuations(model, named, bar.advance)
    if as_json:
        click.echo(valid_json({"set": named.name, **asdict(scores)}, gaps=True))
        return
    size = f"{counted(scores.tokens, 'token')}, {counted(scores.words, 'word')}"
    click.echo(f"{counted(scores.documents, 'document')} of {named.name}: {size}")
    click.echo(f"perplexity       {scores.perplexity:10.2f}  (a token)")
    click.echo(f"word perplexity  {scores.word_perplexity:10.2f}")
    click.echo(f"bits per byte    {scores.bits_per_byte:10.4f}")
