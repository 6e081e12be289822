"""The geometry of a heat map: a grid and its words go in, every position in pixels comes out.

title
subtitle
             ╱ ╱ ╱   column labels, turned as little as possible
  row label ▢ ▢ ▢  ▢ ▢ ▢
  row label ▢ ▢ ▢  ▢ ▢ ▢
            head 1  head 2
            0 ▭▭▭▭ 1   scale
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.draw.figure import canvas
from regard.draw.figure.canvas import Heading, Text
from regard.draw.grid import Grid
from regard.draw.labels import ems, shorten_ems

LABEL_GAP = 7.0
PANEL_GAP = 26.0
NAME_HEIGHT = 22.0
LONGEST_LABEL_EMS = 15.0
NUMBERED_CELLS = 144  # up to this many cells, each shows its number

Cell = tuple[float, float, float, float, str, str]  # x, y, value, fraction, row, column


@dataclass(frozen=True)
class Plan:
    """Where everything stands. `angle` is how far column labels are turned, in degrees."""

    width: float
    height: float
    left: float
    top: float
    cell: float
    font: float
    angle: int
    across: int
    pitch: tuple[float, float]
    scale_top: float
    heading: Heading
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    names: tuple[str, ...]
    numbered: bool

    def corner(self, panel: int) -> tuple[float, float]:
        """The upper left corner of a panel."""
        down, right = divmod(panel, self.across)
        return self.left + right * self.pitch[0], self.top + down * self.pitch[1]

    def label_point(self, panel: int, column: int) -> tuple[float, float]:
        """Where the label of a column begins (turned) or has its middle (level)."""
        x, y = self.corner(panel)
        return x + (column + 0.5) * self.cell, y - LABEL_GAP

    def texts(self) -> Iterator[Text]:
        """Every word of the picture that is not of a cell or of the scale."""
        yield from self.heading.texts()
        for panel in range(len(self.names)):
            yield from self._labels(panel)

    def _labels(self, panel: int) -> Iterator[Text]:
        """Row labels left of the first panels, column labels above the top ones, names below."""
        left, top = self.corner(panel)
        middle = self.font * 0.35  # from the middle of a letter to its baseline
        if panel % self.across == 0:
            for row, label in enumerate(self.rows):
                y = top + (row + 0.5) * self.cell + middle
                yield Text(left - LABEL_GAP, y, label, self.font, anchor="end")
        if panel < self.across:
            for column, label in enumerate(self.columns):
                x, y = self.label_point(panel, column)
                if self.angle:
                    yield Text(x + middle * 0.7, y, label, self.font, angle=self.angle)
                else:
                    yield Text(x, y, label, self.font, anchor="middle")
        if self.names[panel]:
            y = top + len(self.rows) * self.cell + 16
            yield Text(left, y, self.names[panel], canvas.SMALL_SIZE, canvas.MUTED)


def cells(grid: Grid, plan: Plan, panel: int = 0) -> Iterator[Cell]:
    """Every cell of a panel, row by row."""
    left, top = plan.corner(panel)
    for row, name in enumerate(grid.rows):
        for column, other in enumerate(grid.columns):
            place = left + column * plan.cell, top + row * plan.cell
            yield *place, *grid.at(panel, row, column), name, other


def plan(grid: Grid, title: str, subtitle: str, names: Sequence[str] = ("",)) -> Plan:
    """Choose cell, font and turn; then margins that no label can leave."""
    count_rows, count_columns = len(grid.rows), len(grid.columns)
    single = len(names) == 1
    cell = _cell(grid, single)
    font = min(13.0, round(cell * 0.82, 1))
    rows = tuple(shorten_ems(label, LONGEST_LABEL_EMS) for label in grid.rows)
    columns = tuple(shorten_ems(label, LONGEST_LABEL_EMS) for label in grid.columns)
    head = canvas.heading(title, subtitle)
    angle = _angle(columns, cell, font, single)
    rise, overhang = _label_room(columns, cell, font, angle)
    left = canvas.PAD + max(ems(label) for label in rows) * font + LABEL_GAP
    top = head.bottom + (16 if head.title or head.subtitle else 0) + rise + LABEL_GAP
    name_height = NAME_HEIGHT if any(names) else 0.0
    pitch = (count_columns * cell + PANEL_GAP, count_rows * cell + name_height + 14)
    across = _across(len(names), pitch[0])
    bottom = top + math.ceil(len(names) / across) * pitch[1] - 14
    right = left + across * pitch[0] - PANEL_GAP + overhang
    return Plan(
        width=_whole(max(right, left + canvas.SCALE_WIDTH + 60, head.right) + canvas.PAD),
        height=_whole(bottom + 22 + canvas.SCALE_HEIGHT + canvas.PAD),
        left=_whole(left),
        top=_whole(top),
        cell=cell,
        font=font,
        angle=angle,
        across=across,
        pitch=pitch,
        scale_top=_whole(bottom + 22),
        heading=head,
        rows=rows,
        columns=columns,
        names=tuple(names),
        numbered=single and grid.cells <= NUMBERED_CELLS,
    )


def _whole(pixels: float) -> float:
    """Whole pixels keep the edges of cells sharp."""
    return float(math.ceil(pixels))


def _cell(grid: Grid, single: bool) -> float:
    """The side of a cell: large for a few, never too small for a number or a label."""
    longest = max(len(grid.rows), len(grid.columns))
    if not single:
        return float(min(20, max(9, 200 // longest)))
    smallest = 32 if grid.cells <= NUMBERED_CELLS else 13
    return float(min(44, max(smallest, 640 // longest)))


def _angle(columns: Sequence[str], cell: float, font: float, single: bool) -> int:
    """Level if every label fits its column, 45° if the slanted lines stay apart, else upright."""
    if max(ems(label) for label in columns) * font <= cell - 4:
        return 0
    # Small multiples stand side by side, so a slanted label would run into its neighbour.
    return 45 if single and cell * math.sin(math.pi / 4) >= font * 1.25 else 90


def _label_room(
    columns: Sequence[str], cell: float, font: float, angle: int
) -> tuple[float, float]:
    """How far the column labels rise above the map, and how far they reach beyond its right."""
    turn = math.radians(angle)
    widths = [ems(label) * font for label in columns]
    rise = max(widths) * math.sin(turn) + font * max(math.cos(turn), 0.5)
    if angle != 45:
        return rise, 0.0
    last = len(columns) - 1
    reach = (w * math.cos(turn) - (last - i + 0.5) * cell for i, w in enumerate(widths))
    return rise, max(0.0, max(reach) + font * 0.5)


def _across(panels: int, pitch: float) -> int:
    """Panels side by side: about 1100 pixels, at least two, full rows if a divisor is at hand."""
    fit = min(panels, max(2, min(6, int((1100 + PANEL_GAP) // pitch))))
    full = max(a for a in range(1, fit + 1) if panels % a == 0)
    if full * full >= panels or full * 2 > fit:
        return full
    return fit
