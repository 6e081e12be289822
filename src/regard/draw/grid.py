"""What every heat map draws: weights and labels go in, one checked, immutable grid comes out.

A grid is always a stack of panels (panels × rows × columns); a single map becomes a stack of one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from regard.draw.labels import visible

ROWS_IN_WORDS = 60


@dataclass(frozen=True)
class Grid:
    """Checked weights with labels that are safe to show; `maximum` is the end of the scale."""

    weights: Float[np.ndarray, "panels rows columns"]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    maximum: float

    @property
    def cells(self) -> int:
        """How many cells one panel has."""
        return len(self.rows) * len(self.columns)

    def at(self, panel: int, row: int, column: int) -> tuple[float, float]:
        """A weight and its place on the scale, in [0, 1]; NaN where there is no value."""
        value = float(self.weights[panel, row, column])
        place = min(1.0, max(0.0, value / self.maximum))
        return value, value if math.isnan(value) else place


def make_grid(
    weights: Float[np.ndarray, "*panels rows columns"],
    rows: Sequence[str],
    columns: Sequence[str],
    maximum: float | int | None = 1.0,
) -> Grid:
    """Check shapes against labels; `maximum=None` takes the largest weight there is."""
    stack = np.asarray(weights, dtype=np.float64)
    stack = stack[None] if stack.ndim == 2 else stack
    if stack.ndim != 3 or stack.shape[1:] != (len(rows), len(columns)) or stack.size == 0:
        raise ValueError(
            f"heat map: got weights of shape {np.shape(weights)} for {len(rows)} row labels and "
            f"{len(columns)} column labels; expected (panels, rows, columns), none of them 0"
        )
    if maximum is None:
        finite = stack[np.isfinite(stack)]
        largest = float(finite.max()) if finite.size else 0.0
        maximum = largest if largest > 0 else 1.0
    if not (math.isfinite(maximum) and maximum > 0):
        raise ValueError(
            f"heat map: got maximum {maximum}; expected a positive number, or None for the "
            "largest weight"
        )
    shown_rows = tuple(visible(label) for label in rows)
    return Grid(stack, shown_rows, tuple(visible(label) for label in columns), float(maximum))


def strongest(
    weights: Float[np.ndarray, "rows columns"], rows: Sequence[str], columns: Sequence[str]
) -> list[str]:
    """A map for readers who do not see it: the strongest column of each row."""
    words = []
    for name, values in list(zip(rows, weights, strict=True))[:ROWS_IN_WORDS]:
        if np.isfinite(values).any():
            best = int(np.nanargmax(values))
            words.append(f"{name}: mostly {columns[best]} ({values[best]:.3f})")
    return words


def told(value: float | int) -> str:
    """A weight in full, for a tooltip."""
    return "no value" if math.isnan(value) else f"{value:.3f}"


def number(value: float | int) -> str:
    """A weight in the fewest characters that still say two digits: .07, .5 as .50, 1, 12."""
    if math.isnan(value):
        return "–"
    if abs(value) >= 9.95:
        return f"{value:.0f}"
    text = f"{value:.2f}"
    if float(text) == int(float(text)):
        return str(int(float(text)))
    return text.replace("0.", ".", 1) if abs(value) < 1 else text
