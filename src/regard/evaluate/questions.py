"""How well questions are answered: exact match and F1, as SQuAD counts them.

    normalised   small letters, no punctuation, no articles (a, an, the), single spaces
    exact        whether the normalised answer is one of the right ones
    F1           2 · common words / (words of the answer + words of the right one), words counted as
                 often as they stand; the best over the right answers
    no answer    right (1 and 1) where there is none; else 0

Both are means over the questions, from 0 to 100 (Rajpurkar et al. 2016, 2018).
"""

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.answer.answer import answer_questions
from regard.answer.loaded import LoadedModel
from regard.data.labelled import Labelled
from regard.data.questions import read_questions, spans_of
from regard.data.report import Report
from regard.draw.notebook.table import html_table
from regard.errors import MisuseError
from regard.evaluate.texts import TestTexts
from regard.prepare.encoder_data import held_out
from regard.prepare.phrase_tasks import asked_phrases
from regard.prepare.task_metrics import word_overlap
from regard.printable import Advance, unheard
from regard.runs.columns import NOTHING, data_of
from regard.runs.folder import RunFolder

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class QuestionScores:
    """Of all questions, of those that have an answer, and of those that have none."""

    questions: int
    exact: float
    f1: float
    answered: int  # questions that have an answer
    answered_exact: float | None
    answered_f1: float | None
    without: int  # questions that have none
    without_right: float | None  # of these, in per cent, those where none was given

    def _repr_html_(self) -> str:
        """A row for each kind of question."""
        rows = [
            ("all", self.questions, self.exact, self.f1),
            ("with an answer", self.answered, self.answered_exact, self.answered_f1),
            ("without", self.without, self.without_right, self.without_right),
        ]
        return html_table(("questions", "number", "exact", "F1"), rows)


def normalised(text: str) -> str:
    """A text in the form in which answers are compared.

    >>> normalised("The  Denver Broncos!")
    'denver broncos'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: str, right: Sequence[str]) -> float:
    """1 if the answer is one of the right ones; without any, if there is no answer."""
    return float(any(normalised(answer) == normalised(one) for one in right or [""]))


def f1_of(answer: str, right: Sequence[str]) -> float:
    """The best over the right answers."""
    words = Counter(normalised(answer).split())
    return max(word_overlap(words, Counter(normalised(one).split())) for one in right or [""])


def score_answers(answers: Sequence[str], right: Sequence[Sequence[str]]) -> QuestionScores:
    """Compare the answers with the right ones of each question."""
    rows = [
        (bool(truth), exact_match(answer, truth), f1_of(answer, truth))
        for answer, truth in zip(answers, right, strict=True)
    ]
    having = [(exact, f1) for has_answer, exact, f1 in rows if has_answer]
    lacking = [exact for has_answer, exact, _ in rows if not has_answer]
    exact, f1 = _mean([row[1] for row in rows]), _mean([row[2] for row in rows])
    return QuestionScores(
        len(rows),
        exact or 0.0,
        f1 or 0.0,
        len(having),
        _mean([exact for exact, _ in having]),
        _mean([f1 for _, f1 in having]),
        len(lacking),
        _mean(lacking),
    )


def _mean(values: Sequence[float]) -> float | None:
    return 100 * sum(values) / len(values) if values else None


def questions_to_score(
    model: LoadedModel, file: Path | None, columns: Mapping[str, str] = NOTHING
) -> TestTexts:
    """The questions of a file; without one, those that the run held out, of the phrasebook those of
    its test sentences."""
    run = RunFolder(model.bundle.path)
    data = data_of(run)
    if file is not None:
        report = Report()
        roles = ("text", "pair", "label")
        names = [columns.get(r) or (vars(data)[r] if data else "") for r in roles]
        return TestTexts(str(file), list(read_questions(file, report, names)), report)
    if data is None:
        advice = "give some with --file"
        raise MisuseError("evaluate", f"{model.bundle.path} holds no questions", advice=advice)
    if data.phrasebook:
        return TestTexts("the phrasebook's test set", [*asked_phrases(data.phrasebook, "test")])
    return TestTexts("the run's validation questions", held_out(run))


def right_answers(row: Labelled) -> list[str]:
    """The texts of the right answers."""
    return [span.text for span in spans_of(row)]


def score_questions(
    model: LoadedModel, test: TestTexts, advance: Advance = unheard
) -> QuestionScores:
    """Ask every question and compare."""
    pairs = [(row.text, row.pair or "") for row in test.rows]
    answers = answer_questions(model, pairs, advance=advance)
    texts = [given.best.text for given in answers]
    return score_answers(texts, [right_answers(row) for row in test.rows])
