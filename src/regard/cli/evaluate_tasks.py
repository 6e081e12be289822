"""`regard evaluate` of a text-to-text run: a line for each of its tasks."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.answer.loaded import LoadedModel
    from regard.decode.options import DecodingOptions


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
