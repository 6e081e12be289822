"""Questions with contexts, from a file or from the phrasebook, as rows that training reads.

As ids a row is one window or several: the question, and a part of the context. Beside them are the
places of the answer's first and last token (both 0 where the window does not hold it) and of the
context's.
"""

from collections.abc import Iterator
from pathlib import Path

from regard.data.labelled import Labelled
from regard.data.phrasebook.corpus import Word, phrasebook, words_of_sentences
from regard.data.questions import Span, read_questions, spans_of
from regard.data.report import Report
from regard.data.store import StoreRow
from regard.prepare.phrase_tasks import subject_of
from regard.runs.sections import AnswerSection, DataSection
from regard.text.encoded import ContextWindow
from regard.text.published import PublishedTokenizer


def read_rows(
    path: Path, data: DataSection, report: Report, own: AnswerSection
) -> Iterator[Labelled]:
    """The questions of a file, as the recipe says."""
    names = (data.text, data.pair, data.label)
    return read_questions(path, report, names, own.leave_out, own.no_answer)


def asked_phrases(language: str, split: str) -> Iterator[Labelled]:
    """Questions about the phrasebook's English sentences, each with the word that answers it: what
    a pronoun stands for, what a verb goes with, which word is of a class that only one has."""
    texts = dict.fromkeys(entry.source for entry in phrasebook(language) if entry.split == split)
    by_text, line = words_of_sentences(language), 0
    for text in texts:
        for question, place in _asked(by_text[text]):
            line += 1
            answer = _place_of(text, by_text[text], place)
            yield Labelled(question, text, (str(answer),), line)


def _asked(words: list[Word]) -> Iterator[tuple[str, int]]:
    """Questions, and the number of the word that answers each."""
    texts, kinds = [word.text for word in words], [word.kind for word in words]
    for word in words:
        if texts.count(word.text) > 1:
            continue
        subject = subject_of(words, word)
        if subject is not None and word.text.lower() == "it":
            yield f'What does "{word.text}" stand for?', subject
        elif subject is not None and word.kind == "verb":
            yield f'What does "{word.text}" go with?', subject
    for kind, asked in CLASSES.items():
        if kinds.count(kind) == 1:
            yield asked, kinds.index(kind)


# class of a word → how it is asked for, in sentences that have only one
CLASSES = {"name": "Who or what is named?", "adjective": "What is it like?", "number": "How many?"}


def _place_of(text: str, words: list[Word], number: int) -> Span:
    """Where a word stands; those before it are passed one by one, for words that stand twice."""
    at = 0
    for word in words[:number]:
        at = text.index(word.text, at) + len(word.text)
    return Span(text.index(words[number].text, at), words[number].text)


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
