"""`regard evaluate` of an encoder: accuracy, F1 of each label, a table of confusions."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.column_options import say_read
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.draw.terminal.tables import NumberTable
    from regard.evaluate.texts import TextScores


def is_classifier(folder: Path, texts: Path | None) -> bool:
    """Whether the folder is to be asked for labels, not translations."""
    from regard.bundle.bundle import open_run_bundle

    return texts is not None or not open_run_bundle(folder).is_own_translator


def evaluate_texts(
    folder: Path,
    texts: Path | None,
    columns: dict[str, str],
    device: str,
    png: Path | None,
    svg: Path | None,
    as_json: bool,
    dataset: str | None = None,
) -> None:
    """Classify or tag a test set, or fill its holes, and print how good that was."""
    from regard.api.model import load
    from regard.cli.evaluate_fill import evaluate_fill
    from regard.draw.terminal.progress import progress_bar
    from regard.evaluate.texts import score_tags_of, score_texts_of, texts_to_score

    model = load(folder, device)
    if "fill" in model.tasks:
        if png or svg:
            raise click.UsageError("--png and --svg belong to labels; words have no such table")
        evaluate_fill(model, texts, columns, as_json)
        return
    model.demand("classify")
    test = texts_to_score(model, texts, columns)
    name = dataset or test.name
    if test.report is not None:
        say_read(test.report)
    tags = model.spec.head == "labels"
    with progress_bar("tagging" if tags else "classifying", len(test.rows)) as bar:
        scores = (score_tags_of if tags else score_texts_of)(model, test, bar.advance)
    if as_json:
        click.echo(valid_json({"set": name, **asdict(scores)}, gaps=True))
    else:
        _print(name, scores)
    _draw(name, scores, png, svg)


def _print(name: str, scores: "TextScores") -> None:
    from regard.draw.counted import counted
    from regard.draw.terminal.console import Console
    from regard.evaluate.texts import worst

    several = not scores.confusion
    all_right = "  (all labels of a text right)" if several else ""
    unit = scores.unit
    click.echo(f"{counted(scores.texts, unit)} of {name}")
    click.echo(f"accuracy {scores.accuracy:8.2%}{all_right}")
    click.echo(f"F1       {scores.f1:8.2%}  ({'micro' if several else 'macro'})\n")
    width = max(5, *(len(row.label) for row in scores.labels))
    click.echo(f"{'label':<{width}}  precision  recall      F1    {unit}s")
    for row in scores.labels:
        p, r, f1 = (_share(value) for value in (row.precision, row.recall, row.f1))
        shares = f"{p:>9} {r:>7} {f1:>7}"
        click.echo(f"{row.label:<{width}}  {shares} {row.texts:8,}")
    if scores.confusion:
        click.echo()
        Console(highlight=False).print(_table(scores))
        if said := worst(scores, [row.label for row in scores.labels]):
            click.echo(f"\n{said}")
    if scores.cut and unit == "word":
        click.echo(f"Beyond what the model reads of a text: {counted(scores.cut, 'word')} more.")
    elif scores.cut:
        many = counted(scores.cut, "text")
        click.echo(f"{many} reached the most that the model reads; the rest was cut.")


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2%}"


def _table(scores: "TextScores") -> "NumberTable":
    import numpy as np

    from regard.draw.terminal.tables import NumberTable

    names = [row.label for row in scores.labels]
    title = f"{scores.unit}s by their label (rows) and the answer (columns)"
    return NumberTable(np.array(scores.confusion, dtype=float), names, names, title, decimals=0)


def _draw(name: str, scores: "TextScores", png: Path | None, svg: Path | None) -> None:
    from regard.draw.figure.png import write_png
    from regard.draw.figure.svg import write_svg
    from regard.draw.figure.tables import tables

    if not png and not svg:
        return
    if not scores.confusion:
        raise click.UsageError("--png, --svg: where several labels may hold there is no table")
    said = f"accuracy {scores.accuracy:.2%}, F1 {scores.f1:.2%}"
    title, subtitle = (
        "Which label is taken for which",
        f"{scores.texts:,} {scores.unit}s of {name}: {said}",
    )
    picture = tables([_table(scores)], title, subtitle)
    if svg:
        write_svg(svg, picture)
    if png:
        write_png(png, picture)
    for path in (png, svg):
        if path:
            click.echo(f"Drawn: {path}", err=True)
