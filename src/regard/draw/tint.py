"""Colours for signed numbers: a value and the largest magnitude go in, a level from −9 to 9 out.

One hue for positive numbers, one for negative, none for zero; the two are told apart by every kind
of colour vision (blue and orange). A level is how strongly the hue is laid over the page.
"""

import math

import numpy as np
from jaxtyping import Real

from regard.draw import palette

LEVELS = 9
STRONGEST = 0.5  # share of the hue at the last level: the number on it stays readable
PLUS = {False: "#2b93bd", True: "#2f86ad"}  # by whether the page is dark
MINUS = {False: "#e8743b", True: "#b9561f"}


def largest(values: Real[np.ndarray, "..."]) -> float:
    """The greatest magnitude among the finite numbers: the end of a matrix's own scale.

    Integers are names (ids, positions), not amounts: 0 leaves them without a tint.
    """
    if np.issubdtype(values.dtype, np.integer):
        return 0.0
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max()) if finite.size else 0.0


def level(value: float | int, end: float | int) -> int:
    """How strong the tint of `value` is: 0 for nothing, ±9 for `end` and beyond."""
    if math.isnan(value) or math.isinf(value) or end <= 0:
        return 0
    return round(max(-1.0, min(1.0, value / end)) * LEVELS)


def tint(step: int, *, dark: bool = False) -> str:
    """The colour "#rrggbb" of a level on the light or the dark page."""
    page = palette.DARK.surface if dark else palette.LIGHT.surface
    hue = (PLUS if step > 0 else MINUS)[dark]
    return palette.mixed(page, hue, abs(step) / LEVELS * STRONGEST)
