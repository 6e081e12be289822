"""`regard evaluate` of models that see: labels with their confusions, and the worst mistakes."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.inputs import check_drawn, draw_into
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.evaluate.pictures import WrongLabel

SHOWN, ACROSS = 24, 6  # mistakes that are drawn, and how many of them in a row


def offers(folder: Path, task: str) -> bool:
    """Whether a model can be asked for this: "see" are labels of pictures."""
    from regard.bundle.bundle import open_bundle

    return task in open_bundle(folder).tasks


def evaluate_pictures(
    folder: Path,
    file: Path | None,
    device: str,
    drawn: tuple[Path | None, Path | None, Path | None],
    as_json: bool,
    dataset: str | None = None,
) -> None:
    """Label a test set and print how good that was; draw confusions (PNG, SVG) and mistakes."""
    from regard.api.load import load
    from regard.cli.evaluate_readers import draw_confusion, print_scores
    from regard.draw.terminal.progress import progress_bar
    from regard.evaluate.pictures import pictures_to_score, score_pictures

    png, svg, worst = drawn
    check_drawn("--worst", worst)
    model = load(folder, device)
    test = pictures_to_score(model, file)
    with progress_bar("seeing", None) as bar:
        scores, mistakes = score_pictures(model, test, SHOWN if worst else 0, bar.advance)
    name = dataset or test.name
    for _, reason in test.report.left_out:
        click.echo(f"left out: {reason}", err=True)
    if as_json:
        shown = [
            {"name": m.name, "label": m.label, "answer": m.answer, "probability": m.probability}
            for m in mistakes
        ]
        more = {"worst": shown} if worst else {}
        click.echo(valid_json({"set": name, **asdict(scores), **more}, gaps=True))
    else:
        print_scores(name, scores)
    draw_confusion(name, scores, png, svg)
    if worst:
        _draw_worst(name, mistakes, scores.texts, worst)


def _draw_worst(name: str, mistakes: "list[WrongLabel]", total: int, out: Path) -> None:
    from regard.draw.figure.pictures import gallery, of_colours
    from regard.printable import counted

    if not mistakes:
        click.echo(f"No mistake among {counted(total, 'picture')}: nothing is drawn.", err=True)
        return
    panels = [
        of_colours(m.colours, f"{m.answer} {m.probability:.1%}", f"is {m.label}", m.name)
        for m in mistakes
    ]
    rows = [panels[start : start + ACROSS] for start in range(0, len(panels), ACROSS)]
    subtitle = f"what it answered, and what it is; of {counted(total, 'picture')} of {name}"
    words = ". ".join(f"{m.name}: {m.answer} for {m.label}" for m in mistakes)
    picture = gallery(rows, "The mistakes that the model was surest of", subtitle, words)
    draw_into(out, picture)
