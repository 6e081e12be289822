"""`regard answer`: the place of a text that answers a question, or "no answer"."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli import declare
from regard.cli.streams import marks_for
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from rich.text import Text

    from regard.answer.answer import QuestionAnswer
    from regard.api.model import Model
    from regard.draw.terminal.console import Console

AROUND = 90  # characters shown on either side of an answer
TOGETHER = 32  # questions that are asked at once
QuestionOf = tuple[str, str]  # with its context; "" for an index


@declare.command("""
  regard answer runs/answer "Who discovered it?" --context notes.txt
  regard answer deepset/minilm-uncased-squad2 "When was it built?" --context page.txt --top 3
  regard answer runs/answer "Why is the dot product scaled?" --index notes.index
  regard answer runs/answer --file dev-v2.0.json --json
  cat page.txt | regard answer runs/answer "When was it built?" """)
@declare.model
@click.argument("question", nargs=-1)
@declare.path("--context", help="The text that is read; without it, standard input.")
@declare.path("--index", help="Read the passages of an index (`regard index`) instead.")
@declare.file("Questions: SQuAD's JSON, a table, or a question a line.")
@declare.columns("text", "pair", text="of the questions", pair="of their contexts")
@declare.top(default=1, show_default=True)
@click.option(
    "--threshold",
    type=float,
    help="By how much no answer must lead; default 0, and never where training had none such.",
)
@declare.count("--stride", help="Tokens from window to window.  [default: the run's, or 128]")
@declare.device
@declare.json("One JSON object a question.")
def command(
    model: Path,
    question: tuple[str, ...],
    context: Path | None,
    index: Path | None,
    file: Path | None,
    text_column: str,
    pair_column: str,
    top: int,
    threshold: float | None,
    stride: int | None,
    device: str,
    as_json: bool,
) -> None:
    """Print the span of a text that answers QUESTION, with its probability, line and place.

    MODEL is a run of `regard train` with objective "answer", a published folder of BERT,
    DistilBERT or RoBERTa with a head for spans, or its name on the hub. A context that is longer
    than the model reads is read by windows. Models that make text (T5, decoders) write their answer
    from question and context, which standard error says: it need not stand in the text.
    """
    from regard.answer.answer import PROMPTS, answer_questions, answering_task
    from regard.api.load import load
    from regard.draw.terminal.console import Console
    from regard.draw.terminal.progress import progress_bar
    from regard.search.ask import answer_from_index
    from regard.search.query import open_index

    if bool(question) == bool(file):
        raise click.UsageError("expected QUESTION or --file")
    if context and index:
        raise click.UsageError("expected --context or --index, not both")
    rows = _rows(question, file, context, index, text_column, pair_column)
    loaded: Model = load(model, device)
    task = answering_task(loaded)
    if task != "answer":
        shown = PROMPTS[task].format(question="QUESTION", context="CONTEXT")
        click.echo(f"Written, not found; the model is asked: {shown!r}", err=True)
    opened = open_index(index, device=device) if index else None
    console = Console(highlight=False, soft_wrap=True)
    with progress_bar("answering", len(rows)) as bar:
        for n in range(0, len(rows), TOGETHER):
            some = rows[n : n + TOGETHER]
            if opened is not None:
                given = [answer_from_index(loaded, q, opened, top, threshold) for q, _ in some]
            else:
                given = answer_questions(loaded, some, top, threshold, stride)
            bar.advance(len(some))
            for m, (pair, answers) in enumerate(zip(some, given, strict=True), start=n):
                if as_json:
                    click.echo(valid_json(_object(pair[0], answers, task)))
                    continue
                if len(rows) > 1:
                    console.print(*([""] if m else []), _bold(pair[0]), sep="\n")
                _print(console, pair[1], answers, context)


def _rows(
    questions: tuple[str, ...],
    file: Path | None,
    context: Path | None,
    index: Path | None,
    text_column: str,
    pair_column: str,
) -> list[QuestionOf]:
    """Each question with its context."""
    from regard.cli.inputs import arriving, check_there, rows_of, say_read
    from regard.data.questions import is_squad, read_questions
    from regard.data.report import Report
    from regard.data.table import is_table
    from regard.errors import DataError

    if file:
        check_there(file)
    if file and is_squad(file):
        if context or index:
            raise click.UsageError(f"{file} has contexts; leave --context and --index out")
        report = Report()
        rows = [(row.text, row.pair or "") for row in read_questions(file, report)]
        say_read(report)
        return rows
    if file and is_table(file):
        names = {"text": text_column or "question", "pair": pair_column or "context"}
        roles = ["text"] if context or index else ["text", "pair"]
        cells = rows_of(file, roles, {role: names[role] for role in roles}, Path())
        if roles == ["text", "pair"]:
            return [(row[0], row[1]) for row in cells]
        questions = tuple(row[0] for row in cells)
    elif text_column or pair_column:
        raise click.UsageError("--text-column and --pair-column belong to a table as --file")
    elif file:
        questions = tuple(q for lines in arriving(file) for q in lines if q.strip())
    if index:
        return [(question, "") for question in questions]
    if context is None and sys.stdin.isatty():
        raise click.UsageError("expected --context FILE, --index FOLDER, or a text at stdin")
    if context:
        check_there(context)
    text = "\n".join(line for lines in arriving(context) for line in lines)
    if not text.strip():
        raise DataError(context or "standard input", "it holds no text", expected="a context")
    return [(question, text) for question in questions]


def _object(question: str, answers: "list[QuestionAnswer]", task: str) -> dict[str, object]:
    rows = [{k: v for k, v in asdict(one).items() if v != ""} for one in answers if one.text]
    best = answers[0]
    none = {} if best.text or task != "answer" else {"no_answer": best.probability}
    by = {} if task == "answer" else {"written_by": task}
    return {"question": question, "answer": best.text or None, **none, **by, "answers": rows}


def _bold(text: str) -> "Text":
    from rich.text import Text

    return Text(text, "bold")


def _print(
    console: "Console", text: str, answers: "list[QuestionAnswer]", context: Path | None
) -> None:
    from regard.printable import printable_name

    for one in answers:
        if one.probability is None:  # written
            console.print(_bold(one.text or "(nothing)"))
            continue
        if not one.text:
            console.print(_bold("no answer"), f"{one.probability:.4f}", sep="  ")
            continue
        file = printable_name(one.source or str(context or ""))
        where = f"{file}:{one.line}" if file else f"line {one.line}"
        first = " ".join(one.text.split())
        console.print(_bold(first), f"{one.probability:.4f}", where, sep="  ", markup=False)
        if text:
            console.print("    ", _marked(text, one, console.is_terminal), sep="")


def _marked(text: str, answer: "QuestionAnswer", coloured: bool) -> "Text":
    """What stands around an answer, on one line; it is bold on a terminal, between marks else."""
    from rich.text import Text

    before, after = text[: answer.start], text[answer.end :]
    left, right = before[-AROUND:], after[:AROUND]
    if len(left) < len(before):
        left = f"… {left.partition(' ')[2]}"
    if len(right) < len(after):
        right = f"{right.rpartition(' ')[0]} …"
    left, right = (" ".join(f".{part}.".split())[1:-1] for part in (left, right))
    marks = marks_for(left + right)
    word = " ".join(answer.text.split())
    middle = Text(word, "bold yellow") if coloured else Text(marks[0] + word + marks[1])
    return Text.assemble(left, middle, right)
