"""What the sinusoids of section 3.5 look like: a length and a size go in, figures to draw come out.

    PE(p, 2i) = sin(p ω_i),  PE(p, 2i+1) = cos(p ω_i),  ω_i = base^(−2i / d)

    PE(p) · PE(p+k) = Σ_i cos(k ω_i)      since sin a sin b + cos a cos b = cos(a − b):
                                          the product knows the distance k and not the place p

The table is the one the model adds (model/positions.py); everything else is read off it.
"""

import math

from regard.draw.terminal.positions import PositionFigures
from regard.errors import MisuseError

LONGEST, WIDEST, MOST_NUMBERS = 10_000, 4096, 4_000_000


def position_figures(length: int, dim: int, base: float | int = 10_000) -> PositionFigures:
    """The table of `length` positions and what can be seen in it."""
    _check(length, dim, base)
    from regard.model.positions import sinusoids  # here: torch takes seconds, a refusal none

    table = sinusoids(length, dim, base=base).double().numpy()
    return PositionFigures(
        table=table,
        products=table @ table[0],
        deviation=table.std(axis=0),
        wavelengths=tuple(2 * math.pi * base ** (2 * i / dim) for i in range(dim // 2)),
        base=float(base),
    )


def _check(length: int, dim: int, base: float | int) -> None:
    if not 1 <= length <= LONGEST:
        advice = "more cannot be told apart in a picture"
        raise MisuseError("length", got=length, expected=f"1 to {LONGEST} positions", advice=advice)
    if not 2 <= dim <= WIDEST:
        expected = f"an even number from 2 to {WIDEST}"
        advice = "a model of the paper's size has 512"
        raise MisuseError("dim", got=dim, expected=expected, advice=advice)
    if dim % 2:
        expected = "an even number, since each frequency has a sine and a cosine"
        raise MisuseError("dim", got=dim, expected=expected, advice=f"take {dim - 1} or {dim + 1}")
    if length * dim > MOST_NUMBERS:
        problem = f"got {length} × {dim} numbers"
        advice = "make one of the two smaller"
        raise MisuseError(
            "length × dim", problem, expected=f"at most {MOST_NUMBERS:,}", advice=advice
        )
    if not (math.isfinite(base) and base > 1):
        advice = "the paper takes 10000, and with 1 all waves would be the same"
        raise MisuseError("base", got=base, expected="a number above 1", advice=advice)
