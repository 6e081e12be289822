"""Questions with a context that may hold their answer. In: SQuAD's JSON, or a table. Out: rows.

    .json    {"data": [{"title": …, "paragraphs": [{"context": …, "qas": [
                 {"question": …, "answers": [{"text": …, "answer_start": …}]}]}]}]}
             version 1.1; of 2.0 a question with "is_impossible" has no answer (Rajpurkar et al.
             2016, 2018)
    tables   columns question, context, answer; the answer is looked for in the context. An empty
             cell is a question without an answer, "|" divides several right ones.

A row is a `Labelled` whose text is the question, whose pair is the context, and whose labels are
its right answers, each with its place: "34 308". Each place is checked: an answer that does not
stand there is left out, and a question that has no other is counted (`Problem.MISPLACED`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from regard.data.corpus import Limits
from regard.data.labelled import Columns, Labelled, read_labelled
from regard.data.lines import Problem
from regard.data.report import Report
from regard.data.role import Role
from regard.data.table import READ, is_table
from regard.errors import DataError, MisuseError
from regard.untrusted import read_small_file, strict_json

MOST_BYTES = 1 << 28  # SQuAD itself has 42 million
MOST_PARTS = 20_000_000
MOST_CHARACTERS = 1_000_000  # of a context


@dataclass(frozen=True)
class Span:
    """An answer and where it begins, in characters of its context."""

    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def __str__(self) -> str:
        return f"{self.start} {self.text}"


def spans_of(row: Labelled) -> list[Span]:
    """The right answers of a question; none where there is no answer."""
    parted = (label.partition(" ") for label in row.labels)
    return [Span(int(start), text) for start, _, text in parted]


def is_squad(path: Path) -> bool:
    """Whether the name says so."""
    return path.suffix == ".json"


def read_questions(
    path: Path,
    report: Report,
    names: Sequence[str] = ("", "", ""),
    leave_out: Sequence[str] = (),
    no_answer: float = 0.0,
) -> Iterator[Labelled]:
    """The good rows in order; the others are counted in `report`.

    `names` are the columns of a table. Of SQuAD's JSON the articles with the titles `leave_out` are
    not read, and `no_answer` of the questions are asked once more of another paragraph of their
    article, one that does not hold the answer (`asked_elsewhere`).
    """
    report.unit = "question"
    if is_squad(path):
        rows = _articles(path, report, leave_out, no_answer)
    elif is_table(path):
        rows = _placed(_table(path, report, names), report)
    else:
        expected = f"questions: SQuAD's .json, or a table ({', '.join(READ)})"
        raise MisuseError(path, expected=expected)
    return _checked(rows, path, report)


def _checked(rows: Iterator[Labelled], path: Path, report: Report) -> Iterator[Labelled]:
    yield from rows
    if report.kept == 0 or report.kept * 2 < report.total:
        what = "more than half of its questions are unusable" if report.kept else "no question"
        what = what if report.kept else f"{what} is usable"
        raise DataError("\n  ".join([f"{path}: {what}.", *report.lines()]))


def _table(path: Path, report: Report, names: Sequence[str]) -> Iterator[Labelled]:
    usual = ("question", "context", "answer")
    roles = ("text", "pair", "label")
    text, pair, label = (
        Role(role, name or own) for role, name, own in zip(roles, names, usual, strict=True)
    )
    found = Columns(text, pair, label, several=True)
    return read_labelled(path, found, report, Limits(MOST_CHARACTERS))


def _placed(rows: Iterator[Labelled], report: Report) -> Iterator[Labelled]:
    """Each answer with the first place where it stands."""
    for row in rows:
        context = row.pair or ""
        places = {text: context.find(text) for text in row.labels}
        spans = [Span(place, text) for text, place in places.items() if place >= 0]
        if row.labels and not spans:
            report.kept -= 1
            report.leave_out(Problem.MISPLACED, row.line)
            continue
        yield replace(row, labels=tuple(map(str, spans)))


def _articles(
    path: Path, report: Report, leave_out: Sequence[str], no_answer: float
) -> Iterator[Labelled]:
    data = read_small_file(path, MOST_BYTES, DataError)
    whole = strict_json(data, str(path), MOST_PARTS, surrogates=True, refusal=DataError)
    articles = _list(whole, "data", path)
    titles = [article.get("title") for article in articles if isinstance(article, dict)]
    if unknown := [title for title in leave_out if title not in titles]:
        raise DataError(path, f"has no article {unknown[0]!r}, which is to be left out")
    line = 0
    for article in articles:
        if isinstance(article, dict) and article.get("title") in leave_out:
            continue
        rows = list[Labelled]()
        contexts = list[str]()
        for paragraph in _list(article, "paragraphs", path):
            questions = _list(paragraph, "qas", path)
            context = paragraph.get("context")
            contexts += [context] if isinstance(context, str) else []
            for question in questions:
                line += 1
                report.total += 1
                row = _row(question, context, line)
                if isinstance(row, Problem):
                    report.leave_out(row, line)
                    continue
                report.kept += 1
                rows.append(row)
        elsewhere = list(asked_elsewhere(rows, contexts, no_answer))
        report.total += len(elsewhere)
        report.kept += len(elsewhere)
        yield from rows
        yield from elsewhere


def _list(value: Any, key: str, path: Path) -> list[Any]:
    rows = value.get(key) if isinstance(value, dict) else None
    if not isinstance(rows, list):
        expected = f"questions as SQuAD writes them: an object with a list {key!r}"
        raise DataError(path, expected=expected)
    return rows


def _row(question: Any, context: Any, line: int) -> Labelled | Problem:
    if not isinstance(question, dict) or not isinstance(context, str):
        return Problem.MALFORMED
    text, answers = question.get("question"), question.get("answers", [])
    if not isinstance(text, str) or not isinstance(answers, list):
        return Problem.MALFORMED
    if not text.strip() or not context.strip():
        return Problem.EMPTY
    if "\0" in text + context:
        return Problem.NUL
    if any("\ud800" <= letter <= "\udfff" for letter in text + context):
        return Problem.ENCODING  # JSON can spell half a character, which is no text
    if len(context) > MOST_CHARACTERS:
        return Problem.TOO_LONG
    if question.get("is_impossible") is True:
        answers = []
    spans = dict.fromkeys(span for answer in answers if (span := _span(answer, context)))
    if answers and not spans:
        return Problem.MISPLACED
    return Labelled(text.strip(), context, tuple(map(str, spans)), line)


def _span(answer: Any, context: str) -> Span | None:
    """An answer, if it stands where it says."""
    if not isinstance(answer, dict):
        return None
    text, start = answer.get("text"), answer.get("answer_start")
    if not isinstance(text, str) or not isinstance(start, int) or not text.strip() or start < 0:
        return None
    return Span(start, text) if context.startswith(text, start) else None


def asked_elsewhere(
    rows: Sequence[Labelled], contexts: Sequence[str], share: float
) -> Iterator[Labelled]:
    """A `share` of the questions of an article once more, each of another paragraph that holds none
    of its answers: a question without an answer, about the right matter.

    Which ones, and of which paragraph, follows from the question alone.
    """
    for row in rows:
        texts = [span.text.lower() for span in spans_of(row)]
        digest = blake2b(row.text.encode(), digest_size=8).digest()
        if not texts or int.from_bytes(digest[:4]) >= share * 2**32:
            continue
        others = [
            context
            for context in contexts
            if context != row.pair and not any(text in context.lower() for text in texts)
        ]
        if others:
            chosen = others[int.from_bytes(digest[4:]) % len(others)]
            yield replace(row, pair=chosen, labels=())
