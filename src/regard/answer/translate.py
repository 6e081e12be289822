"""Text → text: split, encode, search, decode, join; one answer for each line, in order.

A line is a paragraph: it is split into sentences, each is translated, and the translations are
joined with the whitespace that stood between their sources. Sentences go to the engine in chunks,
longest first; while one chunk is searched the next is encoded and the last one decoded. A sentence
that occurs again is searched once, unless outputs are drawn. Nothing here imports torch.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from regard.bundle.codec import Codec
from regard.decode.engine import Engine, Hypothesis, Pending, Row
from regard.decode.options import DecodingOptions
from regard.errors import CheckpointError, DataError, MisuseError, RegardError, nearest
from regard.printable import Advance, counted, unheard
from regard.text.sentences import split_sentences

CHUNK = 512  # sentences that are handed to the engine together

# Which engine offers these options, with prefixes or without.
TakeEngine = Callable[[DecodingOptions, bool], Engine]


@dataclass(frozen=True)
class Translation:
    """One answer; `score` is comparable among the answers to one line.

    log_probability and score of a paragraph are the sums over its sentences.
    """

    text: str
    score: float
    log_probability: float
    finished: bool  # False: cut off at the length limit
    ids: tuple[int, ...] = field(repr=False)


EMPTY = Translation("", 0.0, 0.0, True, ())


@dataclass(frozen=True)
class Reading:
    """The options beside those of decoding: how a line is read."""

    split: bool = True  # False: a line is handed to the model as it is
    language: str = "en"  # whose abbreviations and full stops
    prefix: str | Sequence[str] = ""  # what each output begins with; then no line is split


@dataclass(frozen=True)
class Sentence:
    """One thing to search, and where it was first asked for."""

    text: str
    prefix: str
    line: int


@dataclass(frozen=True)
class TranslationPlan:
    """The sentences of some lines, each once, and how their answers become lines again."""

    decoding: DecodingOptions
    splits: bool
    lines: list[list[str]]  # whitespace, sentence, whitespace, …
    keys: list[list[object]]  # of the sentences of each line
    sentences: dict[object, Sentence]

    @property
    def prefixed(self) -> bool:
        """Whether an output must begin in some way."""
        return any(sentence.prefix for sentence in self.sentences.values())

    def line(self, number: int, answers: Mapping[object, list[Translation]]) -> list[Translation]:
        """The answers to one line, of which all sentences are answered."""
        row = self.keys[number]
        if not row:
            return [EMPTY]
        return joined(self.lines[number], [answers[key] for key in row], self.decoding)

    def joined(self, answers: Mapping[object, list[Translation]]) -> list[list[Translation]]:
        """The answers to each line."""
        return [self.line(number, answers) for number in range(len(self.lines))]


def decoding_with(decoding: DecodingOptions, task: str, **options: Any) -> DecodingOptions:
    """The decoding options with some of them changed; the beam follows where it is not given."""
    for name in options:
        if name not in vars(decoding):
            names = [*vars(decoding), *vars(Reading())]
            raise MisuseError(task, f"unknown option {name!r}", advice=nearest(name, names))
    if "beam" not in options:
        if options.get("temperature", decoding.temperature) > 0:
            options = {**options, "beam": 1}  # a draw has no beam
        elif "n_best" in options:
            options = {**options, "beam": max(decoding.beam, options["n_best"])}
    return replace(decoding, **options)


def options_with(
    decoding: DecodingOptions, task: str, options: dict[str, Any]
) -> tuple[DecodingOptions, Reading]:
    """All options of a translation: those of decoding, and how a line is read."""
    names = {each.name for each in fields(Reading)}
    reading = Reading(**{name: value for name, value in options.items() if name in names})
    others = {name: value for name, value in options.items() if name not in names}
    return decoding_with(decoding, task, **others), reading


class Translator:
    """Translates lines with whichever engine `take` gives for the options asked for."""

    def __init__(
        self, codec: Codec, decoding: DecodingOptions, limit: int | None, take: TakeEngine
    ) -> None:
        self.codec, self.decoding, self.limit, self.take = codec, decoding, limit, take

    def translations(
        self,
        texts: Sequence[str],
        task: str = "translate",
        advance: Advance = unheard,
        first_line: int = 1,
        **options: Any,
    ) -> list[list[Translation]]:
        """The best translations of each line, at most `n_best`, best first; blank stays blank."""
        plan = self.plan(texts, task, first_line, **options)
        counter = _counter(plan.keys, plan.sentences, advance)
        return plan.joined(self._answers_to(plan, counter))

    def plan(
        self, texts: Sequence[str], task: str = "translate", first_line: int = 1, **options: Any
    ) -> "TranslationPlan":
        """What has to be searched for these lines, and how; nothing is searched yet."""
        decoding, reading = options_with(self.decoding, task, options)
        prefixes = self._prefixes(texts, reading)
        splits = reading.split and not any(prefixes)
        # whitespace, sentence, whitespace, …
        lines = [_parts(text, splits, reading.language) for text in texts]
        sentences: dict[object, Sentence] = {}
        keys: list[list[object]] = []  # of the sentences of each line
        for number, (parts, prefix) in enumerate(zip(lines, prefixes, strict=True)):
            keys.append([])
            for place, text in enumerate(parts[1::2]):
                key = (number, place) if decoding.draws else (text, prefix)
                sentences.setdefault(key, Sentence(text, prefix, first_line + number))
                keys[-1].append(key)
        return TranslationPlan(decoding, splits, lines, keys, sentences)

    def _prefixes(self, texts: Sequence[str], reading: Reading) -> list[str]:
        if isinstance(reading.prefix, str):
            return [reading.prefix] * len(texts)
        if len(reading.prefix) != len(texts):
            problem = f"got {len(reading.prefix)} for {counted(len(texts), 'text')}"
            raise MisuseError("prefix", problem, advice="give one for all of them, or one for each")
        return list(reading.prefix)

    def _answers_to(
        self, plan: "TranslationPlan", advance: Callable[[Iterable[object]], None]
    ) -> dict[object, list[Translation]]:
        """The answers to each sentence."""
        sentences, decoding = plan.sentences, plan.decoding
        if not sentences:
            return {}
        engine = self.take(decoding, plan.prefixed)
        # Long ones first: the short ones then fill the time until the last is done.
        order = list(sentences)
        if not decoding.draws:
            order.sort(key=lambda key: -len(sentences[key].text))
        answers: dict[object, list[Translation]] = {}
        for keys, hypotheses in self._searched(engine, order, plan):
            chunk = [sentences[key] for key in keys]
            answers |= zip(keys, self.translated(chunk, hypotheses), strict=True)
            advance(keys)
        return answers

    def translated(
        self, sentences: Sequence[Sentence], outputs: Sequence[Sequence[Hypothesis]]
    ) -> list[list[Translation]]:
        """Ids → texts: the answers to each of these sentences."""
        texts = iter(self.codec.decode([h.ids for row in outputs for h in row]))
        answers = []
        for sentence, row in zip(sentences, outputs, strict=True):
            if not row or any(math.isnan(h.score) for h in row):
                raise no_number(sentence.line)
            answers.append(
                [
                    Translation(next(texts), h.score, h.log_probability, h.finished, h.ids)
                    for h in row
                ]
            )
        return answers

    def _searched(
        self, engine: Engine, order: list[object], plan: "TranslationPlan"
    ) -> Iterator[tuple[list[object], list[list[Hypothesis]]]]:
        """Chunks as they are done; one more than the engine works on is always waiting."""
        waiting: deque[tuple[list[object], Pending]] = deque()
        for first in range(0, len(order), CHUNK):
            keys = order[first : first + CHUNK]
            chunk = [plan.sentences[key] for key in keys]
            rows, forced = self.rows(chunk, plan.splits), self.forced(chunk)
            waiting.append((keys, engine.submit(rows, plan.decoding, forced)))
            if len(waiting) > 1:
                done, pending = waiting.popleft()
                yield done, pending()
        for done, pending in waiting:
            yield done, pending()

    def rows(self, sentences: Sequence[Sentence], splits: bool = True) -> list[list[int]]:
        """Ids of sentences; one that the model cannot hold, or that is no text, is named."""
        try:
            rows = self.codec.encode([sentence.text for sentence in sentences])
        except RegardError:
            for sentence in sentences:  # which of them?
                try:
                    self.codec.encode([sentence.text])
                except RegardError as error:
                    raise DataError(f"line {sentence.line}: {error}") from None
            raise
        for sentence, row in zip(sentences, rows, strict=True):
            if self.limit is not None and len(row) > self.limit:
                told = "" if splits else ", or let the line be split into sentences"
                raise DataError(
                    f"line {sentence.line}: a sentence of {len(row):,} tokens, this model reads at "
                    f"most {self.limit:,} (end token included); divide it{told}"
                )
        return rows

    def forced(self, sentences: Sequence[Sentence]) -> list[Row]:
        """What each output begins with, as ids; nothing at all where no sentence has a prefix."""
        if not any(sentence.prefix for sentence in sentences):
            return []
        ids_of = {text: self.codec.encode_target(text) for text in {s.prefix for s in sentences}}
        return [ids_of[sentence.prefix] if sentence.prefix else [] for sentence in sentences]


def no_number(line: int) -> CheckpointError:
    """The error of an answer whose score is NaN: the words that come with it mean nothing."""
    return CheckpointError(
        f"line {line}: the score of the answer is NaN, which is no number: the model's weights are "
        "damaged or its numbers overflow; try --engine torch, and `regard doctor` on the model"
    )


def sentences_of(texts: Sequence[str], reading: Reading) -> list[Sentence]:
    """Every sentence of the lines, repeated ones too."""
    return [
        Sentence(sentence, "", number)
        for number, text in enumerate(texts, start=1)
        for sentence in _parts(text, reading.split, reading.language)[1::2]
    ]


def _parts(text: str, splits: bool, language: str) -> list[str]:
    if not text.strip():
        return [text]
    return split_sentences(text, language) if splits else ["", text, ""]


def _counter(
    keys: list[list[object]], sentences: dict[object, Sentence], advance: Advance
) -> Callable[[Iterable[object]], None]:
    """Turns sentences that are done into lines that are done."""
    lines_of: dict[object, list[int]] = {key: [] for key in sentences}
    missing = []
    for number, row in enumerate(keys):
        missing.append(len(row))
        for key in row:
            lines_of[key].append(number)
    advance(missing.count(0))

    def done(finished: Iterable[object]) -> None:
        count = 0
        for key in finished:
            for number in lines_of[key]:
                missing[number] -= 1
                count += missing[number] == 0
        advance(count)

    return done


def joined(
    parts: Sequence[str], answers_of: Sequence[Sequence[Translation]], decoding: DecodingOptions
) -> list[Translation]:
    """The best combinations of the sentences' answers, with the line's own whitespace.

    The best n sums of the first k sentences are among the sums of the best n of the first k - 1
    with the answers to the k-th: a list of n is enough at every step.
    """
    Chain = tuple[Any, Translation]  # the chain before it, and the last answer
    chains: list[tuple[float, bool, Chain | None]] = [(0.0, True, None)]
    for answers in answers_of:
        longer = [
            (score + answer.score, finished and answer.finished, (chain, answer))
            for score, finished, chain in chains
            for answer in answers
        ]
        if len(answers_of) > 1:  # else the engine's own order stands
            longer.sort(key=lambda each: (decoding.by_score or each[1], each[0]), reverse=True)
        chains = list(longer[: decoding.n_best])
    results = [_whole(parts, chain, score) for score, _, chain in chains]
    if decoding.draws:
        return results
    distinct: dict[str, Translation] = {}
    for answer in results:  # of equal texts the best, at its place
        distinct.setdefault(answer.text, answer)
    return list(distinct.values())


def _whole(parts: Sequence[str], chain: Any, score: float) -> Translation:
    """One combination as one answer."""
    answers: list[Translation] = []
    while chain is not None:
        chain, answer = chain
        answers.append(answer)
    answers.reverse()
    spaced = [
        text for a, space in zip(answers, parts[2::2], strict=True) for text in (a.text, space)
    ]
    return Translation(
        "".join([parts[0], *spaced]),
        score,
        sum(answer.log_probability for answer in answers),
        all(answer.finished for answer in answers),
        tuple(i for answer in answers for i in answer.ids),
    )
