"""Decoding options: how to search or draw, and what a model demands of its outputs besides."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from regard.decode.tree_rule import TreeRule
from regard.errors import ConfigError

LengthNorm = Literal["paper", "power"]
Stop = Literal["exact", "first-k", "likely"]
# In what two searches with the same options may differ:
#
#                              "regard"                          "transformers"
# cut off at the limit         after every finished output       compared by score as those
# penalties and min_length     change the logits, before the     with a beam: change log p, and
#                              softmax                           nothing is shared out again
# tokens already there         those of the output               the start token or prompt too
Convention = Literal["regard", "transformers"]

# n counts the output tokens with the end token.
LENGTH_NORMS: dict[str, Callable[[int, float], float]] = {
    "paper": lambda n, alpha: ((5 + n) / 6) ** alpha,  # Wu et al. 2016, as the paper uses it
    "power": lambda n, alpha: float(n**alpha),  # alpha = 1 is the mean log-probability per token
}

# Far above every use; a beam holds so many outputs of each sentence in memory.
MOST = {"beam": 10_000, "n_best": 10_000, "max_length": 16_000_000, "top_k": 2_000_000}
OPTIONAL = ("max_length", "top_k", "top_p", "seed")  # options that may be None
TINIEST = 1e-30  # of what scores are divided by: smaller, and all of them are infinite
FRACTIONS = ("alpha", "coverage", "repetition_penalty", "temperature", "top_p")  # the rest is whole


@dataclass(frozen=True)
class DecodingOptions:
    """How to search; beam, α and the limit are the paper's.

    `length_norm = "paper"` and `stop = "exact"` are the paper's too; the defaults are what both
    engines offer.
    """

    beam: int = 4
    alpha: float = 0.6
    length_norm: LengthNorm = "power"
    stop: Stop = "first-k"
    convention: Convention = "regard"  # published folders: "transformers"
    max_length: int | None = None  # output tokens; None: source tokens + 50
    n_best: int = 1
    min_length: int = 0  # output tokens before the end token may come
    coverage: float = 0.0  # β of the coverage penalty
    no_repeat_ngram: int = 0  # no n tokens in a row come twice; 0: they may
    repetition_penalty: float = 1.0  # logits of tokens already there: ÷ this if positive, × if not
    temperature: float = 0.0  # above 0: draw each token instead of searching
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None

    @property
    def draws(self) -> bool:
        """Whether tokens are drawn."""
        return self.temperature > 0

    @property
    def by_score(self) -> bool:
        """Whether the score alone orders outputs, those that were cut off too."""
        return self.convention == "transformers" and not self.draws

    @property
    def changes_log_p(self) -> bool:
        """Whether penalties change log p after the softmax, not the logits before it."""
        return self.convention == "transformers" and self.beam > 1

    def __post_init__(self) -> None:
        choices = {
            "length_norm": tuple(LENGTH_NORMS),
            "stop": get_args(Stop),
            "convention": get_args(Convention),
        }
        check_numbers({name: value for name, value in vars(self).items() if name not in choices})
        for name in ("beam", "n_best", "max_length", "top_k"):
            value = vars(self)[name]
            if value is not None and value < 1:
                raise ConfigError(name, got=value, expected="1 or more")
            if value is not None and value > MOST[name]:
                raise ConfigError(name, got=value, expected=f"at most {MOST[name]:,}")
        for name in ("min_length", "no_repeat_ngram", "coverage"):
            if not 0 <= vars(self)[name] < 1e6:  # NaN fails too
                expected = "less than 1,000,000" if vars(self)[name] > 0 else "0 or more"
                raise ConfigError(name, got=vars(self)[name], expected=expected)
        if self.max_length is not None and self.min_length >= self.max_length:
            raise ConfigError(
                "min_length",
                got=self.min_length,
                expected=f"less than max_length {self.max_length}: the end token needs a place",
            )
        if not TINIEST <= self.repetition_penalty <= 100:
            raise ConfigError(
                "repetition_penalty",
                got=self.repetition_penalty,
                expected=f"more than 0 (at least {TINIEST}), at most 100",
            )
        check_draw(self.temperature, top_k=self.top_k, top_p=self.top_p, seed=self.seed)
        if self.draws and self.beam > 1:
            raise ConfigError("beam", got=self.beam, advice="a draw has none, give beam 1")
        if self.draws and self.coverage:
            advice = "a draw compares no outputs, give 0"
            raise ConfigError("coverage", got=self.coverage, advice=advice)
        if self.n_best > self.beam and not self.draws:
            problem = f"{self.n_best} are more than a beam of {self.beam} can hold"
            raise ConfigError("n_best", problem, advice=f"use a beam of {self.n_best}")
        if not -10 <= self.alpha <= 10:  # NaN fails too
            raise ConfigError("alpha", got=self.alpha, expected="a number from -10 to 10")
        for name, words in choices.items():
            if vars(self)[name] not in words:
                listed = ", ".join(words)
                raise ConfigError(name, got=vars(self)[name], expected=f"one of {listed}")

    def limit(self, source_length: int, positions: int | None = None) -> int:
        """The most output tokens, end token included; never more than the model has positions."""
        most = self.max_length if self.max_length is not None else source_length + 50
        return most if positions is None else min(most, positions)

    def score(self, log_probability: float, length: int) -> float:
        """log p divided by the length norm of `length` output tokens, the end token counted."""
        return log_probability / LENGTH_NORMS[self.length_norm](length, self.alpha)


@dataclass(frozen=True)
class Sampling:
    """How to go on with a text: how each next token is chosen, how many, and where to stop."""

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None  # None: another draw each time
    max_tokens: int = 50
    beam: int | None = None  # above 1: search instead of drawing; None: as the folder says
    n: int = 1  # continuations of each text: so many draws, or the best of a beam
    stop_text: str | Sequence[str] = ()  # the text ends before the first of these
    window: bool = False  # a text that is too long is read from its last tokens on

    @property
    def stops(self) -> tuple[str, ...]:
        """The texts to stop before."""
        return (self.stop_text,) if isinstance(self.stop_text, str) else tuple(self.stop_text)

    def __post_init__(self) -> None:
        others = {"stop_text", "window"} | ({"beam"} if self.beam is None else set())
        check_numbers({name: v for name, v in vars(self).items() if name not in others})
        for name in ("top_k", "max_tokens", "beam", "n"):
            value = vars(self)[name]
            if value is not None and value < 1:
                raise ConfigError(name, got=value, expected="1 or more")
        if self.n > MOST["n_best"]:
            raise ConfigError("n", got=self.n, expected=f"at most {MOST['n_best']:,}")
        check_draw(self.temperature, top_k=self.top_k, top_p=self.top_p, seed=self.seed)
        if self.beam is not None and self.beam > 1 and self.temperature > 0:
            raise ConfigError("beam", got=self.beam, advice="a draw has none, give beam 1")
        if self.beam is not None and self.n > self.beam and self.temperature == 0:
            problem = f"{self.n} are more than a beam of {self.beam} can hold"
            advice = f"use a beam of {self.n}, or draw them with a temperature"
            raise ConfigError("n", problem, advice=advice)
        if type(self.window) is not bool:
            raise ConfigError("window", got=self.window, expected="True or False")
        for text in self.stops:
            if not isinstance(text, str) or not text:
                raise ConfigError("stop_text", got=text, expected="a text to stop before")


def check_numbers(options: Mapping[str, object]) -> None:
    """Insist that options are numbers, and whole where they count something."""
    for name, value in options.items():
        if value is None and name in OPTIONAL:
            continue
        kinds = (int, float) if name in FRACTIONS else int
        if isinstance(value, bool) or not isinstance(value, kinds):
            expected = "a number" if name in FRACTIONS else "a whole number"
            raise ConfigError(name, got=value, expected=expected)


def check_draw(
    temperature: float, *, top_k: int | None, top_p: float | None, seed: int | None
) -> None:
    """Insist that the options of a draw are possible, and that there are none without one."""
    if temperature != 0 and not TINIEST <= temperature <= 100:  # NaN fails too
        expected = f"0 to 100 (0, or at least {TINIEST})"
        raise ConfigError("temperature", got=temperature, expected=expected)
    if top_p is not None and not 0 < top_p <= 1:
        raise ConfigError("top_p", got=top_p, expected="more than 0, at most 1")
    if seed is not None and not 0 <= seed < 2**63:
        raise ConfigError("seed", got=seed, expected="0 to 2^63 - 1")
    narrowing = {"top_k": top_k, "top_p": top_p, "seed": seed}
    useless = [name for name, value in narrowing.items() if value is not None]
    if useless and temperature == 0:
        advice = "give a temperature too, for example 0.8"
        raise ConfigError(", ".join(useless), "at temperature 0 nothing is drawn", advice=advice)


@dataclass(frozen=True)
class Rules:
    """What a model's published settings demand of every output, whatever the search is."""

    never: tuple[int, ...] = ()  # ids that are not output
    first: int | None = None  # the id that is output first
    must_end: bool = False  # an output that reaches its limit ends there instead of being cut off
    also_ends: tuple[int, ...] = ()  # ids that end an output beside the end token
    shares_out: bool = False  # the share of what cannot come goes to the rest: p sums to 1
    tree: TreeRule | None = None  # the output is a tree over the words of the source

    def __bool__(self) -> bool:
        """Whether a token is forbidden or forced."""
        forced = self.first is not None or self.must_end or self.tree is not None
        return bool(self.never) or forced


NO_RULES = Rules()
