"""How good a text-to-text run is at each of its tasks, on pairs that it never saw."""

from dataclasses import dataclass

from regard.answer.loaded import LoadedModel
from regard.decode.options import DecodingOptions
from regard.draw.notebook.table import html_table
from regard.evaluate.translations import translate_all
from regard.prepare.task_metrics import NAMES, TaskScore, judged
from regard.prepare.text_to_text import TASKS, TEST, VALID, held_out_rows, kept_tasks
from regard.printable import Advance, unheard
from regard.runs.folder import RunFolder


@dataclass(frozen=True)
class TaskScores:
    """One score a task, each from 0 to 100."""

    set: str
    tasks: tuple[TaskScore, ...]

    @property
    def mean(self) -> float:
        """Over the tasks."""
        return sum(task.score for task in self.tasks) / len(self.tasks)

    def _repr_html_(self) -> str:
        """A line a task."""
        rows = [(t.name, NAMES[t.metric], f"{t.score:.2f}", t.examples) for t in self.tasks]
        return html_table(("task", "metric", "score", "examples"), rows, self.set)


def has_tasks(run: RunFolder) -> bool:
    """Whether a folder is a run that has tasks of its own."""
    return run.info.is_file() and (run.data / TASKS).is_file()


def count_rows(run: RunFolder) -> int:
    """How many pairs its tasks are judged by."""
    return len(held_out_rows(run, _file(run)))


def score_tasks(
    model: LoadedModel,
    search: DecodingOptions,
    advance: Advance = unheard,
) -> TaskScores:
    """Answer all test pairs of the phrasebook, or else those held out for validation."""
    run = model.bundle.run
    file = _file(run)
    rows = held_out_rows(run, file)
    outputs = translate_all(model, [row.source for row in rows], search, advance)
    answered = list(zip(rows, outputs, strict=True))
    scores = []
    for task in kept_tasks(run):
        mine = [(output, row.target) for row, output in answered if row.task == task.name]
        if mine:
            texts = [output for output, _ in mine], [target for _, target in mine]
            scores.append(judged(task.name, task.metric, *texts))
    name = "the phrasebook's test set" if file == TEST else "the run's validation pairs"
    return TaskScores(name, tuple(scores))


def _file(run: RunFolder) -> str:
    return TEST if (run.data / TEST).is_file() else VALID
