"""A finished translation as ids with its score, and how scores are made comparable over lengths."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from regard.errors import ConfigError

LengthNorm = Literal["paper", "power"]
Stop = Literal["exact", "first-k", "likely"]

# n counts the output tokens with the end token.
LENGTH_NORMS: dict[str, Callable[[int, float], float]] = {
    "paper": lambda n, alpha: ((5 + n) / 6) ** alpha,  # Wu et al. 2016, as the paper uses it
    "power": lambda n, alpha: float(n**alpha),  # alpha = 1 is the mean log-probability per token
}


@dataclass(frozen=True)
class Hypothesis:
    """Output ids without start and end token; `score` is log p divided by the length norm."""

    ids: tuple[int, ...]
    log_probability: float
    score: float
    finished: bool  # False: cut off at the length limit


@dataclass(frozen=True)
class Search:
    """How to search; the defaults are the paper's (beam 4, α 0.6, input length + 50)."""

    beam: int = 4
    alpha: float = 0.6
    length_norm: LengthNorm = "paper"
    stop: Stop = "exact"
    max_length: int | None = None  # output tokens; None: source tokens + 50
    n_best: int = 1

    def __post_init__(self) -> None:
        for name in ("beam", "n_best", "max_length"):
            value = vars(self)[name]
            if value is not None and value < 1:
                raise ConfigError(f"{name}: got {value}, expected 1 or more")
        if self.n_best > self.beam:
            raise ConfigError(
                f"n_best: {self.n_best} are more than a beam of {self.beam} can hold; "
                f"use a beam of {self.n_best}"
            )
        if not -10 <= self.alpha <= 10:  # NaN fails too
            raise ConfigError(f"alpha: got {self.alpha}, expected a number from -10 to 10")
        for name, choices in (("length_norm", LENGTH_NORMS), ("stop", get_args(Stop))):
            if vars(self)[name] not in choices:
                listed = ", ".join(choices)
                raise ConfigError(f"{name}: got {vars(self)[name]!r}, expected one of {listed}")

    def limit(self, source_length: int, positions: int | None = None) -> int:
        """The most output tokens, end token included; never more than the model has positions."""
        asked = self.max_length if self.max_length is not None else source_length + 50
        return asked if positions is None else min(asked, positions)

    def score(self, log_probability: float, length: int) -> float:
        """log p divided by the length norm of `length` output tokens, the end token counted."""
        return log_probability / LENGTH_NORMS[self.length_norm](length, self.alpha)
