"""How the numbers of a worksheet are written: values go in, text comes out, decided here once."""

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Real

DECIMALS = 4
MINUS = "−"  # the sign, not the hyphen: as wide as a digit
LARGEST_WRITTEN_OUT = 1e6


def places(values: Real[np.ndarray, "..."], decimals: int = DECIMALS) -> int:
    """Decimals that a set of numbers is written with: none where all of them are whole."""
    finite = values[np.isfinite(values)]
    return 0 if bool((finite == np.round(finite)).all()) else decimals


def number(value: float | int, decimals: int = DECIMALS) -> str:
    """One number: a real minus, ∞ as a sign, and "0" only for what is exactly 0."""
    if math.isnan(value):
        return "NaN"
    sign = MINUS if value < 0 else ""
    if math.isinf(value):
        return f"{sign}∞"
    if value == 0:
        return "0"
    text = f"{abs(value):.{decimals}f}"
    if abs(value) >= LARGEST_WRITTEN_OUT and decimals:
        text = f"{abs(value):.{decimals}e}"
    return text if float(text) == 0 else sign + text  # no minus before 0.0000


def kept(count: int, limit: int | None) -> list[int | None]:
    """Which of `count` columns are shown: all, or the first and the last with None between."""
    if limit is None or limit <= 0 or count <= limit:
        return list(range(count))
    front = (limit + 1) // 2
    back = limit - front
    return [*range(front), None, *range(count - back, count)]


def vector(
    values: Real[np.ndarray, " columns"],
    decimals: int = DECIMALS,
    limit: int | None = None,
    write: Callable[[float, int], str] = number,
    gap: str = "…",
) -> str:
    """A vector on one line: "(0.8446, 0.5777, …, 0.5777)"."""
    exact = places(values, decimals)
    shown = (
        gap if place is None else write(float(values[place]), exact)
        for place in kept(len(values), limit)
    )
    return f"({', '.join(shown)})"
