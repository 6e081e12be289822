"""`regard summarize`: a text, or each of many, in fewer words."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli import declare
from regard.cli.inputs import one_line, say_read
from regard.cli.streams import echo_answer
from regard.valid_json import valid_json

if TYPE_CHECKING:
    from regard.answer.documents import Document
    from regard.answer.summarize import Length, Summary


@declare.command("""
  regard summarize minilm report.txt
  regard summarize minilm notes/ --length 40
  regard summarize runs/scitldr abstracts.jsonl --text-column source --json
  regard summarize google-t5/t5-small report.txt --length 2 --sentences
  cat report.txt | regard summarize minilm --scores""")
@declare.model
@click.argument("files", nargs=-1, metavar="[FILE]...", type=declare.PATH)
@click.option("--length", type=int, help="About so many words.")
@declare.flag("--sentences", help="--length counts sentences, not words.")
@declare.flag("--scores", help="Sentence encoder: show every sentence with its score.")
@declare.columns("text")
@click.option(
    "--source-language", "language", help="Whose full stops: en, de, hi, …  [default: en]"
)
@declare.engines(shortlist=False)
@declare.json("One JSON object a document: the summary, and how it came about.")
def command(
    model: Path,
    files: tuple[Path, ...],
    length: int | None,
    sentences: bool,
    scores: bool,
    text_column: str,
    language: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Print a summary of each FILE, of each text file of a folder, of each row of a table; without
    FILE, of standard input.

    MODEL decides how: one that makes text of text (a run, T5, BART) writes it, in windows where a
    text is too long; a decoder goes on after "TL;DR:"; a sentence encoder (minilm) takes the
    sentences that lie nearest to the whole. Standard error says which way it was, and which lines
    were taken.
    """
    from regard.answer.loaded import open_model
    from regard.answer.summarize import summarize_texts
    from regard.data.report import Report
    from regard.draw.terminal.progress import progress_bar

    wanted = length_asked(length, sentences)
    report = Report()
    documents = _documents(files, text_column, model, report)
    say_read(report)
    device = options.pop("device")
    loaded = open_model(model, device, declare.engine_request(options))
    if scores and "embed" not in loaded.tasks:
        raise click.UsageError("--scores: only sentences that are extracted have scores")
    with progress_bar("summarizing", len(documents)) as bar:
        texts = [document.text for document in documents]
        summaries = summarize_texts(loaded, texts, wanted, language or "en", bar.advance)
    for document, summary in zip(documents, summaries, strict=True):
        if as_json:
            click.echo(valid_json(_row(document, summary)))
            continue
        _print(document.name if len(documents) > 1 else "", summary, scores)
    if not as_json and len(summaries) == 1:
        click.echo(f"({summaries[0].said()})", err=True)
    elif not as_json and summaries:
        click.echo(f"({len(summaries):,} documents {summaries[0].way})", err=True)


def length_asked(length: int | None, sentences: bool) -> "Length | None":
    """What both options say together."""
    from regard.answer.summarize import read_length

    if length is None:
        if sentences:
            raise click.UsageError("--sentences says what --length counts; give both")
        return None
    return read_length(f"{length} {'sentences' if sentences else 'words'}")


def _documents(files: tuple[Path, ...], column: str, model: Path, report: Any) -> "list[Document]":
    from regard.answer.documents import Document, document_text, read_documents

    if files:
        return read_documents(files, column, model, report)
    if column:
        raise click.UsageError("--text-column belongs to a table as FILE")
    if sys.stdin.isatty():
        click.echo("Type or paste a text; Ctrl-D ends it.", err=True)
    name = "standard input"
    return [Document(name, document_text(sys.stdin.buffer.read(), name))]


def _print(name: str, summary: "Summary", scores: bool) -> None:
    """One line a document, with its name where there are several."""
    if not scores:
        echo_answer(f"{name}\t{one_line(summary.text)}" if name else one_line(summary.text))
        return
    if name:
        click.echo(name)
    for sentence in summary.sentences:
        mark = "*" if sentence.number in summary.taken else " "
        echo_answer(f"{mark} {sentence.score:6.3f}  line {sentence.line:<4} {sentence.text}")


def _row(document: "Document", summary: "Summary") -> dict[str, object]:
    row: dict[str, object] = {"document": document.name, "summary": summary.text}
    row |= {"way": summary.way, "windows": summary.windows}
    if summary.way == "extracted":
        row["lines"] = summary.lines
        row["sentences"] = [
            {
                "number": one.number,
                "line": one.line,
                "score": round(one.score, 6),
                "taken": one.number in summary.taken,
            }
            for one in summary.sentences
        ]
    return row
