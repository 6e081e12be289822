"""How good a classifier or a tagger is: accuracy, F1 of each label, which it takes for which.

The numbers come from scikit-learn (extra `metrics`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.answer.classify import class_probabilities
from regard.answer.loaded import LoadedModel
from regard.answer.tag import tag_rows
from regard.checkpoint.files import read_own_json
from regard.data.corpus import Limits
from regard.data.labelled import Columns, Labelled, read_labelled
from regard.data.report import Report
from regard.data.tagged import read_tagged
from regard.draw.notebook.table import html_table
from regard.errors import MisuseError
from regard.prepare.encoder_data import held_out
from regard.prepare.phrase_tasks import tagged_phrases
from regard.prepare.texts import refuse_unseen
from regard.printable import Advance, unheard
from regard.runs.columns import NOTHING, data_of, role_of
from regard.runs.folder import RunFolder
from regard.runs.recipe import make_recipe


@dataclass(frozen=True)
class LabelScore:
    """One label; shares from 0 to 1, None of one that neither occurs nor is answered."""

    label: str
    precision: float | None
    recall: float | None
    f1: float | None
    texts: int  # that have it


@dataclass(frozen=True)
class TextScores:
    """All labels; `confusion[i][j]` texts have label i and were given j (none where several may
    hold). `f1` is the mean over the labels that occur, in the texts or in the answers, as while
    training; micro where several may hold. Of a tagger all counts are of words."""

    texts: int
    accuracy: float
    f1: float
    labels: tuple[LabelScore, ...]
    confusion: tuple[tuple[int, ...], ...]
    cut: int  # texts of which the end was not read; words that were not read
    unit: str = "text"

    def _repr_html_(self) -> str:
        """Each label, under accuracy and F1 of all."""
        head = ("label", "precision", "recall", "F1", f"{self.unit}s")
        rows = [(row.label, row.precision, row.recall, row.f1, row.texts) for row in self.labels]
        title = f"{self.texts:,} {self.unit}s: accuracy {self.accuracy:.2%}, F1 {self.f1:.2%}"
        return html_table(head, rows, title)


@dataclass(frozen=True)
class TestTexts:
    """Rows to ask for, and what was left out of the file."""

    name: str
    rows: list[Labelled]
    report: Report | None = None


def texts_to_score(
    model: LoadedModel, file: Path | None, columns: Mapping[str, str] = NOTHING
) -> TestTexts:
    """The rows of a file, in the `columns` that the user names, or those that the run remembers.

    Without a file, those that the run held out.
    """
    run = RunFolder(model.bundle.path)
    data = data_of(run)
    if file is None:
        if data is None:
            advice = "give some with --file"
            raise MisuseError("evaluate", f"{model.bundle.path} holds no texts", advice=advice)
        return _own_rows(run)
    report = Report()
    limits = Limits() if data is None else Limits(data.max_characters)
    if model.spec.head == "labels":
        word, tag = ("", "") if data is None else (data.text, data.label)
        named = columns.get("text", word), columns.get("label", tag)
        return TestTexts(str(file), list(read_tagged(file, *named, report, limits)), report)
    has_pair = bool(columns.get("pair") or (data and data.pair))
    roles = Columns(
        role_of("text", data, columns),
        role_of("pair", data, columns) if has_pair else None,
        role_of("label", data, columns),
        data is not None and data.labels == "several",
    )
    return TestTexts(str(file), list(read_labelled(file, roles, report, limits)), report)


def _own_rows(run: RunFolder) -> TestTexts:
    """What the run held out; of the phrasebook its test sentences, which no validation saw."""
    recipe = make_recipe(read_own_json(run.recipe), str(run.recipe))
    if recipe.data.phrasebook:  # a tagger: classifiers have a file
        return TestTexts(
            "the phrasebook's test set", [*tagged_phrases(recipe.data.phrasebook, "test")]
        )
    return TestTexts("the run's validation texts", held_out(run))


def score_texts_of(model: LoadedModel, test: TestTexts, advance: Advance = unheard) -> TextScores:
    """Classify the rows and compare."""
    sklearn_metrics()  # says what is missing before anything slow begins
    texts: list[str | tuple[str, str | None]] = [(row.text, row.pair) for row in test.rows]
    labels, (p, cut) = model.bundle.labels, class_probabilities(model, texts, advance)
    refuse_unseen(Path(test.name), test.rows, set(labels.names))
    places = {name: i for i, name in enumerate(labels.names)}
    truth: Any
    if labels.kind == "multi_label_classification":
        truth = np.zeros(p.shape, dtype=np.int64)
        for row, values in zip(test.rows, truth, strict=True):
            values[[places[label] for label in row.labels]] = 1
        return class_scores(truth, (p > 0.5).astype(np.int64), labels.names, cut)
    truth = np.array([places[row.labels[0]] for row in test.rows])
    return class_scores(truth, p.argmax(axis=1), labels.names, cut)


def score_tags_of(model: LoadedModel, test: TestTexts, advance: Advance = unheard) -> TextScores:
    """Tag the words of the rows and compare; words that are not read are counted apart."""
    sklearn_metrics()
    names = model.bundle.labels.names
    refuse_unseen(Path(test.name), test.rows, set(names))
    answered = tag_rows(model, [row.text.split(" ") for row in test.rows], advance)
    pairs = [
        (right, None if tag is None else tag.tag)
        for row, tags in zip(test.rows, answered, strict=True)
        for right, tag in zip(row.labels, tags, strict=True)
    ]
    places = {name: i for i, name in enumerate(names)}
    read = [(places[right], places[answer]) for right, answer in pairs if answer is not None]
    truth, answers = (np.array(column) for column in zip(*read, strict=True))
    return class_scores(truth, answers, names, len(pairs) - len(read), "word")


def class_scores(
    truth: Any, answers: Any, names: Sequence[str], cut: int, unit: str = "text"
) -> TextScores:
    """Two rows of classes, or two tables of yes and no, compared."""
    metrics, several, classes = sklearn_metrics(), truth.ndim == 2, list(range(len(names)))
    each = metrics.precision_recall_fscore_support(
        truth, answers, labels=classes, average=None, zero_division=0.0
    )
    asked_for = np.bincount(answers.nonzero()[1] if several else answers, minlength=len(names))
    rows = [
        LabelScore(name, float(p), float(r), float(f), int(n))
        if n or answered
        else LabelScore(name, None, None, None, 0)
        for name, p, r, f, n, answered in zip(names, *each, asked_for.tolist(), strict=True)
    ]
    # Without `labels` the mean is over those that occur, as f1_macro of fit/objectives/classify.py.
    average = "micro" if several else "macro"
    f1 = metrics.f1_score(truth, answers, average=average, zero_division=1.0)
    table = [] if several else metrics.confusion_matrix(truth, answers, labels=classes).tolist()
    return TextScores(
        len(truth),
        float(metrics.accuracy_score(truth, answers)),
        float(f1),
        tuple(rows),
        tuple(map(tuple, table)),
        cut,
        unit,
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
    often = "1 time" if count == 1 else f"{count:,} times"
    return f"Most often wrong: {names[i]} taken for {names[j]}, {often}."


def sklearn_metrics() -> Any:
    """The module that counts, an optional extra."""
    try:
        from sklearn import metrics
    except ImportError:
        problem = "accuracy and F1 of labels need scikit-learn"
        advice = 'install the extra: pip install "regard[metrics]"'
        raise MisuseError("evaluate", problem, advice=advice) from None
    return metrics
