"""An output with its score, and the order of several."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Hypothesis:
    """Output ids without start and end token; `score` is log p divided by the length norm."""

    ids: tuple[int, ...]
    log_probability: float
    score: float
    finished: bool  # False: cut off at the length limit


def best_first(hypotheses: Iterable[Hypothesis], by_score: bool = False) -> list[Hypothesis]:
    """In the order of an answer: those that are finished, then by score; or by score alone."""
    return sorted(hypotheses, key=lambda h: (by_score or h.finished, h.score), reverse=True)
