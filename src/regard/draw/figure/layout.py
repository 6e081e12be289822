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

from regard.draw.figure import canvas
from regard.draw.figure.canvas import Text
from regard.draw.grid import Grid
from regard.draw.labels import ems, shorten_ems

LABEL_GAP = 7.0
PANEL_GAP = 26.0
NAME_HEIGHT = 22.0
LONGEST_LABEL_EMS = 15.0
NUMBERED_CELLS = 144  # up to this many cells, each shows its number

Cell = tuple[float, float, float, float, str, str]  # x, y, value, fraction, row, column


class Plan:
    """Where everything stands: cell, font and turn are chosen, then margins that no label leaves.

    `angle` is how far column labels are turned, in degrees.
    """

    def __init__(self, grid: Grid, title: str, subtitle: str, names: Sequence[str] = ("",)) -> None:
        single = len(names) == 1
        self.grid, self.names = grid, names
        self.rows = [shorten_ems(label, LONGEST_LABEL_EMS) for label in grid.rows]
        self.columns = [shorten_ems(label, LONGEST_LABEL_EMS) for label in grid.columns]
        self.heading = heading = canvas.heading(title, subtitle)
        self.numbered = single and grid.cells <= NUMBERED_CELLS
        self.cell = cell = _cell(grid, single)
        self.font = min(13.0, round(cell * 0.82, 1))
        self.angle = _angle(self.columns, cell, self.font, single)
        rise, overhang = _label_room(self.columns, cell, self.font, self.angle)
        left = canvas.PAD + max(map(ems, self.rows)) * self.font + LABEL_GAP
        gap = 16 if heading.title or heading.subtitle else 0
        top = heading.bottom + gap + rise + LABEL_GAP
        below = 14 + (NAME_HEIGHT if any(names) else 0)
        self.pitch = len(self.columns) * cell + PANEL_GAP, len(self.rows) * cell + below
        self.across = _across(len(names), self.pitch[0])
        bottom = top + math.ceil(len(names) / self.across) * self.pitch[1] - 14
        right = left + self.across * self.pitch[0] - PANEL_GAP + overhang
        # Whole pixels keep the edges of cells sharp.
        self.left, self.top, self.scale_top = map(math.ceil, (left, top, bottom + 22))
        right = max(right, left + canvas.SCALE_WIDTH + 60, heading.right)
        self.width = math.ceil(right + canvas.PAD)
        self.height = math.ceil(bottom + 22 + canvas.SCALE_HEIGHT + canvas.PAD)

    def corner(self, panel: int) -> tuple[float, float]:
        """The upper left corner of a panel."""
        down, right = divmod(panel, self.across)
        return self.left + right * self.pitch[0], self.top + down * self.pitch[1]

    def label_point(self, panel: int, column: int) -> tuple[float, float]:
        """Where the label of a column begins (turned) or has its middle (level)."""
        x, y = self.corner(panel)
        return x + (column + 0.5) * self.cell, y - LABEL_GAP

    def cells(self, panel: int = 0) -> Iterator[Cell]:
        """Every cell of a panel, row by row."""
        left, top = self.corner(panel)
        for row, name in enumerate(self.grid.rows):
            for column, other in enumerate(self.grid.columns):
                place = left + column * self.cell, top + row * self.cell
                yield *place, *self.grid.at(panel, row, column), name, other

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
