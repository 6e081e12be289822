"""Number tables: tables go in, one picture with each below the other comes out.

Every cell holds its number; the colour behind it is its place between the ends of its own table.
"""

import math
from collections.abc import Iterator, Sequence

from regard.draw.figure import canvas
from regard.draw.figure.canvas import Drawn, Picture, Rect, Text
from regard.draw.figure.layout import LABEL_GAP
from regard.draw.labels import ems, shorten_ems, visible
from regard.draw.terminal.tables import NumberTable, written

CELL_HEIGHT, NARROWEST, LONGEST_LABEL_EMS = 25.0, 50.0, 9.0
FONT = canvas.SMALL_SIZE


def tables(tables: Sequence[NumberTable], title: str, subtitle: str = "") -> Picture:
    """Room for the longest label and number; tables of one picture have the same words."""
    rows, columns = _short(tables[0].rows), _short(tables[0].columns)
    cell = math.ceil(max(NARROWEST, max(map(ems, columns)) * FONT + 8))
    left = math.ceil(canvas.PAD + max(map(ems, rows)) * FONT + LABEL_GAP)
    head = canvas.heading(title, subtitle)
    shapes: list[Drawn] = [*head.texts()]
    right, y = max(left + len(columns) * cell, head.right), head.bottom
    for table in tables:
        name = Text(canvas.PAD, y + 38, visible(table.title), canvas.SUBTITLE_SIZE, bold=True)
        right = max(right, name.x + ems(name.text) * name.size * canvas.BOLDER)
        top = name.y + 28
        shapes.append(name)
        for column, label in enumerate(columns):
            shapes.append(Text(left + (column + 0.5) * cell, top - 7, label, FONT, anchor="middle"))
        for row, label in enumerate(rows):
            middle = top + (row + 0.5) * CELL_HEIGHT + 4
            shapes.append(Text(left - LABEL_GAP, middle, label, FONT, anchor="end"))
        shapes += _cells(table, left, top, cell)
        y = top + len(rows) * CELL_HEIGHT
    words = f"{len(tables)} tables of numbers: {'; '.join(table.title for table in tables)}."
    size = math.ceil(right + canvas.PAD), y + canvas.PAD
    return Picture(*size, " ".join(head.title) or "Tables", visible(words), shapes)


def _short(names: Sequence[str]) -> list[str]:
    return [shorten_ems(visible(name), LONGEST_LABEL_EMS) for name in names]


def _cells(table: NumberTable, left: int, top: float, cell: int) -> Iterator[Rect | Text]:
    for row, values in enumerate(table.values):
        for column, value in enumerate(values.tolist()):
            fill = canvas.MISSING if math.isnan(value) else canvas.scale(table.place(row, column))
            x, y = left + column * cell, top + row * CELL_HEIGHT
            yield Rect(x, y, cell - 1, CELL_HEIGHT - 1, fill)
            text, middle = written(value, table.decimals), (x + cell / 2, y + CELL_HEIGHT / 2 + 4)
            yield Text(*middle, text, FONT, canvas.ink_on(fill), "middle")
