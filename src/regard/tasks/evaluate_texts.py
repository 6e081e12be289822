"""How good a classifier is: accuracy, F1 of each label, which labels it takes for which.

The numbers come from scikit-learn (extra `metrics`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.checkpoint.files import read_json
from regard.data.corpus import Limits, Report
from regard.data.labelled import Columns, Labelled, read_labelled
from regard.errors import MisuseError
from regard.tasks.encoder_data import held_out, read_rows, refuse_unseen
from regard.tasks.published import Published
from regard.tasks.recipe import make_recipe
from regard.tasks.run import Run


@dataclass(frozen=True)
class LabelScore:
    """One label; shares from 0 to 1."""

    label: str
    precision: float
    recall: float
    f1: float
    texts: int  # that have it


@dataclass(frozen=True)
class TextScores:
    """All labels; `confusion[i][j]` texts have label i and were given j (none where several may
    hold). `f1` is the mean over the labels, micro where several may hold."""

    texts: int
    accuracy: float
    f1: float
    labels: tuple[LabelScore, ...]
    confusion: tuple[tuple[int, ...], ...]
    cut: int  # texts of which the end was not read


@dataclass(frozen=True)
class Rows:
    """Rows to ask for, and what was left out of the file."""

    name: str
    rows: list[Labelled]
    report: Report | None = None


def texts_to_score(model: Published, file: Path | None) -> Rows:
    """The rows of a file, columns as the run's recipe says; without a file, those held out."""
    run = Run(model.folder)
    is_run = run.info.is_file()
    if file is None:
        if not is_run:
            raise MisuseError(f"evaluate: {model.folder} holds no texts; give some with --texts")
        return Rows("the run's validation texts", held_out(run))
    report = Report()
    if is_run:
        data = make_recipe(read_json(run.recipe), str(run.recipe)).data
        rows = list(read_rows(file, data, report))
    else:
        rows = list(read_labelled(file, Columns(), report, Limits()))
    return Rows(str(file), rows, report)


def score_texts_of(
    model: Published, test: Rows, advance: Callable[[int], None] = lambda count: None
) -> TextScores:
    """Classify the rows and compare."""
    metrics = _sklearn()
    asked: list[str | tuple[str, str | None]] = [(row.text, row.pair) for row in test.rows]
    labels, found, cut = model.classify_all(asked, advance)
    refuse_unseen(Path(test.name), test.rows, set(labels.names))
    places = {name: i for i, name in enumerate(labels.names)}
    classes = list(range(len(places)))
    several = labels.kind == "multi_label_classification"
    truth: Any
    if several:
        truth = np.zeros(found.shape, dtype=np.int64)
        for row, values in zip(test.rows, truth, strict=True):
            values[[places[label] for label in row.labels]] = 1
        answers = (found > 0.5).astype(np.int64)
    else:
        truth = np.array([places[row.labels[0]] for row in test.rows])
        answers = found.argmax(axis=1)
    each = metrics.precision_recall_fscore_support(
        truth, answers, labels=classes, average=None, zero_division=0.0
    )
    rows = [
        LabelScore(name, float(p), float(r), float(f), int(n))
        for name, p, r, f, n in zip(labels.names, *each, strict=True)
    ]
    average = "micro" if several else "macro"
    f1 = metrics.f1_score(truth, answers, labels=classes, average=average, zero_division=0.0)
    table = [] if several else metrics.confusion_matrix(truth, answers, labels=classes).tolist()
    return TextScores(
        len(test.rows),
        float(metrics.accuracy_score(truth, answers)),
        float(f1),
        tuple(rows),
        tuple(map(tuple, table)),
        cut,
    )


def worst(scores: TextScores, names: Sequence[str]) -> str:
    """The mistake that is made most often, in a sentence; empty if there is none."""
    wrong = [
        (count, i, j)
        for i, row in enumerate(scores.confusion)
        for j, count in enumerate(row)
        if i != j and count
    ]
    if not wrong:
        return ""
    count, i, j = max(wrong)
    return f"Most often wrong: {names[i]} taken for {names[j]}, {count:,} times."


def _sklearn() -> Any:
    try:
        from sklearn import metrics
    except ImportError:
        raise MisuseError(
            "evaluate: accuracy and F1 of labels need scikit-learn; install the extra: "
            'pip install "regard[metrics]"'
        ) from None
    return metrics
