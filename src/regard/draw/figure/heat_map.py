"""Heat maps: a grid of weights goes in, a picture comes out; each cell tells its value."""

import math
from collections.abc import Iterator, Sequence

from regard.draw.figure import canvas
from regard.draw.figure.canvas import Picture, Rect, Text, Tip
from regard.draw.figure.layout import Plan
from regard.draw.grid import Grid, number, strongest, told
from regard.draw.labels import visible

NEXT_TO_NOTHING = 1 / 40  # below this fraction a number steps back, so that the others are seen


def heat_map(grid: Grid, title: str, subtitle: str = "", names: Sequence[str] = ("",)) -> Picture:
    """One attention map, or the heads of a layer as small multiples, each with its name."""
    if len(names) != len(grid.weights):
        heads = f"{len(names)} names for {len(grid.weights)} heads"
        raise ValueError(f"heat map: got {heads}; expected one each")
    plan = Plan(grid, title, subtitle, [visible(name) for name in names])
    panels = range(len(names))
    shapes = [
        *plan.texts(),
        *(cell for panel in panels for cell in _cells(plan, panel)),
        *canvas.colour_scale(plan.left, plan.scale_top, "0", number(grid.maximum)),
    ]
    size = f"{len(grid.rows)} rows and {len(grid.columns)} columns"
    kind = "Heat map" if len(names) == 1 else f"{len(names)} panels, each a heat map"
    words = [f"{kind} of {size} of weights from 0 to {number(grid.maximum)}"]
    if len(names) == 1:
        words += strongest(grid.weights[0], grid.rows, grid.columns)
    name = " ".join(plan.heading.title) or "Heat map"
    return Picture(plan.width, plan.height, name, ". ".join(words) + ".", shapes)


def _cells(plan: Plan, panel: int) -> Iterator[Tip]:
    """One square per weight, with its tooltip and, in a small map, its number."""
    side, size = plan.cell - 1, canvas.SMALL_SIZE
    for x, y, value, fraction, row, column in plan.cells(panel):
        fill = canvas.MISSING if math.isnan(fraction) else canvas.scale(fraction)
        shapes: list[Rect | Text] = [Rect(x, y, side, side, fill)]
        if plan.numbered:
            ink = canvas.ink_on(fill) if fraction >= NEXT_TO_NOTHING else canvas.MUTED
            middle = x + side / 2, y + side / 2 + size * 0.35
            shapes.append(Text(*middle, number(value), size, ink, "middle"))
        yield Tip(f"{row} → {column}: {told(value)}", shapes)
