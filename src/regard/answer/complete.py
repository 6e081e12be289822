"""Going on with a text: greedy, drawn or searched, whole or piece by piece as it is made.

Many prompts go to the engine together (decode/batching.py); one that is streamed goes alone, and
comes out the same. A text too long for the model is read from its last tokens on, if a window is
asked for: whenever the window is full its first quarter is dropped, and the rest read again.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from typing import Any

from regard.answer.loaded import LoadedModel
from regard.answer.translate import no_number
from regard.bundle.generation_settings import GenerationSettings
from regard.decode.engine import Continuer, Hypothesis, IsOver
from regard.decode.options import DecodingOptions, Sampling
from regard.errors import MisuseError, nearest
from regard.printable import Advance, unheard
from regard.text.published import PublishedTokenizer

UNFINISHED = "\ufffd"  # how a decoder shows bytes that are no whole character yet


@dataclass(frozen=True)
class Continuation:
    """One continuation; `score` is comparable among those of one prompt."""

    text: str
    score: float
    log_probability: float
    finished: bool  # False: cut off after `max_tokens`, or where the model has no more positions
    ids: tuple[int, ...] = field(repr=False)


def sampling_with(options: Mapping[str, Any], task: str = "complete") -> Sampling:
    """The options of `complete` and `chat`; one that there is not is named."""
    names = vars(Sampling())
    for name in options:
        if name not in names:
            raise MisuseError(task, f"unknown option {name!r}", advice=nearest(name, names))
    return Sampling(**options)


class GrowingText:
    """What follows a prompt, so far: whole characters, and nothing from a stop text on.

    A token may be half a character, and what it looks like may depend on the one before. So a new
    one is decoded together with those that gave the piece before it; what came earlier is settled.
    """

    def __init__(
        self, tokenizer: PublishedTokenizer, prompt: Sequence[int], stops: Sequence[str]
    ) -> None:
        self._tokenizer, self._prompt, self._stops = tokenizer, prompt, stops
        self._context, self._open = self._spoken(prompt), list[int]()
        self._settled = ""  # the text of all tokens but the open ones
        self._shown, self._text = 0, ""
        self.ids: list[int] = []
        self.stopped = False

    def add(self, token: int) -> str:
        """What can be shown with one more token."""
        self.ids.append(token)
        self._open += self._spoken([token])
        before = len(self._decoded(self._context))
        latest = self._decoded([*self._context, *self._open])[before:]
        self._text, self.stopped = self._cut(self._settled + latest)
        if self.stopped:
            return self.rest()
        if latest.endswith(UNFINISHED):
            return ""
        if latest.strip():  # of a space alone a decoder may make nothing
            self._settled, self._context, self._open = self._text, self._open, []
        return self._piece(len(self._text) - held_back(self._text, self._stops))

    def rest(self) -> str:
        """What was held back, at the end."""
        return self._piece(len(self._text))

    def of(self, ids: Sequence[int]) -> tuple[str, bool]:
        """The text of an output, and whether it is cut before a stop text."""
        prompt, before = self._begun
        return self._cut(self._decoded([*prompt, *self._spoken(ids)])[before:])

    @cached_property
    def _begun(self) -> tuple[list[int], int]:
        """The prompt's ids that have a text, and how long that is."""
        ids = self._spoken(self._prompt)
        return ids, len(self._decoded(ids))

    def _cut(self, text: str) -> tuple[str, bool]:
        places = [text.find(stop) for stop in self._stops if stop in text]
        return (text[: min(places)], True) if places else (text, False)

    def _spoken(self, ids: Sequence[int]) -> list[int]:
        """Rows of the model's table beyond the vocabulary have no text."""
        return [i for i in ids if i < self._tokenizer.size]

    def _decoded(self, ids: Sequence[int]) -> str:
        return self._tokenizer.decode(ids)

    def _piece(self, end: int) -> str:
        piece = self._text[self._shown : end]
        self._shown += len(piece)
        return piece


def held_back(text: str, stops: Sequence[str]) -> int:
    """How many characters at the end of a text may be the beginning of a stop text.

    >>> held_back("one two", ["wonder", "o three"])
    1
    """
    longest = max(map(len, stops), default=1) - 1
    lengths = range(min(longest, len(text)), 0, -1)
    return next((n for n in lengths if any(s.startswith(text[-n:]) for s in stops)), 0)


