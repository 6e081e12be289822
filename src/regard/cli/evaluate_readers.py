"""`regard evaluate` of models that read: labels and tags with their confusions, holes, answers.

Answers to questions are counted as SQuAD counts them. Of a model that goes on with texts it is
evaluate_writers.py.
"""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli.inputs import say_read, say_written
from regard.errors import MisuseError
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.answer.loaded import LoadedModel
    from regard.api.model import Model
    from regard.draw.terminal.tables import NumberTable
    from regard.evaluate.texts import TextScores


def is_no_translator(folder: Path, texts: Path | None) -> bool:
    """Whether a model is asked for labels, words or the next tokens, not for translations."""
    from regard.bundle.bundle import open_bundle

    return texts is not None or not {"translate", "generate"} & set(open_bundle(folder).tasks)


def evaluate_texts(
    folder: Path,
    texts: Path | None,
    columns: dict[str, str],
    device: str,
    png: Path | None,
    svg: Path | None,
    as_json: bool,
    dataset: str | None = None,
    search: dict[str, Any] | None = None,
) -> None:
    """Classify or tag a test set, or fill its holes, and print how good that was."""
    from regard.api.load import load
    from regard.cli.evaluate_trees import evaluate_parses
    from regard.cli.evaluate_writers import evaluate_continuations, evaluate_dialogues
    from regard.data.table import is_table
    from regard.draw.terminal.progress import progress_bar
    from regard.evaluate.texts import score_tags_of, score_texts_of, texts_to_score

    model = load(folder, device)
    if "fill" in model.tasks:
        _refuse_table("words", png, svg)
        _evaluate_fill(model, texts, columns, as_json)
        return
    if "chat" in model.tasks and (texts is None or is_table(texts)):
        evaluate_dialogues(model, texts, as_json)
        return
    if "complete" in model.tasks:
        evaluate_continuations(model, texts, columns, as_json)
        return
    if "parse" in model.tasks:
        _refuse_table("trees", png, svg)
        evaluate_parses(model, texts, search or {}, as_json, dataset)
        return
    if "answer" in model.tasks:
        _refuse_table("answers", png, svg)
        _evaluate_questions(model, texts, columns, as_json, dataset)
        return
    if "classify" not in model.tasks:
        raise MisuseError(
            f"evaluate: {model.bundle} offers {', '.join(model.tasks) or 'nothing'}; scored are "
            "translations (--source, --reference) and models that classify, tag, parse, answer, "
            "fill or complete (--file). "
            "`regard runs` shows how a run was judged while it trained"
        )
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
        print_scores(name, scores)
    draw_confusion(name, scores, png, svg)


def _refuse_table(what: str, *files: Path | None) -> None:
    if any(files):
        raise click.UsageError(f"--png and --svg belong to labels; {what} have no such table")


def _evaluate_fill(
    model: "Model", texts: Path | None, columns: dict[str, str], as_json: bool
) -> None:
    """Hide every word of a test set once and print how good that was."""
    from regard.draw.terminal.progress import progress_bar
    from regard.evaluate.fill import score_fill, texts_to_fill
    from regard.printable import counted

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


def _evaluate_questions(
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


def print_scores(name: str, scores: "TextScores") -> None:
    """Accuracy, F1, a line a label, and which is taken for which."""
    from regard.draw.terminal.console import Console
    from regard.evaluate.texts import worst
    from regard.printable import counted

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


def draw_confusion(name: str, scores: "TextScores", png: Path | None, svg: Path | None) -> None:
    """Which label is taken for which, as a picture."""
    from regard.draw.figure.png import write_png
    from regard.draw.figure.svg import write_svg
    from regard.draw.figure.tables import tables

    if not png and not svg:
        return
    if not scores.confusion:
        raise click.UsageError("--png, --svg: where several labels may hold there is no table")
    said = f"accuracy {scores.accuracy:.2%}, F1 {scores.f1:.2%}"
    subtitle = f"{scores.texts:,} {scores.unit}s of {name}: {said}"
    picture = tables([_table(scores)], "Which label is taken for which", subtitle)
    if svg:
        write_svg(svg, picture)
    if png:
        write_png(png, picture)
    for path in (png, svg):
        if path:
            say_written(path)
