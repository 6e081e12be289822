"""A text → a shorter one. The way depends on what the model offers:

    written     an encoder and a decoder (T5, BART, an own run) write the summary
    continued   a decoder goes on after "TL;DR:" (Radford et al. 2019), or answers in a chat
    extracted   a sentence encoder chooses sentences of the text (extract.py)

A text that is too long for the model that writes is cut into windows of whole sentences. Each is
summarised, the summaries are joined, and what they make is summarised again, until it is one
window. Vectors of sentences need no windows.
"""

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from regard.answer.extract import DocumentSentence, sentence_scores, taken
from regard.answer.loaded import LoadedModel
from regard.answer.writing import TextWriter, writer_of
from regard.data.passages import halves
from regard.errors import MisuseError
from regard.printable import Advance, counted, unheard
from regard.text.sentences import split_sentences

ROUNDS = 8  # of windows: a text that hardly becomes shorter is not tried for ever
SHARE, MOST = 5, 5  # extracted: every fifth sentence, at most five, unless a length is given
TOGETHER = 64  # texts that are written together
log = logging.getLogger("regard")


@dataclass(frozen=True)
class Length:
    """About how long a summary is to be."""

    count: int
    unit: Literal["words", "sentences"] = "words"


def read_length(text: str | int | Length) -> Length:
    """Words, or what the text says.

    >>> read_length(30), read_length("2 sentences")
    (Length(count=30, unit='words'), Length(count=2, unit='sentences'))
    """
    if isinstance(text, Length):
        return text
    found = re.fullmatch(r"\s*(\d{1,6})\s*(w|words?|s|sentences?)?\s*", str(text).lower())
    if found is None or not int(found[1]):
        raise MisuseError("length", got=text, expected='words or sentences: 30, "2 sentences"')
    return Length(int(found[1]), "sentences" if (found[2] or "w").startswith("s") else "words")


@dataclass(frozen=True)
class Summary:
    """`sentences` are all of the text with their scores, where some of them were extracted:
    `taken` are the numbers of those."""

    text: str
    way: Literal["written", "continued", "extracted"]
    windows: int = 1
    sentences: tuple[DocumentSentence, ...] = ()
    taken: tuple[int, ...] = ()

    @property
    def lines(self) -> list[int]:
        """Where the sentences that were taken begin."""
        return [self.sentences[number - 1].line for number in self.taken]

    def said(self) -> str:
        """How it came about, for a person."""
        if self.way == "extracted":
            shown = ", ".join(map(str, self.lines))
            lines = "line" if len(self.lines) == 1 else "lines"
            many = counted(len(self.sentences), "sentence")
            return f"{self.way}: {len(self.taken)} of {many}, {lines} {shown}"
        return f"{self.way}, {counted(self.windows, 'window')}"


def numbered_sentences(text: str, language: str = "en") -> list[DocumentSentence]:
    """The sentences of a text with their lines; what has no letter or digit is none."""
    found, line = list[DocumentSentence](), 1
    for number, part in enumerate(split_sentences(text, language)):
        if number % 2 and re.search(r"\w", part):
            found.append(DocumentSentence(" ".join(part.split()), len(found) + 1, line))
        line += part.count("\n")
    return found


def summarize_texts(
    model: LoadedModel,
    texts: Sequence[str],
    length: str | int | Length | None = None,
    language: str = "en",
    advance: Advance = unheard,
    **search: Any,
) -> list[Summary]:
    """The summary of each text; that of a blank one is empty.

    `search` has options of decoding that differ from those of the model.
    """
    wanted = None if length is None else read_length(length)
    writer = writer_of(model, **search)
    if writer is None and "embed" not in model.tasks:
        offered = ", ".join([*model.tasks, "logits"])
        expected = "a model that makes text of text (T5, BART), a decoder or a sentence encoder"
        raise MisuseError("summarize", f"{model.bundle} offers {offered}", expected=expected)
    summaries: list[Summary] = []
    together = 1 if writer is None else TOGETHER
    for first in range(0, len(texts), together):
        part = [numbered_sentences(text, language) for text in texts[first : first + together]]
        if writer is None:
            summaries += [_extracted(model, sentences, wanted) for sentences in part]
        else:
            summaries += _written(writer, part, wanted, language)
        advance(len(part))
    return summaries