class Completer:
    """Goes on with texts, as the options say, by whichever engine offers them."""

    def __init__(self, model: LoadedModel, sampling: Sampling) -> None:
        self._model, self.sampling = model, sampling
        self._tokenizer, self._settings = model.tokenizer_for("complete"), model.bundle.settings

    def stream(self, prompt: str) -> Iterator[str]:
        """Pieces of text that follow the prompt; a beam search knows its text at the end only."""
        if self.sampling.n > 1:
            raise MisuseError("stream: n: one text can be streamed; `completions` gives several")
        return self.stream_row(self.row(prompt))

    def stream_row(self, row: Sequence[int], ends: Collection[int] = ()) -> Iterator[str]:
        """The same after a prompt's ids; `ends` are ids that end it besides the model's own."""
        if self.decoding(row).beam > 1:
            if ends:
                raise MisuseError("beam: expected 1 where other tokens than the model's own end it")
            yield self.rows_searched([row])[0][0].text
            return
        text = GrowingText(self._tokenizer, row, self.sampling.stops)
        for token in self.tokens(row):
            if token in ends:
                break
            piece = text.add(token)
            if piece:
                yield piece
            if text.stopped:
                return
        if piece := text.rest():
            yield piece

    def text_after(self, row: Sequence[int], ids: Sequence[int]) -> str:
        """The text of ids that follow a row, up to a stop text."""
        return GrowingText(self._tokenizer, row, self.sampling.stops).of(ids)[0]

    def completions(
        self, prompts: Sequence[str], advance: Advance = unheard
    ) -> list[list[Continuation]]:
        """`n` continuations of each prompt: in the order of drawing, or best first."""
        rows = [self.row(text, number, len(prompts)) for number, text in enumerate(prompts)]
        together = [i for i, row in enumerate(rows) if not self._slides(row)]
        answers = dict(zip(together, self.rows_searched([rows[i] for i in together]), strict=True))
        advance(len(together))
        for i, row in enumerate(rows):
            if i not in answers:
                answers[i] = [self._slid(row, draw) for draw in range(self.sampling.n)]
                advance(1)
        return [answers[i] for i in range(len(rows))]

    def row(self, prompt: str, number: int = 0, count: int = 1) -> list[int]:
        """The ids of a prompt, which leave room to go on; an empty one starts from <s>."""
        which = "the prompt" if count == 1 else f"prompt {number + 1:,} of {count:,}"
        if not isinstance(prompt, str):
            raise MisuseError("complete", got=type(prompt), expected="a text")
        ids = list(self._tokenizer.encode(prompt).ids)
        if not ids and self._settings.bos is not None:
            ids = [self._settings.bos]
        if not ids:
            raise MisuseError("complete", f"{which} is empty", advice="give a text to go on with")
        most = self.room
        if most is not None and len(ids) >= most and not self.sampling.window:
            raise MisuseError(
                f"complete: {which} has {len(ids):,} tokens, this model reads {most:,}, so 0 are "
                "left to go on; shorten it, or let a window slide over it (--window, window=True)"
            )
        return ids

    @property
    def room(self) -> int | None:
        """The most tokens of a prompt and what follows it; None: positions have no end."""
        bundle = self._model.bundle
        return bundle.spec.position_limit if bundle.is_run else bundle.limit

    def _slides(self, row: Sequence[int]) -> bool:
        return self.sampling.window and len(row) + self.sampling.max_tokens > self._window

    @property
    def _window(self) -> int:
        return self._model.spec.max_length if self.room is None else self.room

    def decoding(self, row: Sequence[int]) -> DecodingOptions:
        """How this row is gone on with."""
        return decoding_after(len(row), self._settings, self.sampling)

    def engine(self, decoding: DecodingOptions, rows: Sequence[Sequence[int]]) -> Continuer:
        """The one that offers these options after these rows."""
        longest = max(map(len, rows), default=0)
        engine = self._model.engines.take(decoding, length=longest + decoding.limit(longest))
        assert isinstance(engine, Continuer), f"{engine.name} does not go on with texts"
        return engine

    def rows_searched(
        self, rows: Sequence[Sequence[int]], ends: Collection[int] = ()
    ) -> list[list[Continuation]]:
        """The continuations of rows that fit, those with the same options together.

        `ends` are ids that end them besides the model's own, as in `stream_row`.
        """
        groups: dict[DecodingOptions, list[int]] = {}
        for i, row in enumerate(rows):
            groups.setdefault(self.decoding(row), []).append(i)
        answers: dict[int, list[Continuation]] = {}
        for decoding, numbers in groups.items():
            stops = self.sampling.stops
            texts = [GrowingText(self._tokenizer, rows[i], stops) for i in numbers]
            some = [rows[i] for i in numbers]
            is_over = _ends_early(texts, stops, ends)
            outputs = self.engine(decoding, some).submit(some, decoding, is_over=is_over)()
            for i, text, hypotheses in zip(numbers, texts, outputs, strict=True):
                if not hypotheses or any(math.isnan(h.score) for h in hypotheses):
                    raise no_number(i + 1)
                answers[i] = [_completion(text, h, ends) for h in hypotheses]
        return [answers[i] for i in range(len(rows))]

    def tokens(self, row: Sequence[int], draw: int = 0) -> Iterator[int]:
        """Token by token; where the window is full, it slides."""
        context, left = list(row), self.sampling.max_tokens
        decoding = self.decoding(row)
        while True:
            if self.sampling.window and len(context) >= self._window:
                context = context[max(1, self._window // 4) - self._window :]
            room = self._window - len(context) if self.sampling.window else left
            most = min(left, room)
            least = min(decoding.min_length, most - 1)
            decoding = replace(decoding, max_length=most, min_length=least)
            count = 0
            for token in self.engine(decoding, [context]).stream(context, decoding, draw):
                yield token
                context.append(token)
                count += 1
            left -= count
            if count < most or not left or not self.sampling.window:
                return
            decoding = replace(decoding, min_length=max(0, decoding.min_length - count))

    def _slid(self, row: Sequence[int], draw: int) -> Continuation:
        """A continuation that is longer than what the model reads at once; it has no score."""
        if self.decoding(row).beam > 1:
            raise MisuseError("window", "a beam search does not slide", advice="give beam 1")
        text = GrowingText(self._tokenizer, row, self.sampling.stops)
        for token in self.tokens(row, draw):
            text.add(token)
            if text.stopped:
                break
        finished = text.stopped or len(text.ids) < self.sampling.max_tokens
        return Continuation(text.of(text.ids)[0], math.nan, math.nan, finished, tuple(text.ids))


def _ends_early(
    texts: Sequence[GrowingText], stops: Sequence[str], ends: Collection[int]
) -> IsOver | None:
    """Whether an output is over, by its number and ids so far; None: where the model ends it."""
    if not stops:
        return (lambda _, ids: ids[-1] in ends) if ends else None
    return lambda number, ids: ids[-1] in ends or texts[number].of(ids)[1]


def _completion(text: GrowingText, hypothesis: Hypothesis, ends: Collection[int]) -> Continuation:
    ids = tuple(takewhile(lambda token: token not in ends, hypothesis.ids))
    words, stopped = text.of(ids)
    return Continuation(
        words,
        hypothesis.score,
        hypothesis.log_probability,
        hypothesis.finished or stopped or len(ids) < len(hypothesis.ids),
        ids,
    )


def decoding_after(
    length: int, settings: GenerationSettings, sampling: Sampling
) -> DecodingOptions:
    """The folder's search for a prompt of so many tokens, with what was chosen."""
    search, published = settings.search, settings.search.convention == "transformers"
    draws = sampling.temperature > 0
    searched = published and not draws  # the beam of a run is for translations
    beam = sampling.beam or (search.beam if searched else 1)
    # Published settings count the prompt too; one token of it is taken off already.
    least = search.min_length + 1 - length if published else search.min_length
    least = max(0, min(least, sampling.max_tokens - 1))
    return DecodingOptions(
        beam if draws else max(beam, sampling.n),
        search.alpha,
        search.length_norm,
        search.stop,
        search.convention,
        max_length=sampling.max_tokens,
        n_best=sampling.n,
        min_length=least,
        no_repeat_ngram=search.no_repeat_ngram,
        repetition_penalty=search.repetition_penalty,
        temperature=sampling.temperature,
        top_k=sampling.top_k,
        top_p=sampling.top_p,
        seed=sampling.seed,
    )
