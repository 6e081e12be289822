"""A goal and what was reached: ratios of medians, with their range over the rounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Verdict:
    """A goal with what was reached."""

    goal: str
    bound: str
    reached: str
    holds: bool | None  # None: one of the two did not run


def ratio(
    goal: str,
    ours: Sequence[float],
    theirs: Sequence[Sequence[float]],
    bound: float,
    at_least: bool = True,
) -> Verdict:
    """`ours` against the best of `theirs`, one number for each round.

    `at_least`: more is better and the ratio should reach the bound; else it should not pass it.
    """
    limit = f"{'≥' if at_least else '≤'} {bound}×"
    if not ours or not theirs:
        return Verdict(goal, limit, "–", None)
    best = (max if at_least else min)(theirs, key=median)
    reached = median(ours) / median(best)
    by_round = [a / b for a, b in zip(ours, best, strict=True)]
    holds = reached >= bound if at_least else reached <= bound
    spread = f" ({min(by_round):.2f}–{max(by_round):.2f})" if len(by_round) > 1 else ""
    return Verdict(goal, limit, f"{reached:.2f}×{spread}", holds)
