"""Texts before training: counted, checked, and refused where nothing can be learned from them."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from regard.data.labelled import Labelled
from regard.data.report import Report
from regard.data.suspicion import Different
from regard.draw.counted import counted
from regard.draw.terminal.progress import progress_bar
from regard.errors import DataError
from regard.prepare.pairs import FEWEST
from regard.prepare.tagged import read_tags, tagged_phrases
from regard.prepare.texts import (
    Texts,
    english_phrases,
    read_rows,
    refuse_unseen,
    whole,
)
from regard.runs.columns import with_columns
from regard.runs.sections import DataSection

ENOUGH = 10  # rows that each have a label of their own, and it is none
MANY = 50  # labels that are usual; more, and most of them once, and it is the wrong column


def survey_texts(data: DataSection, seed: int, tags: bool = False) -> Texts:
    """Count and check; refuse what no classifier (or tagger) can be trained on."""
    report, counts, characters, texts = Report(), Counter[str](), 0, Different()
    if data.texts is None:
        for row in tagged_phrases(data.phrasebook, "train"):
            counts.update(row.labels)
            report.total = report.kept = report.kept + 1
        return Texts(data, seed, report, counts, tags=tags)

    def read(path: Path, report: Report, own: bool = True) -> Iterator[Labelled]:
        return read_tags(path, data, report) if tags else read_rows(path, data, report, own=own)

    with progress_bar("reading", None) as bar:
        for row in read(data.texts, report):
            counts.update(row.labels)
            texts.see(whole(row))
            characters += len(row.text) + len(row.pair or "")
            bar.advance()
        data = with_columns(data, report)
        assert data.texts is not None
        _check_labels(data, counts, report, tags)
        _check_enough(data, report, "row", texts)
        if data.valid_texts is not None:
            rows = read(data.valid_texts, Report(), own=False)
            refuse_unseen(data.valid_texts, rows, set(counts))
    return Texts(data, seed, report, counts, tags=tags, characters=characters)


def _check_labels(data: DataSection, counts: Counter[str], report: Report, tags: bool) -> None:
    """Neither one label for all nor one for each."""
    other = "say which one holds the labels with --label-column (in a recipe: data.label)"
    if len(counts) < (1 if data.labels == "several" else 2):
        found = (
            f"every {'word' if tags else 'row'} has the label {next(iter(counts))!r}"
            if counts
            else "no row has one"
        )
        raise DataError(
            f"{data.texts}: {found}, a {'tagger' if tags else 'classifier'} needs two or more "
            f"labels; look at the column {data.label!r}, or {other}"
        )
    if len(counts) == report.kept >= ENOUGH and not tags and data.labels == "one":
        raise DataError(
            f"{data.texts}: each of the {report.kept:,} rows has a label of its own in column "
            f"{data.label!r}: that is the column of something else, an id perhaps; {other}"
        )
    if len(counts) > MANY and 2 * len(counts) > report.kept:
        raise DataError(
            f"{data.texts}: {len(counts):,} labels in {report.kept:,} rows, most of them once: "
            f"that is the column of something else; {other}"
        )


def _check_enough(data: DataSection, report: Report, what: str, texts: Different) -> None:
    if data.valid_texts is None:
        texts.check(str(data.texts), report.kept, what, "data.valid_texts")
    if data.valid_texts is None and report.kept < FEWEST:
        raise DataError(
            f"{data.texts}: {counted(report.kept, what)}: too few to hold some out for validation, "
            f"{FEWEST} are the least; add more, or give some to validate on (data.valid_texts)"
        )


def survey_unlabelled(data: DataSection, seed: int) -> Texts:
    """Count and check texts that are learned from by themselves."""
    report = Report()
    with progress_bar("reading", None) as bar:
        rows = (
            english_phrases(data.phrasebook, "train")
            if data.texts is None
            else read_rows(data.texts, data, report, labelled=False)
        )
        count, texts = 0, Different()
        for row in rows:
            count += 1
            texts.see(whole(row))
            bar.advance()
    if data.texts is None:
        report.total = report.kept = count
    else:
        _check_enough(data, report, "text", texts)
    return Texts(with_columns(data, report), seed, report, Counter(), labelled=False)
