"""Rows of an encoder that are asked for more than labels, as files have them and as ids.

Words with tags: a row's text is its words with a space between each two, its labels are their tags
in order. As ids it is the pieces, and for each piece the number of the tag of the word that begins
there, from 1; 0: no word begins there, so nothing is asked. The later pieces of a word carry no tag
of their own.

Questions with contexts: as ids a row is one window or several, the question and a part of the
context. Beside them are the places of the answer's first and last token (both 0 where the window
does not hold it) and of the context's.
"""

from collections.abc import Iterator
from pathlib import Path

from regard.data.corpus import Limits
from regard.data.labelled import Labelled
from regard.data.questions import Span, read_questions, spans_of
from regard.data.report import Report
from regard.data.store import StoreRow
from regard.data.tagged import read_tagged
from regard.runs.objective_sections import AnswerSection
from regard.runs.sections import DataSection
from regard.text.encoded import ContextWindow
from regard.text.published import PublishedTokenizer


def read_tags(path: Path, data: DataSection, report: Report) -> Iterator[Labelled]:
    """The sentences of a file, its columns as the recipe says."""
    return read_tagged(path, data.text, data.label, report, Limits(data.max_characters))


def tagged_row(
    tokenizer: PublishedTokenizer, row: Labelled, limit: int, places: dict[str, int]
) -> StoreRow:
    """Ids, and the tag of each."""
    whole, begins = tokenizer.encode_words(row.text.split(" "), limit)
    tags = [0] * len(whole.ids)
    for place, tag in zip(begins, row.labels, strict=True):
        if place is not None:
            tags[place] = places[tag] + 1
    return {"text": list(whole.ids), "first": len(whole.ids), "tags": tags}


def read_asked(
    path: Path, data: DataSection, report: Report, own: AnswerSection
) -> Iterator[Labelled]:
    """The questions of a file, as the recipe says."""
    names = (data.text, data.pair, data.label)
    return read_questions(path, report, names, own.leave_out, own.no_answer)


def window_rows(
    tokenizer: PublishedTokenizer, row: Labelled, limit: int, stride: int
) -> list[StoreRow]:
    """The windows of a question, of its first right answer."""
    windows, _ = tokenizer.encode_windows(row.text, row.pair or "", limit, stride)
    spans = spans_of(row)
    rows = list[StoreRow]()
    for window in windows:
        begin, end = places_of(window, spans[0]) if spans else (0, 0)
        segments, places = window.text.segments, window.places
        rows.append(
            {
                "text": list(window.text.ids),
                "first": len(segments) - sum(map(bool, segments)),
                "begin": begin,
                "end": end,
                "context": places.start,
                "beyond": places.stop,
            }
        )
    return rows


def places_of(window: ContextWindow, span: Span) -> tuple[int, int]:
    """The first and the last token of an answer; (0, 0) where the window does not hold all of it.

    A token belongs to it if it has one of its characters.
    """
    inside = [
        place
        for place in window.places
        if (at := window.offsets[place]) and at[0] < span.end and span.start < at[1]
    ]
    if not inside:
        return 0, 0
    first, last = window.offsets[inside[0]], window.offsets[inside[-1]]
    assert first is not None and last is not None
    whole = first[0] <= span.start and span.end <= last[1]
    return (inside[0], inside[-1]) if whole else (0, 0)
