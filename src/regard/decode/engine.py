"""What an engine is: rows of source ids, or prompts, in, hypotheses out; it knows no text.

torch         the reference: every family, device and option         decode/engines/torch.py
ctranslate2   production on a CPU: int8, fewer options (extra `fast`)  decode/engines/ctranslate2.py

Which of them answers, and in which precision and layout, engines/engines.py chooses.

Nothing here imports torch, so that a translation by the other engine need not wait for it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from regard.decode.options import DecodingOptions
from regard.errors import CheckpointError, DataError


@dataclass(frozen=True)
class Hypothesis:
    """Output ids without start and end token; `score` is log p divided by the length norm."""

    ids: tuple[int, ...]
    log_probability: float
    score: float
    finished: bool  # False: cut off at the length limit


Row = Sequence[int]
SourceNumbers = Row | Sequence[float]  # of a model that reads pictures all numbers of one, in order
Pending = Callable[[], list[list[Hypothesis]]]  # waits; the answers in the order of the sources
IsOver = Callable[[int, Row], bool]  # whether the output for a source, by its number, says enough
NO_END = -1  # an id that no model puts out, for one without an end token


@dataclass(frozen=True)
class Frame:
    """The ids around a text: padding of the source, start and end of the output."""

    pad: int
    start: int
    end: int


@dataclass(frozen=True)
class Layout:
    """How an engine uses the machine: `workers` side by side, each with `threads`."""

    precision: str = "fp32"  # fp32, bf16 or int8
    workers: int = 1
    threads: int = 1
    batch: int = 64  # sentences that a worker decodes at once


@runtime_checkable
class Engine(Protocol):
    """Translates rows of ids, several at once; the model's rules and frame are given to it once."""

    name: str
    layout: Layout

    def submit(
        self, sources: Sequence[Row], decoding: DecodingOptions, prefixes: Sequence[Row] = ()
    ) -> Pending:
        """Begin to search; returns at once.

        A source ends with its end token. `prefixes` has the tokens that each output begins with,
        or is empty.
        """

    def score(self, sources: Sequence[Row], targets: Sequence[Row]) -> list[list[float]]:
        """log p of each token of the targets, the end token last."""

    def close(self) -> None:
        """Give threads and memory back."""


@runtime_checkable
class Continuer(Engine, Protocol):
    """Goes on with prompts: a source is a prompt then, and an output what follows it.

    `score` has the log p of each token of a target behind its prompt, and no end token.
    """

    def submit(
        self,
        sources: Sequence[Row],
        decoding: DecodingOptions,
        prefixes: Sequence[Row] = (),
        is_over: IsOver | None = None,
    ) -> Pending:
        """Begin to search; without a beam, an output ends too where `is_over` says so."""

    def stream(self, prompt: Row, decoding: DecodingOptions, draw: int = 0) -> Iterator[int]:
        """The tokens that follow a prompt as they come, without a beam; the end is not given."""


def check_prefix(prefix: Row, limit: int) -> None:
    """Insist that an output of at most `limit` tokens has room for more than its prefix."""
    if len(prefix) >= limit:
        problem = f"{len(prefix)} tokens, the output may have {limit}"
        raise DataError("prefix", problem, advice="shorten the prefix or raise max_length")


def best_first(hypotheses: Iterable[Hypothesis], by_score: bool = False) -> list[Hypothesis]:
    """In the order of an answer: those that are finished, then by score; or by score alone."""
    return sorted(hypotheses, key=lambda h: (by_score or h.finished, h.score), reverse=True)


def distinct(hypotheses: Iterable[Hypothesis]) -> list[Hypothesis]:
    """Each output once, best first: of several draws for one sentence."""
    return best_first({h.ids: h for h in hypotheses}.values())


def best_of(n_best: Sequence[Hypothesis]) -> Hypothesis:
    """The first output for a sentence; a search finds none at all where every score is NaN."""
    if not n_best:
        raise CheckpointError(
            "no output for a sentence: the model's weights are damaged or its numbers overflow; "
            "`regard doctor` on the model says more"
        )
    return n_best[0]
