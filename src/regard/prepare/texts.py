"""Texts before training: read any number of times, counted, refused where they teach nothing.

How a file is read, and which sentences of the phrasebook stand in for one, is what differs between
objectives (`read`, `phrases`); the file itself is never held.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from regard.data.corpus import Limits, split_for_validation
from regard.data.label_pairs import few_of_each, label_pairs
from regard.data.labelled import Labelled, in_order, read_labelled
from regard.data.report import Report
from regard.data.suspicion import Different
from regard.draw.terminal.progress import progress_bar
from regard.errors import DataError
from regard.prepare.pairs import held_out_share, refuse_few
from regard.prepare.phrase_tasks import english_phrases
from regard.printable import counted
from regard.runs.columns import columns_of, with_columns
from regard.runs.sections import DataSection

SHOWN = 5  # labels that a sentence lists
ENOUGH = 10  # rows that each have a label of their own, and it is none
MANY = 50  # labels that are usual; more, and most of them once, and it is the wrong column

ReadTexts = Callable[[Path, DataSection, Report], Iterator[Labelled]]
Phrases = Callable[[str, str], Iterator[Labelled]]  # of a language and a split


def read_rows(
    path: Path, data: DataSection, report: Report, labelled: bool = True, score: bool = False
) -> Iterator[Labelled]:
    """The rows of a file, its columns as the recipe says.

    Another file than the one that the recipe describes may have other columns.
    """
    columns = columns_of(data, labelled, path == data.texts, score)
    return read_labelled(path, columns, report, Limits(data.max_characters))


@dataclass(frozen=True)
class Texts:
    """The rows of a recipe, as things to be read any number of times."""

    data: DataSection
    seed: int
    report: Report  # of the counting pass
    read: ReadTexts = read_rows
    phrases: Phrases = english_phrases
    counts: Counter[str] = field(default_factory=Counter)  # of each label; empty: there are none
    characters: int = 0  # of all texts
    # By which rows are parted into those to learn from and to validate on: alike, same part.
    key: Callable[[Labelled], str] = field(default=lambda row: whole(row))

    @property
    def labels(self) -> tuple[str, ...]:
        """Their names, in the order of the classes."""
        return in_order(set(self.counts))

    def lines(self) -> list[str]:
        """What was read, for a person."""
        read = [] if self.data.phrasebook else self.report.lines()
        if not self.counts:
            return read
        shown = [f"{name} {self.counts[name]:,}" for name in self.labels[: 2 * SHOWN]]
        more = ", …" if len(self.labels) > 2 * SHOWN else ""
        return [*read, f"{counted(len(self.labels), 'label')}: {', '.join(shown)}{more}."]

    def train(self) -> Iterator[Labelled]:
        """Those to learn from."""
        if self.data.phrasebook:
            return self.phrases(self.data.phrasebook, "train")
        rows = (row for row, held_out in self._rows() if not held_out)
        return iter(few_of_each(rows, self.data.few, self.seed)) if self.data.few else rows

    def valid(self) -> Iterator[Labelled]:
        """Those to validate on."""
        if self.data.phrasebook:
            return self.phrases(self.data.phrasebook, "dev")
        if self.data.valid_texts is not None:
            return self.read(self.data.valid_texts, self.data, Report())
        return (row for row, held_out in self._rows() if held_out)

    def _rows(self) -> Iterator[tuple[Labelled, bool]]:
        assert self.data.texts is not None
        share = 0.0 if self.data.valid_texts else held_out_share(self.data, self.report.kept)
        for row in self.read(self.data.texts, self.data, Report()):
            yield row, split_for_validation(self.key(row), fraction=share, seed=self.seed)


@dataclass(frozen=True)
class LabelPairs(Texts):
    """The same rows as pairs, alike where their labels are (data/label_pairs.py)."""

    times: int = 1
    alike: str = "1"
    apart: str = "0"

    def train(self) -> Iterator[Labelled]:
        """`times` pairs of each row with its label, and as many with another."""
        return label_pairs(list(super().train()), self.times, self.seed, self.alike, self.apart)

    def valid(self) -> Iterator[Labelled]:
        """Two pairs of each."""
        return label_pairs(list(super().valid()), 1, self.seed, self.alike, self.apart)


def whole(row: Labelled) -> str:
    """All of its text."""
    return row.text if row.pair is None else f"{row.text}\t{row.pair}"


def survey_texts(
    data: DataSection,
    seed: int,
    what: str = "row",
    read: ReadTexts = read_rows,
    phrases: Phrases = english_phrases,
    labelled: bool = True,
    check: Callable[[Texts], None] = lambda texts: None,
) -> Texts:
    """Count and check; `what` is the word for a row, `labelled`: labels are names of classes,
    `check` looks at what was counted."""
    report, counts, characters, texts = Report(), Counter[str](), 0, Different()
    with progress_bar("reading", None) as bar:
        rows = (
            phrases(data.phrasebook, "train")
            if data.texts is None
            else read(data.texts, data, report)
        )
        kept = 0
        for row in rows:
            kept += 1
            counts.update(row.labels if labelled else ())
            texts.see(whole(row))
            characters += len(row.text) + len(row.pair or "")
            bar.advance()
        if data.texts is None:
            report.total = report.kept = kept
            return Texts(data, seed, report, read, phrases, counts)
        data = with_columns(data, report)
        survey = Texts(data, seed, report, read, phrases, counts, characters)
        check(survey)
    if data.valid_texts is None:
        texts.check(str(data.texts), report.kept, what, "data.valid_texts")
        refuse_few(str(data.texts), report.kept, what, "data.valid_texts")
    return survey


def check_labels(texts: Texts, learner: str = "classifier", unit: str = "row") -> None:
    """Neither one label for all nor one for each; those of the validation texts are among them."""
    data, counts, kept = texts.data, texts.counts, texts.report.kept
    other = "say which one holds the labels with --label-column (in a recipe: data.label)"
    if len(counts) < (1 if data.labels == "several" else 2):
        label = f"every {unit} has the label {next(iter(counts))!r}" if counts else "no row has one"
        advice = f"look at the column {data.label!r}, or {other}"
        raise DataError(data.texts, f"{label}, a {learner} needs two or more labels", advice=advice)
    if len(counts) == kept >= ENOUGH and unit == "row" and data.labels == "one":
        raise DataError(
            f"{data.texts}: each of the {kept:,} rows has a label of its own in column "
            f"{data.label!r}: that is the column of something else, an id perhaps; {other}"
        )
    if len(counts) > MANY and 2 * len(counts) > kept:
        raise DataError(
            f"{data.texts}: {len(counts):,} labels in {kept:,} rows, most of them once: "
            f"that is the column of something else; {other}"
        )
    if data.valid_texts is not None:
        refuse_unseen(data.valid_texts, texts.valid(), set(counts))


def refuse_unseen(path: Path, rows: Iterable[Labelled], trained: set[str]) -> None:
    """A label that training has never seen cannot be answered: name it."""
    unseen = Counter(label for row in rows for label in row.labels if label not in trained)
    if unseen:
        named = ", ".join(f"{name!r} ({n:,})" for name, n in unseen.most_common(SHOWN))
        more = ", …" if len(unseen) > SHOWN else ""
        advice = f"known are {', '.join(map(repr, in_order(trained)[: 4 * SHOWN]))}"
        raise DataError(path, f"labels that training has not seen: {named}{more}", advice=advice)
