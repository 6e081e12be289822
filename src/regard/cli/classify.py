"""`regard classify`: the labels of a text, of each of its tokens, or of a table of texts."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from regard.tasks.published import Published

TABLES = (".tsv", ".csv", ".jsonl")


@click.command(
    epilog="""\b
Examples:
  regard classify distilbert/distilbert-base-uncased-finetuned-sst-2-english "A fine film."
  regard classify path/to/bert "A man sleeps." --pair "Somebody rests." --json
  regard classify runs/sst2 --file reviews.csv --output labelled.csv"""
)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("text", nargs=-1)
@click.option("--pair", help="The second text, where the model compares two.")
@click.option("--top", type=click.IntRange(min=1), help="Only so many labels; default: all.")
@click.option(
    "--file",
    type=click.Path(path_type=Path),
    help="Classify a table, .csv, .tsv or .jsonl (also .gz), or a file line by line.",
)
@click.option(
    "--output", type=click.Path(path_type=Path), help="Write a table here: .csv, .tsv or .jsonl."
)
@click.option("--text-column", default="text", show_default=True, help="Of --file: name or number.")
@click.option("--pair-column", default="", help="Of --file: the column of a second text.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or mps.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a text.")
def command(
    model: Path,
    text: tuple[str, ...],
    pair: str | None,
    top: int | None,
    file: Path | None,
    output: Path | None,
    text_column: str,
    pair_column: str,
    device: str,
    as_json: bool,
) -> None:
    """Print the labels of each TEXT with probabilities; without TEXT, of lines of standard input.

    MODEL is a run of `regard train` with objective "classify", a published folder with a classifier
    head, or its name on the hub. A head that labels each token prints one line a token.
    """
    from regard.cli.labels import show_labels
    from regard.cli.lines import texts_of
    from regard.cli.opened import opened

    if output and not file:
        raise click.UsageError("--output belongs to --file")
    if file and (text or pair):
        raise click.UsageError("expected TEXT or --file, not both; its pairs are --pair-column")
    loaded = opened(model, "classify", device)
    if file and (output or {*file.suffixes} & {*TABLES}):
        _classify_table(loaded, file, output, text_column, pair_column, as_json)
        return
    for texts in texts_of(text, file):
        for each in texts:
            found = loaded.classify(each, pair, top)
            if as_json:
                labels = [{k: v for k, v in vars(one).items() if v != ""} for one in found]
                click.echo(json.dumps({"text": each, "labels": labels}, ensure_ascii=False))
            else:
                show_labels(each if len(texts) > 1 else "", found)


def _classify_table(
    model: "Published", file: Path, output: Path | None, text: str, pair: str, as_json: bool
) -> None:
    """The likeliest label of each row (all likely ones where several may hold), as a table."""
    from regard.cli.lines import arriving
    from regard.data.corpus import Report
    from regard.data.labelled import BETWEEN, Labelled
    from regard.draw.counted import counted
    from regard.draw.progress import progress_bar
    from regard.tasks.table_files import check_output, read_unlabelled, write_table

    if output:
        check_output(output)
    report = Report()
    if {*file.suffixes} & {*TABLES}:
        rows = read_unlabelled(file, text, pair, report)
    else:
        lines = [line for lines in arriving(file) for line in lines]
        rows = [Labelled(line, None, (), n) for n, line in enumerate(lines, start=1)]
    if report.kept < report.total:
        for line in report.lines():
            click.echo(line, err=True)
    with progress_bar("classifying", len(rows)) as bar:
        asked: list[str | tuple[str, str | None]] = [(row.text, row.pair) for row in rows]
        labels, found, cut = model.classify_all(asked, bar.advance)
    several = labels.kind == "multi_label_classification"
    made: list[list[str | float | None]] = []  # with the row's number: bad ones are left out
    for row, shares in zip(rows, found.tolist(), strict=True):
        best = max(range(len(shares)), key=lambda i, p=shares: p[i])  # type: ignore[misc]
        likely = [i for i, p in enumerate(shares) if p > 0.5] if several else [best]
        label = BETWEEN.join(labels.names[i] for i in likely)
        texts = [row.text, row.pair] if pair else [row.text]
        made.append([row.line, *texts, label, round(shares[best], 6)])
    names = ["row", "text", *(["pair"] if pair else []), "label", "probability"]
    if cut:
        click.echo(
            f"{counted(cut, 'text')} reached the most that the model reads; the rest was cut",
            err=True,
        )
    if output:
        write_table(output, names, made)
        click.echo(f"Written: {output}, {counted(len(made), 'row')}", err=True)
        return
    for values in made:
        row_of = dict(zip(names, values, strict=True))
        line = f"{row_of['probability']:8.4f}  {row_of['label']:<16}  {row_of['text']}"
        click.echo(json.dumps(row_of, ensure_ascii=False) if as_json else line)
