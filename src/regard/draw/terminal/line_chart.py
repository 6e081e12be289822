"""Curves in the terminal: points go in, a rich renderable comes out.

One curve, or several on a console with colours, are drawn in dots of a quarter of a line; where
several must be told apart without colour, each is drawn in a letter of its own.

    2.41 ┤⣀
         │ ⠈⠒⠤⣀
    0.53 ┤      ⠉⠉⠒⠒⠤
         └──────────────
          500      4,000
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions
from rich.text import Text

from regard.draw.labels import shorten_cells, visible

HEIGHT = 14  # lines
WIDEST = 100  # cells
COLOURS = ("cyan", "red", "magenta", "green", "yellow", "blue")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # of a braille cell, row by row
_BLANK = 0x2800

Point = tuple[float | int, float | int]  # (step, value)
ChartLine = tuple[str, Sequence[Point]]


@dataclass(frozen=True)
class LineChart:
    """Named lines over one axis; `logarithmic` spreads the x axis by its logarithm."""

    lines: Sequence[ChartLine]
    title: str
    below: str
    logarithmic: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Lay out for the console, then paint line by line."""
        coloured = console.color_system is not None and not console.no_color
        lettered = options.ascii_only or (len(self.lines) > 1 and not coloured)
        box = self._box()
        labels = [_short(box[3]), _short((box[2] + box[3]) / 2), _short(box[2])]
        margin = max(map(len, labels)) + 1
        width = max(10, min(WIDEST, options.max_width) - margin - 2)
        cells = [self._cells(line, box, width, lettered) for _, line in self.lines]
        yield Text(self.title, style="bold")
        for row in range(HEIGHT):
            place = {0: 0, HEIGHT // 2: 1, HEIGHT - 1: 2}.get(row)
            label = "" if place is None else labels[place]
            tick = ("+" if label else "|") if options.ascii_only else ("┤" if label else "│")
            text = Text(f"{label:>{margin}} {tick}", style="")
            for column in range(width):
                text.append_text(self._paint(cells, row, column, lettered, coloured))
            text.rstrip()
            text.no_wrap, text.overflow = True, "crop"
            yield text
        corner, rule = ("+", "-") if options.ascii_only else ("└", "─")
        yield Text(" " * (margin + 1) + corner + rule * width, no_wrap=True, overflow="crop")
        left, right = _short(box[0]), _short(box[1])
        between = self.below.center(max(0, width - len(left) - len(right)))
        axis = " " * (margin + 2) + left + between + right
        yield Text(axis, style="dim", no_wrap=True, overflow="crop")
        if len(self.lines) > 1:
            yield from self._legend(lettered, coloured, options.max_width)

    def _box(self) -> tuple[float, float, float, float]:
        """Ends of both axes; a spike that is far above all else is cut."""
        xs = [x for _, line in self.lines for x, _ in line]
        ys = sorted(y for _, line in self.lines for _, y in line if math.isfinite(y))
        low, high = (ys[0], ys[min(len(ys) - 1, int(len(ys) * 0.995))]) if ys else (0.0, 1.0)
        space = 0.0 if high > low else max(abs(high) * 0.1, 1e-9)
        return min(xs), max(xs), low - space, high + space

    def _cells(
        self, line: Sequence[Point], box: tuple[float, float, float, float], width: int, whole: bool
    ) -> dict[tuple[int, int], int]:
        """Which cells a line touches, and which of their dots."""
        across, down = (1, 1) if whole else (2, 4)
        columns, rows = width * across, HEIGHT * down
        cells: dict[tuple[int, int], int] = {}
        last: tuple[int, int] | None = None
        for x, y in line:
            if not math.isfinite(y):
                last = None
                continue
            column = round(self._share(x, box[0], box[1]) * (columns - 1))
            share = (y - box[2]) / (box[3] - box[2])
            row = round((1 - min(1.0, max(0.0, share))) * (rows - 1))
            for c, r in _between(last or (column, row), (column, row)):
                place = (r // down, c // across)
                cells[place] = cells.get(place, 0) | _DOTS[r % down][c % across]
            last = column, row
        return cells

    def _share(self, x: float, first: float, last: float) -> float:
        if self.logarithmic:
            x, first, last = math.log(x), math.log(first), math.log(last)
        return (x - first) / (last - first) if last > first else 0.5

    def _paint(
        self,
        cells: Sequence[dict[tuple[int, int], int]],
        row: int,
        column: int,
        lettered: bool,
        coloured: bool,
    ) -> Text:
        """One cell: of lines that meet there, the first is on top."""
        for number, touched in enumerate(cells):
            dots = touched.get((row, column))
            if dots is not None:
                mark = LETTERS[number % len(LETTERS)] if lettered else chr(_BLANK + dots)
                mark = "*" if lettered and len(self.lines) == 1 else mark
                return Text(mark, style=COLOURS[number % len(COLOURS)] if coloured else "")
        return Text(" ")

    def _legend(self, lettered: bool, coloured: bool, width: int) -> Iterator[Text]:
        for number, (name, _) in enumerate(self.lines):
            mark = LETTERS[number % len(LETTERS)] if lettered else "⠤⠤"
            style = COLOURS[number % len(COLOURS)] if coloured else ""
            label = shorten_cells(visible(name), max(8, width - 6))
            yield Text.assemble((f"  {mark} ", style), label)


def _between(start: tuple[int, int], end: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """The places on the straight line from one to the other, both included."""
    count = max(abs(end[0] - start[0]), abs(end[1] - start[1]), 1)
    for i in range(count + 1):
        yield (
            round(start[0] + (end[0] - start[0]) * i / count),
            round(start[1] + (end[1] - start[1]) * i / count),
        )


def _short(value: float) -> str:
    """A number of few characters: 4,000, 0.53, 2.1e-05."""
    if value == int(value) and abs(value) >= 10:
        return f"{value:,.0f}"
    return f"{value:.3g}" if 0.01 <= abs(value) < 1000 or value == 0 else f"{value:.1e}"
