"""Dot grids: a grid of weights goes in, a picture whose dots grow with the weights comes out.

Rows are looked at, columns look. The area of a dot is the weight. Colour says nothing here, so the
picture can be printed in black.
"""

import math
from collections.abc import Iterator

from regard.draw.figure import canvas
from regard.draw.figure.canvas import Circle, Drawn, Picture, Rect, Text, Tip
from regard.draw.figure.layout import Plan
from regard.draw.grid import Grid, number, strongest, told

WIDEST_DOT = 0.46  # radius of the weight 1, as a share of the cell
SAMPLES = (0.05, 0.25, 0.5, 1.0)  # the dots of the legend
SAMPLE_PITCH = 74.0
LEGEND_ROOM = 18.0  # more than a colour scale takes: the dots are as large as the grid's


def dots(grid: Grid, title: str, subtitle: str = "") -> Picture:
    """The grid on the plan of a heat map, with a tooltip for each dot."""
    plan = Plan(grid, title, subtitle)
    legend = plan.left + plan.cell + (len(SAMPLES) - 1) * SAMPLE_PITCH + canvas.PAD
    words = [f"Dot grid of {len(grid.rows)} rows and {len(grid.columns)} columns"]
    words += strongest(grid.weights[0].T, grid.columns, grid.rows)
    return Picture(
        max(plan.width, math.ceil(legend)),
        plan.height + LEGEND_ROOM,
        " ".join(plan.heading.title) or "Dot grid",
        ". ".join(words) + ".",
        [*plan.texts(), *_cells(plan), *_samples(plan)],
    )


def _cells(plan: Plan) -> Iterator[Tip]:
    """A framed cell and on it the dot."""
    side = plan.cell
    for x, y, value, fraction, row, column in plan.cells():
        shapes: list[Rect | Circle] = [Rect(x, y, side, side, canvas.SURFACE, canvas.HAIRLINE)]
        if not math.isnan(fraction):
            shapes.append(_dot(x + side / 2, y + side / 2, fraction, plan))
        yield Tip(f"{column} → {row}: {told(value)}", shapes)


def _dot(x: float, y: float, fraction: float, plan: Plan) -> Circle:
    """Area in proportion to the weight: the eye compares areas, not diameters."""
    return Circle(x, y, math.sqrt(fraction) * WIDEST_DOT * plan.cell, canvas.BLUE)


def _samples(plan: Plan) -> Iterator[Drawn]:
    """The legend: a few dots, each with its weight."""
    widest = WIDEST_DOT * plan.cell
    y = plan.top + len(plan.rows) * plan.cell + 14 + widest
    for i, sample in enumerate(SAMPLES):
        dot = _dot(plan.left + widest + i * SAMPLE_PITCH, y, sample, plan)
        yield dot
        yield Text(dot.x + dot.radius + 5, y + 4, number(sample), canvas.SMALL_SIZE, canvas.MUTED)
