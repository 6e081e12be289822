"""Number tables: tables go in, one picture with each below the other comes out.

Every cell holds its number; the colour behind it is its place between the ends of its own table.
"""

import math
from collections.abc import Iterator, Sequence

from regard.draw.figure.canvas import (
    BOLDER,
    MISSING,
    PAD,
    SMALL_SIZE,
    SUBTITLE_SIZE,
    Picture,
    Rect,
    Shape,
    Text,
    heading,
    ink_on,
    scale,
)
from regard.draw.figure.layout import LABEL_GAP
from regard.draw.labels import ems, shorten_ems, visible
from regard.draw.terminal.tables import NumberTable, written

CELL_HEIGHT, NARROWEST, LONGEST_LABEL_EMS = 25.0, 50.0, 9.0
TABLE_GAP = 26.0
LABELS_HEIGHT = 40.0  # the table's name, then its column labels


def tables(tables: Sequence[NumberTable], title: str, subtitle: str = "") -> Picture:
    """Room for the longest label and number; tables of one picture have the same words."""
    rows, columns = _short(tables[0].rows), _short(tables[0].columns)
    cell = math.ceil(max(NARROWEST, max(ems(name) for name in columns) * SMALL_SIZE + 8))
    left = math.ceil(PAD + max(ems(name) for name in rows) * SMALL_SIZE + LABEL_GAP)
    head = heading(title, subtitle)
    shapes: list[Shape] = [*head.texts()]
    y = head.bottom
    for table in tables:
        top = y + TABLE_GAP + LABELS_HEIGHT
        shapes += [*_labels(table, rows, columns, left, top, cell), *_cells(table, left, top, cell)]
        y = top + len(rows) * CELL_HEIGHT
    names = [PAD + ems(visible(table.title)) * SUBTITLE_SIZE * BOLDER for table in tables]
    width = math.ceil(max(left + len(columns) * cell, head.right, *names) + PAD)
    words = f"{len(tables)} tables of numbers: {'; '.join(table.title for table in tables)}."
    return Picture(width, y + PAD, " ".join(head.title) or "Tables", visible(words), shapes)


def _short(names: Sequence[str]) -> list[str]:
    return [shorten_ems(visible(name), LONGEST_LABEL_EMS) for name in names]


def _labels(
    table: NumberTable,
    rows: Sequence[str],
    columns: Sequence[str],
    left: int,
    top: float,
    cell: int,
) -> Iterator[Text]:
    yield Text(PAD, top - 28, visible(table.title), SUBTITLE_SIZE, bold=True)
    for column, label in enumerate(columns):
        yield Text(left + (column + 0.5) * cell, top - 7, label, SMALL_SIZE, anchor="middle")
    for row, label in enumerate(rows):
        y = top + (row + 0.5) * CELL_HEIGHT + 4
        yield Text(left - LABEL_GAP, y, label, SMALL_SIZE, anchor="end")


def _cells(table: NumberTable, left: int, top: float, cell: int) -> Iterator[Rect | Text]:
    for row, values in enumerate(table.values):
        for column, value in enumerate(values.tolist()):
            fill = MISSING if math.isnan(value) else scale(table.place(row, column))
            x, y = left + column * cell, top + row * CELL_HEIGHT
            yield Rect(x, y, cell - 1, CELL_HEIGHT - 1, fill)
            text, middle = written(value, table.decimals), (x + cell / 2, y + CELL_HEIGHT / 2 + 4)
            yield Text(*middle, text, SMALL_SIZE, ink_on(fill), "middle")
