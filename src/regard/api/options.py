"""The options of methods that make text, as an editor completes them and mypy checks them.

They are the fields of `DecodingOptions`, `Reading` and `Sampling` without their defaults (what is
not given is as the model's own folder says), and the arguments of api/evaluation.py.
tests/api/test_options.py compares the names.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, TypeVar

from regard.decode.options import Convention, LengthNorm, Stop

F = TypeVar("F", bound=Callable[..., Any])


class SearchOptions(TypedDict, total=False):
    """How outputs are searched or drawn: `generate`."""

    beam: int  # outputs that are followed at once; 1 is greedy
    alpha: float  # exponent of the length norm
    length_norm: LengthNorm
    stop: Stop
    convention: Convention  # whose rules at the length limit and for penalties
    max_length: int | None  # output tokens; None: source tokens + 50
    n_best: int
    min_length: int
    coverage: float  # β of the coverage penalty
    no_repeat_ngram: int
    repetition_penalty: float
    temperature: float  # above 0: draw each token instead of searching
    top_k: int | None
    top_p: float | None
    seed: int | None
    prefix: str | Sequence[str]  # what each output begins with


class TranslateOptions(SearchOptions, total=False):
    """The same, and how a line is read: `translate`."""

    split: bool  # False: a line is handed to the model as it is
    language: str  # whose abbreviations and full stops


class SamplingOptions(TypedDict, total=False):
    """How a text goes on: `complete`, `completions` and `stream`."""

    temperature: float  # 0: the likeliest token each time
    top_k: int | None
    top_p: float | None
    seed: int | None
    max_tokens: int
    beam: int | None  # above 1: search; None: as the folder says
    n: int  # continuations of each: so many draws, or the best of a beam
    stop_text: str | Sequence[str]  # the text ends before the first of these
    window: bool  # a text that is too long is read from its last tokens on


class EvaluateOptions(TypedDict, total=False):
    """How a model is measured: `evaluate`."""

    columns: Mapping[str, str] | None  # of a table, by role: source, target, text, pair, label
    tokenize: str  # how BLEU finds words: sacreBLEU's name
    lowercase: bool
    metric: str  # "bleu", or "rouge" of summaries; "auto": by what the run learned from
    length: str | int | None  # of summaries, about: words, or "1 sentence"
    beam: int | None
    alpha: float | None


def completes(options: type) -> Callable[[F], F]:
    """Lets notebooks complete the names behind `**options`, as editors do by their types."""

    def named(method: F) -> F:
        signature = inspect.signature(method)
        kept = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=..., annotation=kind)
            for name, kind in options.__annotations__.items()
        ]
        vars(method)["__signature__"] = signature.replace(parameters=[*kept, *more])
        return method

    return named
