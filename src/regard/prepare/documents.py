"""Documents before training: plain files, a folder of them, or a table with a column of texts.

    story.txt  story.txt.gz      one document
    stories/                     each text file below it, in the order of their names
    stories.jsonl  .csv  …       each row (data.text names the column)

They are read any number of times in parts and never held. What is held out is the last tenth of the
text, as it comes, unless a file of its own is given.
"""

import codecs
import gzip
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from regard.data.lines import format_of
from regard.data.report import Report
from regard.data.table import is_table
from regard.draw.terminal.progress import progress_bar
from regard.errors import DataError
from regard.prepare.texts import read_rows
from regard.printable import counted
from regard.runs.columns import with_columns
from regard.runs.sections import DataSection

HELD_OUT = 0.1  # of the characters
PART = 1 << 16  # characters that are read at a time
SUFFIXES = (".txt", ".md", ".rst", ".text", "")  # of files in a folder; .gz may follow


@dataclass(frozen=True)
class DocumentPart:
    """Some text, and whether a document begins or ends with it."""

    text: str
    begins: bool
    ends: bool


@dataclass(frozen=True)
class Documents:
    """What a recipe trains on, as parts to be read any number of times."""

    data: DataSection
    report: Report  # of the counting pass
    count: int
    characters: int

    def lines(self) -> list[str]:
        """What was read, for a person."""
        size = f"{self.characters:,} characters in {counted(self.count, 'document')}."
        rows = self.report.lines() if self.report.columns else []
        return [*rows, size]

    def train(self) -> Iterator[DocumentPart]:
        """The first nine tenths, or all where others are held out."""
        if self.data.valid_texts is not None:
            return parts_of(self.data)
        return _until(parts_of(self.data), self._cut)

    def valid(self) -> Iterator[DocumentPart]:
        """What the model is judged by."""
        if self.data.valid_texts is not None:
            return parts_of(replace(self.data, texts=self.data.valid_texts))
        return _after(parts_of(self.data), self._cut)

    @property
    def _cut(self) -> int:
        return int(self.characters * (1 - HELD_OUT))


def survey_documents(data: DataSection) -> Documents:
    """Count, and refuse what teaches nothing."""
    report, count, characters = Report(), 0, 0
    with progress_bar("reading", None) as bar:
        for part in parts_of(data, report):
            count += part.begins
            characters += len(part.text)
            bar.advance()
    if not characters:
        advice = "give a file, or a folder of text files"
        raise DataError(data.texts, "holds no text", advice=advice)
    data = with_columns(data, report) if report.columns else data
    return Documents(data, report, count, characters)


def parts_of(data: DataSection, report: Report | None = None) -> Iterator[DocumentPart]:
    """All text of a file or of a folder, in order."""
    assert data.texts is not None
    path = data.texts
    if path.is_dir():
        files = [f for f in sorted(path.rglob("*")) if f.is_file() and format_of(f) in SUFFIXES]
        if not files:
            expected = f"some that end in {', '.join(filter(None, SUFFIXES))}"
            raise DataError(path, "holds no text files", expected=expected)
        for file in files:
            yield from _parts(_characters(file))
    elif is_table(path):
        for row in read_rows(path, data, report or Report(), labelled=False):
            yield from _parts([row.text])
    else:
        yield from _parts(_characters(path))


def _characters(path: Path) -> Iterator[str]:
    """The text of a file as it is, some characters at a time."""
    decode = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for block in iter(partial(file.read, PART), b""):
                yield decode.decode(block)
            yield decode.decode(b"", final=True)
    except FileNotFoundError:
        raise DataError(path, "there is no such file", advice="check the path.") from None
    except UnicodeDecodeError as error:
        advice = "convert it: iconv -f latin1 -t utf-8"
        raise DataError(path, f"is not UTF-8 text ({error.reason})", advice=advice) from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(path, f"cannot be read: {error}") from None


def _parts(texts: Iterable[str]) -> Iterator[DocumentPart]:
    """The parts of one document; one without text is none."""
    before, begins = "", True
    for text in texts:
        if not text:
            continue
        if before:
            yield DocumentPart(before, begins, ends=False)
            begins = False
        before = text
    if before:
        yield DocumentPart(before, begins, ends=True)


def _until(parts: Iterable[DocumentPart], most: int) -> Iterator[DocumentPart]:
    """The first characters; where a document is cut it goes on, so it does not end."""
    done = 0
    for part in parts:
        text = part.text[: most - done]
        if text:
            yield DocumentPart(text, part.begins, part.ends and len(text) == len(part.text))
        done += len(part.text)
        if done >= most:
            return


def _after(parts: Iterable[DocumentPart], first: int) -> Iterator[DocumentPart]:
    """The rest; it begins in the middle of a document, without the sign of a beginning."""
    done = 0
    for part in parts:
        text = part.text[max(0, first - done) :]
        done += len(part.text)
        if text:
            yield DocumentPart(text, part.begins and len(text) == len(part.text), part.ends)
