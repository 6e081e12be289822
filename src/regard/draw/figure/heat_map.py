"""Heat maps: weights and labels go in, a picture comes out; each cell tells its value."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float

from regard.draw.figure.canvas import (
    MISSING,
    MUTED,
    SMALL_SIZE,
    Colour,
    Picture,
    Rect,
    Text,
    Tip,
    colour_scale,
    ink_on,
    scale,
)
from regard.draw.figure.layout import Plan, plan
from regard.draw.grid import Grid, make_grid, number, strongest, told
from regard.draw.labels import visible

NEXT_TO_NOTHING = 1 / 40  # below this fraction a number steps back, so that the others are seen


def heat_map(
    weights: Float[np.ndarray, "rows columns"],
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    subtitle: str = "",
    *,
    maximum: float | int | None = 1.0,
) -> Picture:
    """One attention map; `maximum=None` ends the colour scale at the largest weight."""
    grid = make_grid(np.asarray(weights)[None], rows, columns, maximum)
    words = f"Heat map of {_size(grid)}"
    told_rows = strongest(grid.weights[0], grid.rows, grid.columns)
    return _picture(grid, plan(grid, title, subtitle), ". ".join([words, *told_rows]) + ".")


def heads(
    weights: Float[np.ndarray, "heads rows columns"],
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    subtitle: str = "",
    *,
    names: Sequence[str] | None = None,
    maximum: float | int | None = 1.0,
) -> Picture:
    """All heads of a layer as small multiples on one scale; `names` default to head 1, head 2, …"""
    grid = make_grid(weights, rows, columns, maximum)
    count = len(grid.weights)
    if names is None:
        names = [f"head {head + 1}" for head in range(count)]
    if len(names) != count:
        raise ValueError(f"heads: got {len(names)} names for {count} heads; expected one each")
    words = f"{count} panels, each a heat map of {_size(grid)}."
    return _picture(grid, plan(grid, title, subtitle, [visible(name) for name in names]), words)


def _size(grid: Grid) -> str:
    size = f"{len(grid.rows)} rows and {len(grid.columns)} columns"
    return f"{size} of weights from 0 to {number(grid.maximum)}"


def _picture(grid: Grid, plan: Plan, words: str) -> Picture:
    shapes = [
        *plan.texts(),
        *(cell for panel in range(len(plan.names)) for cell in _cells(grid, plan, panel)),
        *colour_scale(plan.left, plan.scale_top, "0", number(grid.maximum)),
    ]
    title = " ".join(plan.heading.title) or "Heat map"
    return Picture(plan.width, plan.height, title, words, shapes)


def _cells(grid: Grid, plan: Plan, panel: int) -> Iterator[Tip]:
    """One square per weight, with its tooltip and, in a small map, its number."""
    left, top = plan.corner(panel)
    side = plan.cell - 1
    for row, name in enumerate(grid.rows):
        for column, other in enumerate(grid.columns):
            value, fraction = grid.at(panel, row, column)
            fill = MISSING if math.isnan(fraction) else scale(fraction)
            x, y = left + column * plan.cell, top + row * plan.cell
            shapes: list[Rect | Text] = [Rect(x, y, side, side, fill)]
            if plan.numbered:
                ink = _ink(fraction, fill)
                middle = x + side / 2, y + side / 2 + SMALL_SIZE * 0.35
                shapes.append(Text(*middle, number(value), SMALL_SIZE, ink, "middle"))
            yield Tip(f"{name} → {other}: {told(value)}", shapes)


def _ink(fraction: float, fill: Colour) -> Colour:
    return ink_on(fill) if fraction >= NEXT_TO_NOTHING else MUTED  # also of no value
