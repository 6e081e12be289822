"""`regard classify`: the labels of a text, of each of its tokens, or of a table of texts."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli import declare
from regard.cli.inputs import say_read, say_written
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.answer.labels import Label
    from regard.api.model import Model
    from regard.data.labelled import Labelled
    from regard.data.report import Report


@declare.command("""
  regard classify distilbert/distilbert-base-uncased-finetuned-sst-2-english "A fine film."
  regard classify path/to/bert "A man sleeps." --pair "Somebody rests." --json
  regard classify runs/sst2 --file reviews.csv --output labelled.csv
  regard classify runs/mail --file new.csv --text-column message --json""")
@declare.model
@click.argument("text", nargs=-1)
@click.option("--pair", help="The second text, where the model compares two.")
@declare.top("Show so many; default: all.")
@declare.file("Classify a table (.csv, .tsv, .jsonl, .parquet), or a file line by line.")
@declare.output("Write a table here: .csv, .tsv or .jsonl.")
@declare.columns("text", "pair")
@declare.device
@declare.json("One JSON object a text.")
def command(
    model: Path,
    text: tuple[str, ...],
    pair: str | None,
    top: int | None,
    file: Path | None,
    output: Path | None,
    device: str,
    as_json: bool,
    **options: str,
) -> None:
    """Print the labels of each TEXT with probabilities; without TEXT, of lines of standard input.

    MODEL is a run of `regard train` with objective "classify", a published folder with a classifier
    head, or its name on the hub. A head that labels each token prints one line a token. Of a table
    the columns are those that the run was trained on, where it has them; else they are found by
    their names, and standard error says which. --output keeps all columns and adds two.
    """
    from regard.cli.inputs import opened, texts_of
    from regard.data.table import is_table

    if output and not file:
        raise click.UsageError("--output belongs to --file")
    if file and (text or pair):
        raise click.UsageError("expected TEXT or --file, not both; its pairs are --pair-column")
    columns = declare.named_columns(options)
    if columns and not (file and is_table(file)):
        raise click.UsageError("--text-column and --pair-column belong to a table as --file")
    loaded = opened(model, "classify", device)
    if file and (output or is_table(file)):
        _classify_table(loaded, file, output, columns, as_json)
        return
    for texts in texts_of(text, file):
        for each in texts:
            labels = loaded.classify(each, pair=pair, top=top)
            if as_json:
                rows = [{k: v for k, v in vars(one).items() if v != ""} for one in labels]
                click.echo(valid_json({"text": each, "labels": rows}))
            else:
                show_labels(each if len(texts) > 1 else "", labels)


def show_labels(title: str, labels: "Sequence[Label]") -> None:
    """Print them, under a title where there are several texts or files."""
    if title:
        click.echo(title)
    for label in labels:
        line = f"{label.probability:8.4f}  {label.label}"
        click.echo(f"{line:<28}  {label.piece}" if label.piece else line)


def _classify_table(
    model: "Model", file: Path, output: Path | None, columns: dict[str, str], as_json: bool
) -> None:
    """The likeliest label of each row (all likely ones where several may hold), as a table."""
    from regard.answer.classify import class_probabilities
    from regard.answer.table_files import added_names, check_output, names_of, write_table
    from regard.data.labelled import BETWEEN
    from regard.data.report import Report
    from regard.draw.terminal.progress import progress_bar
    from regard.printable import counted

    if output:
        check_output(output)
    report = Report()
    rows = _rows_of(file, model.folder, columns, report)
    say_read(report)
    with progress_bar("classifying", len(rows)) as bar:
        pairs: list[str | tuple[str, str | None]] = [(row.text, row.pair) for row in rows]
        probabilities, cut = class_probabilities(model, pairs, bar.advance)
    labels = model.bundle.labels
    several = labels.kind == "multi_label_classification"
    answers: list[tuple[str, float]] = []
    for shares in probabilities.tolist():
        best = max(range(len(shares)), key=lambda i, p=shares: p[i])  # type: ignore[misc]
        likely = [i for i, p in enumerate(shares) if p > 0.5] if several else [best]
        label = BETWEEN.join(labels.names[i] for i in likely)
        answers.append((label, round(shares[best], 6)))
    if cut:
        click.echo(
            f"{counted(cut, 'text')} reached the most that the model reads; the rest was cut",
            err=True,
        )
    both = zip(rows, answers, strict=True)
    if output:
        names = names_of(report, rows) if report.columns else ["row", "text"]
        new = added_names(names, ["label", "probability"])
        padded = ([*row.cells, *[None] * (len(names) - len(row.cells)), *a] for row, a in both)
        write_table(output, [*names, *new], padded)
        many = counted(len(rows), "row")
        say_written(output, f", {many}, with {' and '.join(new)}")
        return
    for row, (label, probability) in both:
        if as_json:
            pair = {} if row.pair is None else {"pair": row.pair}
            shown = {"row": row.line, "text": row.text, **pair, "label": label}
            click.echo(valid_json({**shown, "probability": probability}))
        else:
            click.echo(f"{probability:8.4f}  {label:<16}  {row.text}")


def _rows_of(
    file: Path, folder: Path, columns: dict[str, str], report: "Report"
) -> "list[Labelled]":
    """The rows of a table, or the lines of a text with their numbers."""
    from regard.answer.table_files import read_unlabelled
    from regard.cli.inputs import arriving
    from regard.data.labelled import Labelled
    from regard.data.table import is_table

    if is_table(file):
        return read_unlabelled(file, folder, columns, report)
    lines = [line for lines in arriving(file) for line in lines]
    return [Labelled(line, None, (), n, (n, line)) for n, line in enumerate(lines, start=1)]
