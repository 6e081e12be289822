"""Conversations before training: read any number of times, checked line by line, never held.

    turns.jsonl               {"messages": [{"role": "user", "content": …}, …]} on each line
    .csv  .tsv  .jsonl  …     a table with a column of questions and one of answers

Both may be gzipped. A line that is no conversation is an error that names it: an answer that is
learned for the wrong question does more harm than a sentence that is left out.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from regard.data.corpus import Limits, split_for_validation
from regard.data.labelled import Columns, read_labelled
from regard.data.lines import Problem, decoded, find_file, format_of, read_lines
from regard.data.report import Report
from regard.data.table import is_table
from regard.draw.terminal.progress import progress_bar
from regard.errors import DataError
from regard.prepare.pairs import held_out_share, refuse_few
from regard.printable import counted
from regard.runs.columns import KEYS, role_of, with_columns
from regard.runs.sections import DataSection
from regard.text.turns import ASSISTANT, USER, Message, read_messages, up_to_answer

MESSAGES, KIND = "messages", "kind"  # keys of a line


@dataclass(frozen=True)
class Dialogue:
    """A conversation up to its last answer."""

    messages: list[Message]
    line: int
    kind: str = ""  # what it is about, where its file says so

    @property
    def text(self) -> str:
        """All that is said, with the words for who says it."""
        return "".join(f"{m.role.title()}: {m.content}\n" for m in self.messages)


@dataclass(frozen=True)
class Dialogues:
    """What a recipe trains on."""

    data: DataSection
    seed: int
    report: Report
    answers: int
    characters: int

    def lines(self) -> list[str]:
        """What was read, for a person."""
        columns = [f"{self.report.columns.said()}."] if self.report.columns else []
        count = counted(self.report.kept, "conversation")
        return [*columns, f"{count} with {counted(self.answers, 'answer')}."]

    def train(self) -> Iterator[Dialogue]:
        """Those to learn from."""
        return (dialogue for dialogue, held_out in self._parted() if not held_out)

    def valid(self) -> Iterator[Dialogue]:
        """Those to validate on."""
        if self.data.valid_texts is not None:
            return read_dialogues(replace(self.data, texts=self.data.valid_texts), own=False)
        return (dialogue for dialogue, held_out in self._parted() if held_out)

    def _parted(self) -> Iterator[tuple[Dialogue, bool]]:
        share = 0.0 if self.data.valid_texts else held_out_share(self.data, self.report.kept)
        for dialogue in read_dialogues(self.data):
            yield dialogue, split_for_validation(dialogue.text, fraction=share, seed=self.seed)


def survey_dialogues(data: DataSection, seed: int) -> Dialogues:
    """Count, and check every line."""
    report, answers, characters = Report(), 0, 0
    with progress_bar("reading", None) as bar:
        for dialogue in read_dialogues(data, report):
            answers += sum(message.role == ASSISTANT for message in dialogue.messages)
            characters += len(dialogue.text)
            bar.advance()
    dialogues = Dialogues(with_columns(data, report), seed, report, answers, characters)
    if data.valid_texts is None:
        refuse_few(str(data.texts), report.kept, "conversation", "data.valid_texts")
    else:
        for _ in dialogues.valid():
            pass
    return dialogues


def read_dialogues(
    data: DataSection, report: Report | None = None, own: bool = True
) -> Iterator[Dialogue]:
    """The conversations of `data.texts`. `own`: the recipe speaks of the columns of this file."""
    assert data.texts is not None
    report = Report() if report is None else report
    find_file(data.texts)
    if not is_table(data.texts):
        raise DataError(
            f"{data.texts}: expected conversations, a .jsonl file with messages or a table of "
            "questions and answers (.csv, .tsv, .jsonl, .parquet)"
        )
    read = _messages(data, report) if _has_messages(data) else _pairs(data, report, own)
    for dialogue in read:
        report.total, report.kept = report.total + 1, report.kept + 1
        yield dialogue
    if not report.kept:
        raise DataError(data.texts, "holds no conversation")


def _has_messages(data: DataSection) -> bool:
    """Whether the first line has the key."""
    assert data.texts is not None
    if format_of(data.texts) != ".jsonl":
        return False
    lines = map(decoded, read_lines(data.texts, data.max_characters))
    first = next((text for text in lines if isinstance(text, Problem) or text.strip()), "")
    return f'"{MESSAGES}"' in first


def _messages(data: DataSection, report: Report) -> Iterator[Dialogue]:
    assert data.texts is not None
    for number, line in enumerate(read_lines(data.texts, data.max_characters), start=1):
        where, text = f"{data.texts}: line {number}", decoded(line)
        if isinstance(text, Problem):
            raise DataError(where, text.value)
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataError(where, f"no JSON: {error}") from None
        if not isinstance(row, dict):
            raise DataError(where, got=type(row), expected="an object with messages")
        messages = up_to_answer(read_messages(row.get(MESSAGES), where))
        if not messages:
            raise DataError(where, "no message of the assistant: there is no answer to learn")
        yield Dialogue(messages, number, str(row.get(KIND) or ""))


def _pairs(data: DataSection, report: Report, own: bool) -> Iterator[Dialogue]:
    """Of a table; its reader counts what is wrong, and here that is an error."""
    assert data.texts is not None
    named = {role: vars(data)[KEYS[role]] for role in ("text", "pair")} if own else {}
    columns = Columns(role_of("text", data, named), role_of("pair", data, named), None)
    rows = Report()
    table = read_labelled(data.texts, columns, rows, Limits(data.max_characters))
    for row in table:
        report.columns = rows.columns
        _refuse_bad(data.texts, rows)
        assert row.pair is not None
        yield Dialogue([Message(USER, row.text), Message(ASSISTANT, row.pair)], row.line)
    _refuse_bad(data.texts, rows)


def _refuse_bad(path: Path, report: Report) -> None:
    for problem, rows in report.first_lines.items():
        raise DataError(path, f"row {rows[0]} of its questions and answers: {problem.value}")
