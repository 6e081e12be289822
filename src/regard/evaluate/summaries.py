"""How good summaries are: ROUGE beside those that people wrote."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.answer.loaded import LoadedModel
from regard.answer.summarize import summarize_texts
from regard.answer.table_files import MOST_CHARACTERS
from regard.data.corpus import Limits, read_pairs
from regard.data.lines import Problem
from regard.data.report import Report
from regard.data.table import Table, is_table
from regard.draw.notebook.table import html_table
from regard.errors import DataError, MisuseError
from regard.evaluate.tasks import has_tasks
from regard.prepare.rouge import Rouge, insist_on_rouge, rouge_of
from regard.printable import Advance, unheard
from regard.runs.columns import NOTHING, data_of, role_of
from regard.runs.folder import RunFolder, read_texts


@dataclass(frozen=True)
class SummaryScores:
    """ROUGE F1 from 0 to 100; `references` are right summaries of all documents together."""

    set: str
    way: str
    documents: int
    references: int
    rouge1: float
    rouge2: float
    rougeL: float

    def _repr_html_(self) -> str:
        """The three numbers."""
        numbers = {"ROUGE-1": self.rouge1, "ROUGE-2": self.rouge2, "ROUGE-L": self.rougeL}
        rows = [(name, f"{number:.2f}") for name, number in numbers.items()]
        return html_table(("score", ""), rows, f"{self.documents:,} documents")


@dataclass(frozen=True)
class TestDocuments:
    """Documents, each with one or several right summaries."""

    name: str
    sources: list[str]
    references: list[list[str]]


def wants_rouge(run: RunFolder, metric: str, has_files: bool) -> bool:
    """Whether summaries are scored; "auto": of a run that learned from documents. A run with tasks
    of their own metrics is asked for those, unless there are files."""
    data = data_of(run)
    learned = data is not None and data.documents
    is_asked = metric == "rouge" or (metric == "auto" and learned)
    return is_asked and (has_files or not has_tasks(run))


def summaries_to_score(
    run: RunFolder,
    source: Path | None,
    reference: Path | None,
    columns: Mapping[str, str] = NOTHING,
    report: Report | None = None,
) -> TestDocuments:
    """Of the files, or those that the run held out."""
    report = report or Report()
    if source is None:
        if not run.info.is_file() or reference is not None:
            advice = "give a table with --source, or documents with --source and --reference"
            raise MisuseError("evaluate", f"{run.folder} holds no documents", advice=advice)
        rows = read_texts(run.whole("valid.jsonl"), source=str, target=str)
        name = "the run's validation pairs"
        return TestDocuments(name, [r["source"] for r in rows], [[r["target"]] for r in rows])
    data = data_of(run)
    sides = [role_of(side, data, columns) for side in ("source", "target")]
    if is_table(source) and reference is None:
        return _table(source, Table(source, sides, MOST_CHARACTERS), report)
    limits = Limits(MOST_CHARACTERS, documents=True)
    pairs = list(read_pairs(source, reference, report, limits, sides))
    if report.kept < report.total:
        raise DataError("\n  ".join(["evaluate: a test set must be clean.", *report.lines()]))
    return TestDocuments(str(source), [p.source for p in pairs], [[p.target] for p in pairs])


def _table(source: Path, table: Table, report: Report) -> TestDocuments:
    report.columns = table.chosen
    test = TestDocuments(str(source), [], [])
    for number, row in enumerate(table.rows, start=1):
        cells = [
            row if isinstance(row, Problem) else table.texts(row, side)
            for side in ("source", "target")
        ]
        for cell in cells:
            if isinstance(cell, Problem) or not "".join(cell).strip():
                problem = cell.value if isinstance(cell, Problem) else Problem.EMPTY.value
                raise DataError(
                    f"{source}: row {number}", problem, advice="a test set must be clean"
                )
        document, right = cells
        test.sources.append(" ".join(text.strip() for text in document))
        test.references.append([text for text in right if not isinstance(text, Problem)])
    report.total = report.kept = len(test.sources)
    return test


def score_summaries(
    model: LoadedModel,
    test: TestDocuments,
    length: str | int | None = None,
    advance: Advance = unheard,
    search: Mapping[str, Any] = NOTHING,
) -> tuple[SummaryScores, list[str]]:
    """Summarise all documents; the scores, and the summaries."""
    insist_on_rouge("evaluate")
    summaries = summarize_texts(model, test.sources, length, advance=advance, **search)
    outputs = [summary.text for summary in summaries]
    found: Rouge = rouge_of(outputs, test.references)
    many = sum(map(len, test.references))
    way = summaries[0].way if summaries else ""
    return SummaryScores(test.name, way, len(outputs), many, **vars(found)), outputs
