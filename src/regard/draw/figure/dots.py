"""Dot grids: weights and words go in, a picture whose dots grow with the weights comes out.

Rows are looked at, columns look. The area of a dot is the weight. Colour says nothing here, so the
picture can be printed in black.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float

from regard.draw.figure.canvas import (
    BLUE,
    HAIRLINE,
    MUTED,
    PAD,
    SMALL_SIZE,
    SURFACE,
    Circle,
    Picture,
    Rect,
    Shape,
    Text,
    Tip,
)
from regard.draw.figure.layout import Plan, plan
from regard.draw.grid import Grid, make_grid, number, strongest, told

WIDEST_DOT = 0.46  # radius of the weight 1, as a share of the cell
SAMPLES = (0.05, 0.25, 0.5, 1.0)  # the dots of the legend
SAMPLE_PITCH = 74.0
LEGEND_ROOM = 18.0  # more than a colour scale takes: the dots are as large as the grid's


def dots(
    weights: Float[np.ndarray, "rows columns"],
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    subtitle: str = "",
) -> Picture:
    """The grid on the plan of a heat map, with a tooltip for each dot."""
    grid = make_grid(np.asarray(weights)[None], rows, columns, 1.0)
    drawing = plan(grid, title, subtitle)
    legend = drawing.left + drawing.cell + (len(SAMPLES) - 1) * SAMPLE_PITCH + PAD
    words = [f"Dot grid of {len(grid.rows)} rows and {len(grid.columns)} columns"]
    words += strongest(grid.weights[0].T, grid.columns, grid.rows)
    return Picture(
        max(drawing.width, math.ceil(legend)),
        drawing.height + LEGEND_ROOM,
        " ".join(drawing.heading.title) or "Dot grid",
        ". ".join(words) + ".",
        [*drawing.texts(), *_cells(grid, drawing), *_samples(drawing)],
    )


def _cells(grid: Grid, plan: Plan) -> Iterator[Tip]:
    """A framed cell and on it the dot."""
    for row, name in enumerate(grid.rows):
        for column, other in enumerate(grid.columns):
            value, fraction = grid.at(0, row, column)
            x, y = plan.left + column * plan.cell, plan.top + row * plan.cell
            shapes: list[Rect | Circle] = [Rect(x, y, plan.cell, plan.cell, SURFACE, HAIRLINE)]
            if not math.isnan(fraction):
                shapes.append(_dot(x + plan.cell / 2, y + plan.cell / 2, fraction, plan))
            yield Tip(f"{other} → {name}: {told(value)}", shapes)


def _dot(x: float, y: float, fraction: float, plan: Plan) -> Circle:
    """Area in proportion to the weight: the eye compares areas, not diameters."""
    return Circle(x, y, math.sqrt(fraction) * WIDEST_DOT * plan.cell, BLUE)


def _samples(plan: Plan) -> Iterator[Shape]:
    """The legend: a few dots, each with its weight."""
    widest = WIDEST_DOT * plan.cell
    y = plan.top + len(plan.rows) * plan.cell + 14 + widest
    for i, sample in enumerate(SAMPLES):
        dot = _dot(plan.left + widest + i * SAMPLE_PITCH, y, sample, plan)
        yield dot
        yield Text(dot.x + dot.radius + 5, y + 4, number(sample), SMALL_SIZE, MUTED)
