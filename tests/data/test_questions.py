"""SQuAD's JSON and tables of questions: what is read, and what is left out and counted."""

import json
from pathlib import Path
from typing import Any

import pytest

from regard.data.labelled import Labelled
from regard.data.lines import Problem
from regard.data.questions import Span, read_questions, spans_of
from regard.data.report import Report
from regard.errors import DataError, MisuseError
from regard.prepare.phrase_tasks import asked_phrases

CONTEXT = "Ada won in 1833. Bob came second."


def squad(folder: Path, *questions: Any, context: Any = CONTEXT, **more: Any) -> Path:
    paragraphs = [{"context": context, "qas": list(questions)}, *more.get("paragraphs", [])]
    data = [{"title": "Race", "paragraphs": paragraphs}]
    file = folder / "q.json"
    file.write_text(json.dumps({"version": "1.1", "data": data}), encoding="utf-8")
    return file


def asked(question: str, *answers: tuple[Any, Any], **more: Any) -> dict[str, Any]:
    rows = [{"text": text, "answer_start": start} for text, start in answers]
    return {"id": "1", "question": question, "answers": rows, **more}


def read(file: Path, **options: Any) -> tuple[list[Labelled], Report]:
    report = Report()
    return list(read_questions(file, report, **options)), report


def test_both_versions_of_squad(tmp_path: Path) -> None:
    first = asked("Who won?", ("Ada", 0), ("Ada", 0), ("Ada won", 0))
    second = asked("Who lost?", is_impossible=True)
    second["plausible_answers"] = [{"text": "Bob", "answer_start": 17}]
    rows, report = read(squad(tmp_path, first, second))
    assert [(row.text, row.pair) for row in rows] == [("Who won?", CONTEXT), ("Who lost?", CONTEXT)]
    assert spans_of(rows[0]) == [Span(0, "Ada"), Span(0, "Ada won")]
    assert spans_of(rows[1]) == [] and (report.total, report.kept) == (2, 2)


def test_answers_are_looked_for_where_they_say(tmp_path: Path) -> None:
    """One that stands elsewhere, outside of the text or nowhere is not learned from."""
    good = [asked("Who won?", ("Ada", 0)) for _ in range(9)]
    bad = [
        asked("Who?", ("Bob", 16)),
        asked("Who?", ("Bob", 5000)),
        asked("Who?", ("Bob", -16)),
        asked("Who?", ("Bob", "17")),
        asked("Who?", ("", 0)),
    ]
    one_is_right = asked("When?", ("1833", 0), ("1833", 11))
    rows, report = read(squad(tmp_path, *good, *bad, one_is_right))
    assert report.bad == {Problem.MISPLACED: 5} and report.kept == 10
    assert report.first_lines[Problem.MISPLACED] == [10, 11, 12, 13, 14]
    assert spans_of(rows[-1]) == [Span(11, "1833")]
    assert "an answer that is not where its place says: 5 questions" in "\n".join(report.lines())


def test_what_is_no_question_is_counted(tmp_path: Path) -> None:
    good = [asked("Who won?", ("Ada", 0)) for _ in range(9)]
    odd = [7, {"question": 3}, asked(" "), asked("a\0b"), asked("\ud800")]
    _, report = read(squad(tmp_path, *good, *odd))
    problems = {Problem.MALFORMED: 2, Problem.EMPTY: 1, Problem.NUL: 1, Problem.ENCODING: 1}
    assert report.bad == problems and report.kept == 9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "not valid JSON"),
        ("[]", "as SQuAD writes them: an object with a list 'data'"),
        ('{"data": [{"paragraphs": 3}]}', "an object with a list 'paragraphs'"),
        ('{"data": []}', "no question is usable"),
        ('{"data": [], "data": []}', "a name stands in it twice"),
    ],
)
def test_other_json_is_refused(text: str, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "q.json"
    file.write_text(text)
    with pytest.raises(DataError, match=expected):
        read(file)


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("Who won?")
    with pytest.raises(MisuseError, match=r"SQuAD's \.json, or a table"):
        read(tmp_path / "q.txt")
    with pytest.raises(DataError, match="cannot be read"):
        read(tmp_path / "none.json")
    file = squad(tmp_path, *[asked("Who?", ("Eve", 0))] * 3)
    with pytest.raises(DataError, match="no question is usable"):
        read(file)
    with pytest.raises(DataError, match="has no article 'Rase'"):
        read(file, leave_out=["Rase"])


def test_a_table_has_a_question_a_row(tmp_path: Path) -> None:
    """Its answers are looked for; "|" divides right ones, an empty cell is no answer."""
    file = tmp_path / "q.csv"
    rows = ["Who won?,{0},Ada|Ada won", "Who lost?,{0},", "Who slept?,{0},Eve"]
    whole = ["question,context,answer", *rows]
    file.write_text("\n".join(whole).format(CONTEXT))
    kept, report = read(file)
    assert [spans_of(row) for row in kept] == [[Span(0, "Ada"), Span(0, "Ada won")], []]
    assert report.bad == {Problem.MISPLACED: 1} and (report.total, report.kept) == (3, 2)
    file.write_text("\n".join(["q,c,a", *rows]).format(CONTEXT))
    assert len(read(file, names=("q", "c", "a"))[0]) == 2


def test_questions_are_asked_of_paragraphs_that_do_not_answer(tmp_path: Path) -> None:
    others = [
        {"context": "ADA was there too.", "qas": []},
        {"context": "It rained.", "qas": [asked("What did it do?", ("rained", 3))]},
    ]
    file = squad(tmp_path, asked("Who won?", ("Ada", 0)), paragraphs=others)
    rows, report = read(file, no_answer=1.0)
    pairs = [(row.text, row.pair, bool(row.labels)) for row in rows]
    assert pairs[:3] == [
        ("Who won?", CONTEXT, True),
        ("What did it do?", "It rained.", True),
        ("Who won?", "It rained.", False),  # the other paragraph names her
    ]
    assert pairs[3][0] == "What did it do?" and pairs[3][1] in (CONTEXT, "ADA was there too.")
    assert report.total == report.kept == 4 and read(file, no_answer=1.0)[0] == rows
    assert len(read(file, no_answer=0.0)[0]) == 2


def test_the_phrasebook_is_asked_about() -> None:
    rows = list(asked_phrases("de", "test"))
    for row in rows:
        (span,) = spans_of(row)
        assert row.pair is not None and row.pair[span.start : span.end] == span.text
    by_text = {(row.text, row.pair): spans_of(row)[0].text for row in rows}
    it = [(pair, answer) for (text, pair), answer in by_text.items() if '"it" stand' in text]
    assert len(it) > 50 and all(answer != "it" for _, answer in it)