def _extracted(
    model: LoadedModel, sentences: list[DocumentSentence], length: Length | None
) -> Summary:
    if not sentences:
        return Summary("", "extracted", 0)
    embedder, budget = model.embedder, model.bundle.longest_text or 512
    tokenizer = model.tokenizer_for("embed")
    windows = cut_windows(
        [one.text for one in sentences], lambda text: len(tokenizer.encode(text).ids), budget
    )
    vectors = embedder([*windows, *(one.text for one in sentences)])
    whole, each = vectors[: len(windows)].mean(axis=0), vectors[len(windows) :]
    scores = sentence_scores(each, whole)
    usual = Length(min(MOST, max(1, round(len(sentences) / SHARE))), "sentences")
    wanted = length or usual

    def enough(chosen: Sequence[int]) -> bool:
        if wanted.unit == "sentences":
            return len(chosen) >= wanted.count
        words = sum(sentences[n].words for n in chosen)
        return words + words / len(chosen) / 2 > wanted.count  # one more would be further away

    places = taken(each, scores, enough)
    log.info("summarize: vectors of %s, the whole from %d windows", len(sentences), len(windows))
    scored = tuple(
        replace(one, score=float(score)) for one, score in zip(sentences, scores, strict=True)
    )
    text = " ".join(sentences[place].text for place in places)
    return Summary(text, "extracted", len(windows), scored, tuple(place + 1 for place in places))


def _written(
    writer: TextWriter, texts: list[list[DocumentSentence]], length: Length | None, language: str
) -> list[Summary]:
    """Round after round, until each text is one window, or does not become shorter."""
    left = {number: [one.text for one in text] for number, text in enumerate(texts) if text}
    bounds = {n: _bounds(writer, sentences, length) for n, sentences in left.items()}
    windows: dict[int, int] = {}
    done = {number: "" for number in range(len(texts))}
    for _ in range(ROUNDS):
        cut = {n: cut_windows(text, writer.count, writer.room) for n, text in left.items()}
        for number, parts in cut.items():
            windows[number] = windows.get(number, 0) + len(parts)
            if len(parts) > 1:
                log.info("summarize: text %d in %d windows", number + 1, len(parts))
        asked = [(bounds[n], part) for n, parts in cut.items() for part in parts]
        answers = iter(_in_bounds(writer, asked))
        joined = {n: " ".join(next(answers) for _ in parts) for n, parts in cut.items()}
        done |= joined
        shorter = {
            n: text
            for n, text in joined.items()
            if len(cut[n]) > 1 and len(text) < sum(map(len, cut[n]))
        }
        again = {n: numbered_sentences(text, language) for n, text in shorter.items()}
        left = {n: [one.text for one in text] for n, text in again.items() if text}
        if not left:
            break
    return [Summary(done[n], writer.way, windows.get(n, 0)) for n in range(len(texts))]


Bounds = tuple[int, int] | None  # fewest and most tokens


def _bounds(writer: TextWriter, sentences: list[str], length: Length | None) -> Bounds:
    """The length as limits of the search, from half to one and a half of it: tokens, as many as
    words of this text have; sentences, as long as those of this text."""
    if length is None:
        return None
    words = max(1, sum(len(text.split()) for text in sentences))
    tokens = sum(writer.count(text) for text in sentences)
    each = tokens / (words if length.unit == "words" else len(sentences))
    return max(0, int(0.5 * each * length.count)), max(2, int(1.5 * each * length.count) + 1)


def _in_bounds(writer: TextWriter, asked: Sequence[tuple[Bounds, str]]) -> list[str]:
    """Those with the same limits are written together."""
    answers: dict[int, str] = {}
    for bounds in dict.fromkeys(limits for limits, _ in asked):
        places = [n for n, (limits, _) in enumerate(asked) if limits == bounds]
        texts = writer.write([asked[n][1] for n in places], bounds)
        answers |= dict(zip(places, texts, strict=True))
    return [" ".join(answers[n].split()) for n in range(len(asked))]


def cut_windows(sentences: Sequence[str], count: Callable[[str], int], budget: int) -> list[str]:
    """As few texts of whole sentences as hold them within the budget; a sentence that is too long
    is cut between words."""
    windows: list[str] = []
    for sentence in sentences:
        for piece in halves(sentence, count, budget):
            # Together they may have more tokens than each by itself: the space belongs to a word.
            longer = f"{windows[-1]} {piece}" if windows else ""
            if longer and count(longer) <= budget:
                windows[-1] = longer
            else:
                windows.append(piece)
    return windows
