"""Verdicts by a rule that is written before the run: conditions on what each seed has measured.

    holds            every condition in every seed
    does not hold    some condition in no seed
    not decided      the rest: the seeds do not agree, or one of them is missing

A condition is a number made of the measures of one seed, and the bounds it should lie in. So a rule
is data, and a test can feed it with measures where the claim is wrong.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["holds", "does not hold", "not decided"]
Measured = Mapping[str, Mapping[str, float]]  # of one seed: variant → measure → number
ValueOf = Callable[[Measured], float]


@dataclass(frozen=True)
class Condition:
    """least ≤ value ≤ most; a value that is no number is outside."""

    says: str
    value: ValueOf
    least: float = -math.inf
    most: float = math.inf

    def holds(self, measured: Measured) -> bool:
        return self.least <= self.value(measured) <= self.most


def decide(conditions: Sequence[Condition], seeds: Sequence[Measured]) -> Verdict:
    """The verdict of all conditions over all seeds."""
    held = [[condition.holds(measured) for measured in seeds] for condition in conditions]
    if not seeds:
        return "not decided"
    if any(not any(row) for row in held):
        return "does not hold"
    return "holds" if all(map(all, held)) else "not decided"


def number(variant: str, measure: str) -> ValueOf:
    """One measure of one variant."""
    return lambda measured: measured[variant][measure]


def difference(measure: str, one: str, other: str) -> ValueOf:
    """That of the first variant minus that of the second."""
    return lambda measured: measured[one][measure] - measured[other][measure]


def ratio(measure: str, one: str, other: str) -> ValueOf:
    """That of the first variant divided by that of the second; without a second number, NaN."""
    return lambda measured: _quotient(measured[one][measure], measured[other][measure])


def _quotient(one: float, other: float) -> float:
    return one / other if other else math.nan


def exponent(measure: str, sizes: Mapping[float, str]) -> ValueOf:
    """p of measure ∝ sizeᵖ: the slope of a straight line through the logarithms.

    `sizes` says which variant was measured at which size.
    """

    def slope(measured: Measured) -> float:
        points = [
            (math.log(size), math.log(max(measured[variant][measure], 1e-300)))
            for size, variant in sizes.items()
        ]
        x, y = (sum(axis) / len(points) for axis in zip(*points, strict=True))
        rise = math.fsum((a - x) * (b - y) for a, b in points)
        return rise / math.fsum((a - x) ** 2 for a, _ in points)

    return slope
